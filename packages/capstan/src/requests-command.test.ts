import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { OpenRequest } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { type ChildEnd, COMMAND, type CommandHome, commandHome, LIBRARY, TESTING } from "./command-child.ts";

/** An agent that asks before it deploys, and then asks where to. `onRequest` is source text. */
async function deployer(at: CommandHome, onRequest: string): Promise<string> {
  const file = join(at.folder, "agents.ts");
  await writeFile(
    file,
    `import { appendFileSync } from "node:fs";
import { agent, config, flowTool, tool, jsonSchema } from "${LIBRARY}";
import { scriptedModel } from "${TESTING}";
const input = jsonSchema({ type: "object", properties: {} });
const deploy = tool({ name: "deploy", description: "Deploys.", input, title: () => "Deploy it", permission: "ask",
  execute: () => { appendFileSync("deployed.txt", "x"); return "Deployed."; } });
const ask = flowTool({ name: "where", description: "Asks.", input, flow: async (_input, context) => {
  const { answers } = await context.question("place", [
    { header: "Region", question: "Where to?", multiSelect: false, options: [{ label: "north", description: "" }, { label: "south", description: "cheap" }] },
    { header: "Checks", question: "What first?", multiSelect: true, options: [{ label: "unit", description: "" }, { label: "load", description: "" }] }]);
  return JSON.stringify(answers); } });
const model = scriptedModel([
  { calls: [{ name: "where", input: {} }] },
  { calls: [{ name: "deploy", input: {} }] },
  (request) => ({ text: "I heard: " + JSON.stringify(request.messages.at(-1)) }),
]);
export default config({ agents: [agent({ name: "ops", model, instructions: "Deploy.", tools: [ask, deploy] })], onRequest: ${onRequest} });
`,
  );
  return file;
}

async function open(at: CommandHome): Promise<readonly OpenRequest[]> {
  const { stdout } = await at.run(["requests", "list", "--json"]);
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as OpenRequest]));
}

async function onlyOpen(at: CommandHome): Promise<OpenRequest> {
  const [request, ...more] = await open(at);
  if (request === undefined || more.length > 0) throw new Error(`${more.length} more requests are open than one`);
  return request;
}

describe.concurrent("capstan requests", { timeout: 120_000 }, () => {
  it("PERM-07 PERM-08 lists and answers in other processes than the one that asked, which has ended", async () => {
    await using at = await commandHome();
    const config = await deployer(at, "async () => undefined");
    const asked = await at.run(["run", "deploy", "--config", config]);
    expect(asked).toMatchObject({ code: 5, stderr: expect.stringContaining('see "capstan requests list"') });

    const question = await onlyOpen(at);
    const shown = await at.run(["requests", "list"]);
    expect(shown.stdout).toContain(`${question.requestId}  question  of ${question.sessionId}`);
    expect(shown.stdout).toContain("  Region: Where to?\n    1  north\n    2  south: cheap\n");
    const wrong = await at.run(["requests", "answer", question.requestId, "--allow"]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/^capstan: .*--choose.*\(usage\)\n$/) });
    const choices = ["--choose", "Region=2", "--choose", "Checks=unit", "--choose", "Checks=by hand"];
    const answered = await at.run(["requests", "answer", question.requestId, ...choices]);
    expect(answered).toMatchObject({ code: 0, stdout: "" });
    expect(answered.stderr).toContain(`"capstan resume ${question.sessionId}" goes on with it`);
    const taken = await at.run(["requests", "list"]);
    expect(taken).toMatchObject({ stdout: "", stderr: expect.stringContaining("waits to be taken up") });
    const late = await at.run(["requests", "answer", question.requestId, ...choices.slice(2), "--choose", "Region=1"]);
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining("(request-closed)") });

    expect((await at.run(["resume", "--config", config])).code).toBe(5);
    const permission = await onlyOpen(at);
    expect(permission.body).toMatchObject({ type: "permission", tool: "deploy" });
    expect((await at.run(["requests", "list"])).stdout).toContain("  May I? Deploy it\n");
    const deny = ["requests", "answer", permission.requestId, "--deny", "--reason", "not on a Friday"];
    expect((await at.run(deny)).code).toBe(0);
    const end = await at.run(["resume", "--config", config]);
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("not on a Friday");
    expect((await at.run(["requests", "list"])).stderr).toBe("Nothing is open.\n");
    const history = await at.run(["sessions", "export", permission.sessionId]);
    expect(history.stdout).toContain('"answers":{"Region":"south","Checks":["unit","by hand"]}');
  });

  it("EDGE-12 an answer from another process moves the one that waits", async () => {
    await using at = await commandHome();
    // it asks nobody, and says when it would
    const waits =
      '({ sessionId }, { signal }) => new Promise((resolve) => { console.error("asked in " + sessionId + "."); signal.addEventListener("abort", () => resolve(undefined)); })';
    const config = await deployer(at, waits);
    const answers: Promise<ChildEnd>[] = [];
    const answer = async (): Promise<ChildEnd> => {
      const { requestId, body } = await onlyOpen(at);
      const flags = body.type === "permission" ? ["--allow"] : ["--choose", "Region=north", "--choose", "Checks=load"];
      return at.run(["requests", "answer", requestId, ...flags]);
    };
    const end = await at.run(["run", "deploy", "--config", config], {
      onOutput(said) {
        if (said.split("asked in ").length - 1 > answers.length) answers.push(answer());
      },
    });
    expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining("Deployed.") });
    expect((await Promise.all(answers)).map(({ code }) => code)).toEqual([0, 0]);
  });

  it("says in one line that there is no such request", async () => {
    await using at = await commandHome();
    const end = await at.run(["requests", "answer", "req_x", "--allow"]);
    expect(end).toMatchObject({ code: 1, stderr: expect.stringMatching(/^capstan: [^\n]*\(request-closed\)\n$/) });
  });
});

