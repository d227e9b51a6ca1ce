import { DatabaseSync } from "node:sqlite";
import { spawn } from "node:child_process";
import { cp, mkdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropicServer } from "@capstan/models/testing";
import {
  conversation,
  type Fact,
  initialState,
  type Message,
  reduce,
  type SessionState,
  statusOf,
} from "@capstan/core";
import { type ChildEnd, COMMAND, type CommandHome, commandHome } from "./command-child.ts";

let played: { readonly at: CommandHome; readonly end: ChildEnd };
beforeAll(async () => {
  const at = await commandHome();
  played = { at, end: await at.run(["demo"]) };
}, 120_000);
afterAll(() => played.at[Symbol.asyncDispose]());

/** Gives a home that is still empty the session of one demo, which many tests look at. */
async function demoSession(at: CommandHome): Promise<string> {
  expect(played.end.code).toBe(0);
  await cp(played.at.home, at.home, { recursive: true });
  return /sessions show (ses_\w+)/.exec(played.end.stderr)?.[1] ?? "";
}

async function newSession(at: CommandHome): Promise<string> {
  const { code, stdout } = await at.run(["run", "hi", "--model", "demo", "--output", "json"]);
  expect(code).toBe(0);
  return (JSON.parse(stdout) as { readonly sessionId: string }).sessionId;
}

function fold(lines: string): SessionState {
  const [first, ...rest] = lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Fact);
  if (first?.type !== "session.created") throw new Error("an export begins with session.created");
  return rest.reduce((state, fact) => reduce(state, fact), initialState(first));
}

/** What the model would read of an export. */
function said(lines: string): readonly Pick<Message, "role" | "parts">[] {
  const heard = conversation();
  for (const line of lines.trimEnd().split("\n")) heard.apply(JSON.parse(line) as Fact);
  return heard.messages.map(({ role, parts }) => ({ role, parts }));
}

describe.concurrent("capstan demo", { timeout: 120_000 }, () => {
  it("repairs the project with real tools, says that its model is scripted, and reports real numbers", () => {
    const { end } = played;
    expect(end.code).toBe(0);
    const notes = end.stderr.trimEnd().split("\n");
    expect(notes[0]).toContain("scripted demo model, no network");
    expect(notes.find((line) => line.startsWith("Checked"))).toContain("scripted demo model, no network");
    expect(end.stdout).toContain("2 of 5 tests fail");
    expect(end.stdout.trimEnd().split("\n").at(-1)).toContain("before, 3 of 5 tests passed; now 5 of 5 do");
    expect(notes.filter((line) => line.includes("✓ Read "))).toHaveLength(3);
  });

  it("DUR-01 SESS-19 a demo that was killed is listed as stopped and finished by resume, without repeating what was done", async () => {
    await using at = await commandHome();
    const child = spawn(COMMAND[0] ?? "", [...COMMAND.slice(1), "demo"], {
      env: at.env,
      cwd: at.folder,
      stdio: ["ignore", "pipe", "ignore"],
    });
    await new Promise<void>((resolve) => {
      let shown = "";
      child.stdout.on("data", (piece) => {
        shown += String(piece);
        if (shown.includes("Found 2 causes")) child.kill("SIGKILL");
      });
      child.on("close", () => resolve());
    });
    const killed = await at.run(["sessions", "list"]);
    expect(killed.stdout).toMatch(/ {2}stopped +demo /);
    expect(killed.stderr).toContain("stopped: unfinished, and no process drives it");
    const end = await at.run(["resume"]);
    expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining("now 5 of 5 do") });
    const list = await at.run(["sessions", "list", "--json"]);
    const { sessionId } = JSON.parse(list.stdout) as { sessionId: string };
    const facts = (await at.run(["sessions", "export", sessionId])).stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Fact);
    const finished = facts.flatMap((fact) => (fact.type === "tool.finished" ? [fact.callId] : []));
    expect(new Set(finished).size).toBe(finished.length);
    expect(facts.filter(({ type }) => type === "run.finished")).toHaveLength(1);
  });
});

