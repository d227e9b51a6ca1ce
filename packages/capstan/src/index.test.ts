import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agent, CapstanError, openRuntime, tool } from "./index.ts";
import { scriptedModel } from "./testing.ts";
import { type ChildEnd, commandHome, runChild } from "./command-child.ts";

const anything = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
} as const;

/** Names between the braces of `export { ... }`. */
async function exported(file: string): Promise<readonly string[]> {
  const source = await readFile(file, "utf8");
  const lists = Array.from(source.matchAll(/export (?:type )?\{([^}]*)\}/g), ([, list]) => list ?? "");
  return lists
    .flatMap((list) => list.split(","))
    .map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "");
}

describe("capstan", () => {
  it("exports every public name of core", async () => {
    const packages = join(import.meta.dirname, "..", "..");
    const own = await exported(join(import.meta.dirname, "index.ts"));
    const missing = (await exported(join(packages, "core/src/index.ts"))).filter((name) => !own.includes(name));
    expect(missing).toEqual([]);
    const testing = await exported(join(import.meta.dirname, "testing.ts"));
    expect(
      (await exported(join(packages, "core/src/testing/index.ts"))).filter((name) => !testing.includes(name)),
    ).toEqual([]);
    const tools = await exported(join(import.meta.dirname, "tools.ts"));
    expect((await exported(join(packages, "tools/src/index.ts"))).filter((name) => !tools.includes(name))).toEqual([]);
  });
});

describe("openRuntime", () => {
  it("SESS-18 needs nothing but agents: sessions are in a private data folder, and there after it is closed", async () => {
    await using at = await commandHome();
    const greet = agent({ name: "greet", model: scriptedModel([{ text: "Hello." }]), instructions: "Greet." });
    const options = { agents: [greet], dataFolder: at.home };
    const first = await openRuntime(options);
    const run = await first.send(greet, "Hi", { key: "mine" });
    expect(await run.text()).toBe("Hello.");
    await first.close();
    expect((await stat(at.home)).mode & 0o777).toBe(0o700);
    await using second = await openRuntime(options);
    const session = await second.session({ agent: "greet", key: "mine" });
    expect(await session.messages()).toHaveLength(2);
  });

  it("gives tools the folder of the session", async () => {
    await using at = await commandHome();
    const where = tool({
      name: "where",
      description: "Says where.",
      input: anything,
      execute: (_input, { workspace }) => workspace.root,
    });
    const model = scriptedModel([{ calls: [{ name: "where", input: {} }] }, { text: "There." }]);
    const look = agent({ name: "look", model, instructions: "Look.", tools: [where] });
    await using runtime = await openRuntime({ agents: [look], dataFolder: at.home });
    const result = await (await runtime.send(look, "Where?", { workspace: at.folder })).result();
    expect(JSON.stringify(result.messages)).toContain(JSON.stringify(at.folder).slice(1, -1));
  });

  it("MODEL-06 resolves models by name, and closes what it opened when it cannot", async () => {
    await using at = await commandHome();
    const lost = agent({ name: "lost", model: "nope/x", instructions: "None." });
    const failed = openRuntime({ agents: [lost], dataFolder: at.home });
    await expect(failed).rejects.toSatisfy((error) => CapstanError.is(error, "model-unknown"));
    const found = agent({ name: "found", model: "demo", instructions: "None." });
    await using runtime = await openRuntime({ agents: [found], dataFolder: at.home });
    expect(await runtime.sessions()).toEqual([]);
  });
});

describe("command", () => {
  it("gives a command of one's own with its name and agents", { timeout: 120_000 }, async () => {
    await using at = await commandHome();
    const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);
    const main = join(at.folder, "acme.ts");
    await writeFile(
      main,
      `import { agent, config } from ${here("index.ts")};
import { command } from ${here("command.ts")};
import { scriptedModel } from ${here("testing.ts")};
const greet = agent({ name: "greet", model: scriptedModel([{ text: "Hello from acme." }]), instructions: "Greet." });
await command(config({ agents: [greet] }), { name: "acme" });
`,
    );
    const acme = (...args: readonly string[]): Promise<ChildEnd> =>
      runChild([process.execPath, "--conditions=capstan-source", main, ...args], { env: at.env, cwd: at.folder });
    expect(await acme("run", "hi")).toMatchObject({ code: 0, stdout: "Hello from acme.\n" });
    expect(await acme("run", "hi", "--agent", "other")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^acme: .*\(agent-unknown\)\n$/),
    });
    expect((await acme("--help")).stdout).toMatch(/^Usage: acme /);
  });
});