describe.concurrent("capstan sessions watch", { timeout: 120_000 }, () => {
  it("EDGE-12 follows from a cursor what another process does, one envelope a line, until Ctrl-C", async () => {
    await using at = await commandHome();
    await at.run(["run", "hi", "--model", "demo", "--key", "k"]);
    const [line = ""] = (await at.run(["sessions", "list", "--json"])).stdout.split("\n");
    const { sessionId, head } = JSON.parse(line) as { sessionId: string; head: number };
    const [program = "", ...rest] = COMMAND;
    const args = [...rest, "sessions", "watch", sessionId, "--after", String(head - 1)];
    const watcher = spawn(program, args, { env: at.env, cwd: at.folder, stdio: ["ignore", "pipe", "inherit"] });
    const seen: { readonly type: string; readonly seq: number }[] = [];
    const of = new Set<string>();
    let again: Promise<ChildEnd> | undefined;
    let begun = "";
    watcher.stdout.on("data", (piece) => {
      const lines = `${begun}${String(piece)}`.split("\n");
      begun = lines.pop() ?? "";
      for (const text of lines) {
        const envelope = JSON.parse(text) as { readonly sessionId: string; readonly event: (typeof seen)[number] };
        of.add(envelope.sessionId);
        seen.push(envelope.event);
      }
      again ??= at.run(["run", "again", "--model", "demo", "--key", "k"]);
      if (seen.filter(({ type }) => type === "run.finished").length === 2) watcher.kill("SIGINT");
    });
    const code = await new Promise((resolve) => watcher.on("close", resolve));
    expect((await again)?.code).toBe(0);
    expect(code).toBe(130);
    expect([...of]).toEqual([sessionId]);
    expect(seen[0]).toMatchObject({ seq: head, type: "run.finished" });
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_event, index) => head + index));
  });

  it("refuses what is no cursor", async () => {
    await using at = await commandHome();
    await at.run(["run", "hi", "--model", "demo"]);
    const [line = ""] = (await at.run(["sessions", "list", "--json"])).stdout.split("\n");
    const { sessionId } = JSON.parse(line) as { sessionId: string };
    const end = await at.run(["sessions", "watch", sessionId, "--after", "soon"]);
    expect(end).toMatchObject({ code: 2, stderr: expect.stringMatching(/^capstan: [^\n]*\(cursor-invalid\)\n$/) });
  });
});

describe.concurrent("capstan sessions fork", { timeout: 120_000 }, () => {
  it("SESS-15 begins a session with what was said up to a fact, and leaves the first as it is", async () => {
    await using at = await commandHome();
    await at.run(["run", "hi", "--model", "demo", "--key", "k"]);
    await at.run(["run", "once more", "--model", "demo", "--key", "k"]);
    const [line = ""] = (await at.run(["sessions", "list", "--json"])).stdout.split("\n");
    const { sessionId } = JSON.parse(line) as { sessionId: string };
    const before = (await at.run(["sessions", "export", sessionId])).stdout;
    const facts = before
      .trimEnd()
      .split("\n")
      .map((text) => JSON.parse(text) as { type: string; seq: number });
    const first = facts.find(({ type }) => type === "run.finished")?.seq ?? 0;
    const end = await at.run(["sessions", "fork", sessionId, "--at", String(first)]);
    expect(end).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^ses_\w+\n$/) });
    const fork = end.stdout.trim();
    expect(fork).not.toBe(sessionId);
    const shown = (await at.run(["sessions", "show", fork])).stdout;
    expect(shown).toContain("you\n  hi\n");
    expect(shown).not.toContain("once more");
    expect((await at.run(["run", "go on", "--session", fork, "--model", "demo"])).code).toBe(0);
    expect((await at.run(["sessions", "export", sessionId])).stdout).toBe(before);
    const beyond = await at.run(["sessions", "fork", sessionId, "--at", "9999"]);
    expect(beyond).toMatchObject({ code: 2, stderr: expect.stringContaining("(cursor-invalid)") });
  });
});
