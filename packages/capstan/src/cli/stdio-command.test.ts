import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMAND, type CommandHome, commandHome, LIBRARY, TESTING } from "../command-child.ts";

/** An agent whose tools talk where they should not, and do not stop when they are told to. */
const CONFIG = `
import { agent, tool, config } from ${JSON.stringify(LIBRARY)};
import { scriptedModel } from ${JSON.stringify(TESTING)};
const input = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object" }) } } };
const noisy = tool({ name: "noisy", description: "Talks.", input, permission: "allow", execute: () => { process.stdout.write("stray\\n"); process.stderr.write("note\\n"); return "said"; } });
const deaf = tool({ name: "deaf", description: "Goes on.", input, permission: "allow", execute: () => new Promise((resolve) => setTimeout(resolve, 600_000)) });
const model = scriptedModel([{ calls: [{ name: "noisy", input: {} }] }, { text: "Done." }, { calls: [{ name: "deaf", input: {} }] }]);
export default config({ agents: [agent({ name: "clerk", model, instructions: "Work.", tools: [noisy, deaf] })] });
`;

type Shell = { readonly child: ChildProcessWithoutNullStreams; readonly until: (sign: string) => Promise<void> };

async function sidecar(home: CommandHome): Promise<Shell> {
  await writeFile(join(home.folder, "config.mjs"), CONFIG);
  const [program = "", ...args] = COMMAND;
  const child = spawn(program, [...args, "stdio", "--config", join(home.folder, "config.mjs")], {
    cwd: home.folder,
    env: home.env,
  });
  let text = "";
  const until = async (sign: string): Promise<void> => {
    while (!text.includes(sign)) text += String((await once(child.stdout, "data"))[0]);
  };
  await until('"ready"');
  return { child, until };
}

describe("capstan stdio", { timeout: 60_000 }, () => {
  it("G10 ends at a signal although a tool does not, and at a second signal at once", async () => {
    await using home = await commandHome();
    for (const again of [false, true]) {
      const { child, until } = await sidecar(home);
      child.stderr.resume();
      child.stdin.write(
        '{"id":1,"kind":"user_message","message":"Talk"}\n{"id":2,"kind":"user_message","message":"Go on"}\n',
      );
      await until('"name":"deaf","title"');
      const closed = once(child, "close");
      child.kill("SIGTERM");
      if (again) {
        await new Promise((resolve) => setTimeout(resolve, 100)); // two signals at once are one
        child.kill("SIGTERM");
      }
      expect(await closed).toEqual([again ? 143 : 0, null]);
    }
  });

  it("G24 goes on when nobody reads its notes any more", async () => {
    await using home = await commandHome();
    const { child, until } = await sidecar(home);
    child.stderr.destroy();
    for (const id of [1, 2]) {
      const message = { id: `m${id}`, kind: "user_message", message: "Talk", conversation_id: undefined };
      child.stdin.write(`{"kind":"clear_history"}\n${JSON.stringify(message)}\n`);
      await until(`"id":"m${id}","timestamp"`);
      await until(`"turns":2`);
    }
    child.stdin.end();
    expect(await once(child, "close")).toEqual([0, null]);
  });
});
