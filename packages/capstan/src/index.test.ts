import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agent, CapstanError, openRuntime, tool } from "./index.ts";
import { scriptedModel } from "./testing.ts";
import { commandHome } from "./command-child.ts";

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
