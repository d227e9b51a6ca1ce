import { describe, expect, it } from "vitest";
import { Channel } from "./broadcast.ts";
import { memoryStore } from "./memory-store.ts";
import type { Store } from "../ports/store.ts";
import { StoreJournal } from "./store-journal.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { held, newSession } from "../testing/store-contract-fixture.ts";

const started = {
  type: "run.started",
  key: "run/started",
  runId: "run",
  inputId: "in",
  trigger: "input",
  agentHash: "h",
  limits: {},
} as const;
const noted = { type: "data", key: "run/note", runId: "run", name: "note", data: 1 } as const;

describe("append", () => {
  it("answers with the stored fact for a key that an earlier hold wrote in the same run", async () => {
    const store = memoryStore();
    const { epoch } = await held(store, "ses_1");
    const first = journalOf(store, epoch, 1);
    await first.append([started, noted], { wait: true }).stored;
    await store.release("ses_1", epoch);
    const claim = await store.claim("ses_1", "owner-b");
    const second = journalOf(store, claim?.epoch ?? 0, claim?.head ?? 0);
    for await (const _fact of second.read()); // as the loop does when it begins
    const { facts, stored } = second.append(
      [
        { ...noted, data: 2 },
        { ...noted, key: "run/other" },
      ],
      { wait: true },
    );
    await stored;
    expect(facts.map(({ seq }) => seq)).toEqual([3, 4]);
    expect(facts[0]).toMatchObject({ data: 1 });
    expect((await store.read("ses_1", { after: 1 })).map(({ key }) => key)).toEqual([
      "run/started",
      "run/note",
      "run/other",
    ]);
  });
});

function journalOf(store: Store, epoch: number, head: number): StoreJournal {
  const { summary } = newSession("ses_1");
  return new StoreJournal(store, fakeClock(), {
    sessionId: "ses_1",
    epoch,
    head,
    attemptId: `attempt ${epoch}`,
    summary,
    mail: [],
    channel: new Channel("ses_1", "helper"),
    commit: "tick",
    failed: undefined,
    timerSet: () => undefined,
  });
}
