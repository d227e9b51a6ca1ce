import { describe, expect, it } from "vitest";
import { type Message, textOf, tool } from "@capstan/core";
import { crashSweep, type ScriptedReply } from "@capstan/core/testing";
import { z } from "zod";
import { call, play, workerOf } from "../file-world.ts";
import { taint } from "../taint/index.ts";
import { findPii, maskPii, pii, type PiiOptions } from "./index.ts";

const input = z.object({ q: z.string() });
const crm = tool({
  name: "crm",
  description: "Customers.",
  input,
  output: z.object({ mail: z.string(), visits: z.int() }),
  rerun: "safe",
  execute: () => ({ mail: "ann@example.org", visits: 3 }),
});
const mail = tool({ name: "mail", description: "Mails.", input, rerun: "safe", execute: () => "sent" });
const lookUp: ScriptedReply = { calls: [call("crm", { q: "x" })] };

describe("findPii", () => {
  it("SEC-05 finds and masks personal data by its form and its check digits", () => {
    const cases: readonly (readonly [string, string])[] = [
      ["Write to ann.lee+x@mail.example.co.uk, please", "Write to [email], please"],
      ["jürgen@müller.example", "[email]"],
      ["Card 4111 1111 1111 1111 exp 09/27", "Card [card] exp 09/27"],
      ["378282246310005;", "[card];"],
      ["IBAN DE89 3704 0044 0532 0130 00.", "IBAN [iban]."],
      ["GB82WEST12345698765432", "[iban]"],
      ["SSN 123-45-6789", "SSN [us-ssn]"],
      ["Call +49 (0)30 901820 or (415) 555-2671", "Call [phone] or [phone]"],
      ["tel:+14155552671", "tel:[phone]"],
      ["030 / 9018 20", "030 / 9018 20"],
      ["from 203.0.113.77:443", "from [ip]:443"],
      ["2001:db8:85a3::8a2e:370:7334", "[ip]"],
      ["a@b.example and a@b.example", "[email] and [email]"],
    ];
    for (const [text, masked] of cases) expect(maskPii(text), text).toBe(masked);
    expect(findPii("x ann@example.org", ["card"])).toEqual([]);
    const staff = { name: "staff-id", pattern: /E-\d{4}/ };
    expect(maskPii("E-1234 is ann@example.org", ["email"], [staff])).toBe("[staff-id] is [email]");
  });

  it("SEC-05 leaves numbers, versions, dates and code alone", () => {
    for (const text of [
      "4111 1111 1111 1112",
      "version 1.2.3.4.5, port 8080, 2026-01-01T10:20:30Z",
      "192.168.0.1 127.0.0.1 10:20:30",
      "@decorator class A {} // a@b",
      "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "123456789 items, 1700000000000 ms",
      "std::vector<int> a::b::c",
      "id 550e8400-e29b-41d4-a716-446655440000",
    ])
      expect(maskPii(text), text).toBe(text);
  });

  it("SEC-05 stays fast on any text", () => {
    const long = [
      "a.".repeat(300_000),
      `${"a".repeat(60)}@`.repeat(8_000),
      "1 ".repeat(300_000),
      "1:".repeat(300_000),
      "+1(".repeat(200_000),
      "DE89 ".repeat(100_000),
      "a@b.example ".repeat(60_000),
    ];
    const begun = performance.now();
    for (const text of long) maskPii(text);
    expect(performance.now() - begun).toBeLessThan(20_000); // a pattern that goes back again and again would take hours
  });
});

describe("pii", () => {
  const heard = (log: Awaited<ReturnType<typeof play>>["log"]): readonly Message[] =>
    log.flatMap((fact) => (fact.type === "message.added" ? [fact.message] : []));
  const setup = (options: PiiOptions, turns: readonly ScriptedReply[]) => ({
    plugins: [pii(options)],
    tools: [crm, mail],
    turns,
  });

  it("SEC-05 masks what people send and what tools return, structured values included, before the model sees it", async () => {
    const { model, log } = await play({ ...setup({}, [lookUp, { text: "ok" }]), inputs: ["I am bob@example.org"] });
    expect(textOf(heard(log)[0]?.parts ?? [])).toBe("I am [email]");
    const finished = log.find((fact) => fact.type === "tool.finished");
    expect(finished).toMatchObject({ output: { output: { mail: "[email]", visits: 3 } } });
    expect(JSON.stringify(model.requests.map(({ messages }) => messages))).not.toContain("example.org");
  });

  it("SEC-05 refuses inputs when told to, and says by kind why", async () => {
    const { log } = await play({
      ...setup({ inputs: "refuse" }, [{ text: "ok" }]),
      inputs: ["4111 1111 1111 1111", "Hi"],
    });
    const ends = log.filter((fact) => fact.type === "run.finished");
    expect(ends).toMatchObject([
      { reason: "refused-input", error: { message: "The input holds personal data (card); send it without" } },
      { reason: "end-turn" },
    ]);
    expect(JSON.stringify(ends)).not.toContain("4111");
  });

  it("SEC-05 SEC-03 labels instead, so that what holds personal data goes nowhere", async () => {
    const { results, log } = await play({
      plugins: [taint([{ from: ["label:pii"], forbid: ["mail"], on: "deny" }]), pii({ results: "label" })],
      tools: [crm, mail],
      turns: [lookUp, { calls: [call("mail", { q: "x" })] }, { text: "ok" }],
    });
    expect(log.find((fact) => fact.type === "tool.finished")).toMatchObject({
      output: { output: { mail: "ann@example.org" }, labels: ["pii"] },
    });
    expect(results[1]).toContain("mail denied");
  });

  it("SEC-05 looks at the named tools only, and not at all when told so", async () => {
    for (const options of [{ tools: ["other_*"] }, { results: "ignore", inputs: "ignore" }] as const) {
      const { results } = await play(setup(options, [lookUp, { text: "ok" }]));
      expect(results[0]).toContain("ann@example.org");
    }
  });

  it("SEC-05 comes to the same end after a crash at any write", async () => {
    const { worker } = workerOf(setup({}, [lookUp, { text: "ok" }]));
    const report = await crashSweep({
      agents: [worker],
      journey: (runtime) => runtime.send(worker, "I am bob@example.org", { idempotencyKey: "go" }),
    });
    expect(report.crashes).toBeGreaterThan(10);
  });

  it("refuses options that it cannot keep", () => {
    for (const options of [{ kinds: ["name"] }, { patterns: [{ name: "[x]", pattern: /x/ }] }])
      expect(() => pii(options as PiiOptions)).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
  });
});
