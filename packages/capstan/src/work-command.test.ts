import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openRuntime } from "@capstan/core";
import { localEngine } from "@capstan/engines/local";
import { describe, expect, it } from "vitest";
import { COMMAND, commandHome, LIBRARY, TESTING } from "./command-child.ts";

const CONFIG = `
import { agent, config } from ${JSON.stringify(LIBRARY)};
import { scriptedModel } from ${JSON.stringify(TESTING)};
const model = scriptedModel([{ text: "Done." }]);
export default config({ agents: [agent({ name: "clerk", model, instructions: "Work." })], dataFolder: process.env.DATA });
`;

describe("capstan work", { timeout: 60_000 }, () => {
  it("DUR-11 DUR-13 drives what another process has stored, and ends in good order at the first signal", async () => {
    await using home = await commandHome();
    const config = join(home.folder, "config.mjs");
    await writeFile(config, CONFIG);
    const engine = await localEngine({ path: join(home.folder, "data", "capstan.db") });
    const runtime = await openRuntime({ agents: [], engine, work: "none" });
    await using _closed = runtime;
    const sessionId = "ses_1";
    const actor = { id: "ada", door: "test" };
    await engine.submit({ type: "open", sessionId, agent: "clerk" }, { idempotencyKey: "open", actor });
    const [program = "", ...args] = COMMAND;
    const child = spawn(program, [...args, "work", "--config", config], {
      cwd: home.folder,
      env: { ...home.env, DATA: join(home.folder, "data") },
    });
    const ended = once(child, "exit");
    const said = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
    for (let line = ""; !line.includes("works on the sessions of");) {
      const { value, done } = await said.next();
      expect(done).not.toBe(true);
      line = String(value);
    }
    const session = await runtime.session(sessionId);
    expect(await (await session.send("go")).text()).toBe("Done.");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
