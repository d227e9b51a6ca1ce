import { describe, expect, it } from "vitest";
import { isToolName, modelName, serverOf } from "./tool-name.ts";

const LEGAL = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/; // what every provider takes

describe("modelName", () => {
  it.each([
    ["echo", "echo"],
    ["mcp:github/create_issue", "github__create_issue"],
    ["mcp:files.local/read.text/v2", "files_local__read_text_v2"],
    ["mcp:3d/render", "m_3d__render"],
  ])("MCP-02 reads %s as %s", (name, shown) => {
    expect(modelName(name)).toBe(shown);
  });

  it("MCP-02 is legal everywhere and tells long names apart", () => {
    const long = "x".repeat(127);
    const names = [`mcp:${"s".repeat(64)}/${long}a`, `mcp:${"s".repeat(64)}/${long}b`, "mcp:_/_", "mcp:-/."];
    const shown = names.map(modelName);
    for (const name of shown) expect(name).toMatch(LEGAL);
    expect(new Set(shown).size).toBe(names.length);
  });
});

describe("serverOf", () => {
  it("MCP-02 finds the server in the name of its tool and nowhere else", () => {
    expect(["mcp:github/a/b", "github__a", "mcp:github", "mcp:/a", "mcp:a b/c"].map(serverOf)).toEqual([
      "github",
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("TOOL-01 knows what can be the name of a tool", () => {
    expect(["a", "mcp:a/b"].every(isToolName)).toBe(true);
    expect(["", "a.b", "mcp:a", "mcp:a/", `mcp:a/${"b".repeat(129)}`].some(isToolName)).toBe(false);
  });
});
