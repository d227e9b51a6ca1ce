/** Skills, slash commands and rules from files: what the model is told, when, and what a skill keeps it from. */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, openRuntime } from "capstan";
import { commands, loadCommands, loadSkills, rules, skills, skillsOf } from "capstan/plugins";
import { scriptedModel } from "capstan/testing";
import { fileTools } from "capstan/tools";

const folder = await mkdtemp(join(tmpdir(), "capstan-example-"));
for (const name of ["work", "rules", "commands"]) await mkdir(join(folder, name));
await writeFile(join(folder, "work/notes.txt"), "Fixed the clock.\n");
await writeFile(join(folder, "rules/style.md"), "Write in the past tense.");
await writeFile(join(folder, "commands/notes.md"), "Write the release notes of version $1.");

const set = await loadSkills({
  write: {
    folder: join(folder, "skills"),
    skills: [
      {
        name: "release-notes",
        description: "Writes release notes. Use it when a version is tagged.",
        instructions: "Read notes.txt, then answer with one line a change. Change no file.",
        allowedTools: ["Read"],
      },
    ],
  },
});

const model = scriptedModel([
  { calls: [{ name: "skill", input: { name: "release-notes" } }] },
  { calls: [{ name: "read_file", input: { path: "notes.txt" } }] },
  { calls: [{ name: "write_file", input: { path: "notes.txt", content: "" } }] },
  { text: "Fixed the clock." },
]);
const writer = agent({
  name: "writer",
  model,
  instructions: "You write.",
  tools: fileTools(),
  plugins: [
    commands(await loadCommands({ folders: [{ source: "user", folder: join(folder, "commands") }] })),
    rules([{ of: "the user", folder: join(folder, "rules") }]),
    skills(set), // the last one: it judges calls as they are made
  ],
  permission: { mode: "accept-edits" },
});

await using runtime = await openRuntime({ agents: [writer] });
const session = await runtime.session({ agent: writer, workspace: join(folder, "work") });
const run = await session.send("/notes 1.2");

const active: string[] = [];
for await (const { event } of run.events()) {
  if (event.type !== "tool.finished") continue;
  console.log(event.name, event.status);
  active.push(...(await skillsOf(session).active()).map(({ name, via }) => `${name} by ${via}`));
}
console.log(await run.text());

const [first, second] = model.requests;
assert.match(first?.system ?? "", /Write in the past tense\./);
assert.match(JSON.stringify(first?.messages), /release notes of version 1\.2/);
assert.doesNotMatch(JSON.stringify(first), /one line a change/); // only its description costs something
assert.match(JSON.stringify(second?.messages), /one line a change/);
assert.ok(active.includes("release-notes by model"));
assert.match(JSON.stringify(model.requests.at(-1)?.messages), /only these may be called: Read/);
assert.deepEqual(await skillsOf(session).active(), []); // it was active until the run ended
await rm(folder, { recursive: true, force: true });
