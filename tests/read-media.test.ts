import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent } from "@capstan/core";
import { testRuntime } from "@capstan/core/testing";
import { readFileTool } from "@capstan/tools/files";
import { localWorkspace } from "@capstan/tools/workspaces/local";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WIRE_FORMATS } from "./harness/wire-formats.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "capstan-media-"));
  writeFileSync(join(folder, "dot.png"), PNG);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("an image that read_file shows", () => {
  for (const { name, play } of WIRE_FORMATS) {
    it(`TOOL-25 TOOL-43 reaches the model over ${name}`, async () => {
      const said = [{ calls: [{ name: "read_file", input: { path: "dot.png" } }] }, { text: "One dot." }];
      await using played = play((index) => said[index] ?? { text: "The script is over." });
      const guide = agent({ name: "guide", model: played.model, instructions: "Look.", tools: [readFileTool()] });
      await using runtime = await testRuntime({
        agents: [guide],
        workspaces: { local: (root) => Promise.resolve(localWorkspace(root)) },
        permission: { mode: "bypass" },
      });
      const session = await runtime.session({ agent: "guide", workspace: folder });
      expect(await (await session.send("What is in dot.png?")).text()).toBe("One dot.");
      expect(played.violations).toEqual([]);
      expect(JSON.stringify(played.sent())).toContain(PNG.toString("base64"));
    });
  }
});