describe.concurrent("capstan sessions", { timeout: 120_000 }, () => {
  it("SESS-01 lists, shows and deletes sessions", async () => {
    await using at = await commandHome();
    await using empty = await commandHome();
    expect((await empty.run(["sessions", "list"])).stderr).toContain("There are no sessions yet");
    const id = await demoSession(at);
    const list = await at.run(["sessions", "list"]);
    expect(list.stdout).toMatch(new RegExp(`^SESSION .*\\n${id}  idle +demo  `));
    const shown = (await at.run(["sessions", "show", id])).stdout;
    expect(shown).toContain("you\n  Some tests of this project fail.");
    expect(shown).toContain("✗ Run node --test --test-reporter=spec  [shell, [exit code 1], ");
    expect(shown).toContain("+   return cents >= FROM_CENTS");
    expect(shown.trimEnd().split("\n").at(-1)).toBe("  ended with end-turn after 6 turns");
    expect((await at.run(["sessions", "delete", id])).code).toBe(0);
    expect(await at.run(["sessions", "show", id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("(session-not-found)"),
    });
  });

  it("SESS-08 SESS-09 prunes by number and by age, after a look at what would go", async () => {
    await using at = await commandHome();
    const [first, second] = [await demoSession(at), await newSession(at)];
    expect((await at.run(["sessions", "prune"])).code).toBe(2);
    expect((await at.run(["sessions", "prune", "--older-than", "1"])).stdout).toBe("");
    expect((await at.run(["sessions", "prune", "--keep", "1", "--dry-run"])).stdout).toBe(`${first}\n`);
    expect((await at.run(["sessions", "prune", "--keep", "1"])).stdout).toBe(`${first}\n`);
    expect((await at.run(["sessions", "prune", "--older-than", "0.0000001"])).stdout).toBe(`${second}\n`);
    expect((await at.run(["sessions", "list"])).stderr).toContain("There are no sessions yet");
  });

  it("SESS-17 exports facts that fold to the state of the session", async () => {
    await using at = await commandHome();
    const id = await demoSession(at);
    const end = await at.run(["sessions", "export", id]);
    expect(end.code).toBe(0);
    expect(statusOf(fold(end.stdout))).toBe("idle");
  });

  it("SESS-17 imports an export into another home, without the rights that it had", async () => {
    await using at = await commandHome();
    await using other = await commandHome();
    const id = await demoSession(at);
    const lines = (await at.run(["sessions", "export", id])).stdout;
    const file = join(other.folder, "export.jsonl");
    await writeFile(file, lines.replace(/"mode":"[^"]+"/, '"mode":"bypass"'));
    const end = await other.run(["sessions", "import", file]);
    expect(end).toMatchObject({ code: 0, stderr: expect.not.stringContaining("Repaired") });
    const imported = end.stdout.trim();
    expect(imported).not.toBe(id);
    const again = (await other.run(["sessions", "export", imported])).stdout;
    expect(fold(again)).toMatchObject({ mode: "ask", agent: "demo", rules: [] });
    expect(fold(again)).not.toHaveProperty("workspace");
    expect(said(again)).toEqual(said(lines));
  });

  it("SESS-17 imports messages of another SDK, repaired, and refuses what is no history", async () => {
    await using at = await commandHome();
    const file = join(at.folder, "history.json");
    await writeFile(
      file,
      JSON.stringify([
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "w", arguments: "{}" } }],
        },
      ]),
    );
    const end = await at.run(["sessions", "import", file]);
    expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining("Repaired message") });
    expect((await at.run(["sessions", "show", end.stdout.trim()])).stdout).toContain("Weather?");
    await writeFile(file, '{"type":"message.added"}');
    expect((await at.run(["sessions", "import", file])).code).toBe(2);
  });

  it("SESS-17 exports what is whole of a damaged session, and leaves the others alone", async () => {
    await using at = await commandHome();
    const [damaged, whole] = [await demoSession(at), await newSession(at)];
    const db = new DatabaseSync(join(at.home, "capstan.db"));
    // a row holds the facts of one append, and its id ends with the number of the last
    const ids = (db.prepare("SELECT id FROM facts ORDER BY id").all() as { readonly id: number }[]).map(({ id }) => id);
    const first = (ids[0] ?? 0) - 1;
    const row = ids.find((id) => id - first > 9) ?? 0;
    const before = (ids[ids.indexOf(row) - 1] ?? 0) - first;
    db.prepare("UPDATE facts SET body = replace(body, 'run', 'fun') WHERE id = ?").run(row);
    db.close();
    const end = await at.run(["sessions", "export", damaged]);
    expect(end.code).toBe(1);
    expect(end.stdout.trimEnd().split("\n")).toHaveLength(before);
    expect(end.stderr).toMatch(new RegExp(`^capstan: After ${before} whole facts: .*\\(session-damaged\\)\\n$`));
    expect((await at.run(["sessions", "list"])).stdout).toContain("quarantined");
    // as after a loss of its end
    const loss = new DatabaseSync(join(at.home, "capstan.db"));
    loss.prepare("DELETE FROM facts WHERE id >= ? AND id <= ?").run(row, first + 2 ** 26 - 1);
    loss.prepare("UPDATE sessions SET head = ? WHERE id = ?").run(before, damaged);
    loss.close();
    const short = await at.run(["sessions", "export", damaged]);
    expect(short).toMatchObject({ code: 1, stdout: end.stdout });
    expect(short.stderr).toContain(`these ${before} facts`);
    expect((await at.run(["resume", damaged])).stderr).toMatch(/^capstan: .*\(session-damaged\)\n$/);
    expect((await at.run(["sessions", "export", whole])).code).toBe(0);
    const doctor = await at.run(["doctor"]);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toContain("1 damaged");
  });
});

describe.concurrent("capstan doctor", { timeout: 120_000 }, () => {
  it("says what is there and what is missing", async () => {
    await using at = await commandHome();
    const end = await at.run(["doctor"]);
    expect(end.code).toBe(0);
    for (const what of ["node", "data folder", "store", "settings", "bash", "ripgrep", "model"]) {
      expect(end.stdout).toMatch(new RegExp(`^(ok|note) +${what} `, "m"));
    }
    expect(end.stdout).toMatch(/^note +key +ANTHROPIC_API_KEY is not set/m);
  });

  it("refuses the rules that run refuses, in the same words", async () => {
    await using at = await commandHome();
    await mkdir(at.home);
    for (const [list, rule] of [
      ["allow", "shel(ls)"],
      ["deny", "red_file(./x)"],
      ["ask", "shell("],
    ] as const) {
      await writeFile(join(at.home, "settings.json"), JSON.stringify({ permission: { [list]: [rule] } }));
      const refused = await at.run(["run", "hi", "--model", "demo"]);
      expect(refused.code).toBe(2);
      const said = refused.stderr.trim().replace(/^capstan: /, "");
      const end = await at.run(["doctor"]);
      expect(end.code).toBe(1);
      expect(end.stdout).toContain(`PROBLEM  settings      ${said}\n`);
    }
    await writeFile(
      join(at.home, "settings.json"),
      '{ "permission": { "allow": ["shell(npm test)", "Edit(./src/**)"] } }',
    );
    expect((await at.run(["doctor"])).code).toBe(0);
  });

  it("names what is broken and ends with 1", async () => {
    await using at = await commandHome();
    await writeFile(join(at.folder, "file"), "");
    const end = await at.run(["doctor"], { env: { CAPSTAN_HOME: join(at.folder, "file", "below") } });
    expect(end.code).toBe(1);
    expect(end.stdout).toMatch(/^PROBLEM +data folder .*\(store-readonly\)$/m);
  });
});

describe.concurrent("capstan resume", { timeout: 120_000 }, () => {
  it("SESS-13 finds an input that no process has taken up yet", async () => {
    await using at = await commandHome();
    const gone = join(at.folder, "gone");
    await mkdir(gone);
    expect((await at.run(["run", "hi", "--model", "demo", "--cwd", gone, "--key", "k"])).code).toBe(0);
    await rmdir(gone);
    const lost = await at.run(["run", "again", "--model", "demo", "--key", "k"]);
    expect(lost).toMatchObject({ code: 2, stderr: expect.stringMatching(/^capstan: .*\(workspace-missing\)$/m) });
    expect((await at.run(["resume"])).code).toBe(2);
    await mkdir(gone);
    const found = await at.run(["resume"]);
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining("demo model") });
    expect((await at.run(["resume"])).stderr).toBe("Nothing is unfinished.\n");
  });

  it("DUR-08 leaves alone what another process is at work on", async () => {
    await using server = await anthropicServer([
      {
        content: [{ type: "text", text: "x" }],
        delivery: { stall: { afterBytes: 700, until: new Promise(() => undefined) } },
      },
    ]);
    await using at = await commandHome({ ANTHROPIC_API_KEY: "sk-test-0123456789", ANTHROPIC_BASE_URL: server.url });
    let looked: Promise<ChildEnd> | undefined;
    const busy = await at.run(["run", "talk", "--output", "stream-json"], {
      onOutput(shown, child) {
        if (looked !== undefined || !shown.includes("turn.started")) return;
        looked = at.run(["resume"]).finally(() => child.kill("SIGINT"));
      },
    });
    expect(busy.code).toBe(130);
    expect((await looked)?.stderr).toMatch(/^Another process is at work on ses_\w+; it is left alone\.\n$/);
  });
});
