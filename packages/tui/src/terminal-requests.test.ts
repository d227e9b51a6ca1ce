import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { scripted, terminalHome } from "./terminal-home.ts";

const pty = { spawn, Terminal: xterm.Terminal };
const READY = "? help";
const heard = `(request) => ({ text: "Heard " + request.messages.at(-1).parts[0].output.content[0].text })`;

describe("requests in the terminal", { concurrent: true, timeout: 120_000 }, () => {
  it("CLI-01 shows a plan, and takes no with what to change", async () => {
    await using at = await terminalHome(pty);
    const more = `const propose = flow("propose", async (_input, context) => JSON.stringify(await context.plan("p", "# Steps\\n\\n1. Look\\n2. Leap")));`;
    await using screen = at.open(
      await scripted(at, `[{ calls: [{ name: "propose", input: {} }] }, ${heard}]`, { tools: "propose", more }),
    );
    await screen.waitFor(READY);
    screen.type("plan it\r");
    await screen.waitFor("a letter or enter answers");
    expect(screen.text).toMatch(/Is this plan right\?[^]*1\. Look\s+2\. Leap/);
    screen.type("r");
    await screen.waitFor("Why not?");
    screen.type("look twice\r");
    await screen.waitFor(/Heard .*"allow":false.*look twice/s);
  });

  it("CLI-01 fills in a form field by field, and checks what is typed", async () => {
    await using at = await terminalHome(pty);
    const schema = {
      type: "object",
      properties: {
        name: { type: "string", title: "Name" },
        age: { type: "integer" },
        colour: { type: "string", enum: ["red", "blue"] },
        note: { type: "string" },
        sure: { type: "boolean" },
      },
      required: ["name", "age", "colour", "sure"],
    };
    const more = `const shape = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }), jsonSchema: { input: () => (${JSON.stringify(schema)}), output: () => ({}) } } };
const fill = flow("fill", async (_input, context) => JSON.stringify((await context.form("f", { message: "Who are you?", schema: shape })).content));`;
    await using screen = at.open(
      await scripted(at, `[{ calls: [{ name: "fill", input: {} }] }, ${heard}]`, { tools: "fill", more }),
      { columns: 100 },
    );
    await screen.waitFor(READY);
    screen.type("ask\r");
    await screen.waitFor("Who are you?");
    await screen.waitFor("esc interrupts the run");
    screen.type("y");
    await screen.waitFor("1/5 Name");
    screen.type("Ada\r");
    await screen.waitFor("2/5 age");
    screen.type("old\r");
    await screen.waitFor("a whole number");
    screen.type("36\r");
    await screen.waitFor("3/5 colour");
    screen.type("2");
    await screen.waitFor("4/5 note (may stay empty)");
    screen.type("\r");
    await screen.waitFor("5/5 sure");
    screen.type("1");
    await screen.waitFor(`Heard {"name":"Ada","age":36,"colour":"blue","sure":true}`);
  });

  it("CLI-01 gives the result of a tool that a client runs", async () => {
    await using at = await terminalHome(pty);
    const more = `const clock = tool({ name: "clock", description: "Asks for the time.", input });`;
    await using screen = at.open(
      await scripted(at, `[{ calls: [{ name: "clock", input: { zone: "UTC" } }] }, ${heard}]`, {
        tools: "clock",
        more,
      }),
    );
    await screen.waitFor(READY);
    screen.type("what time?\r");
    await screen.waitFor("A result is to be given for clock");
    await screen.waitFor("esc interrupts the run");
    screen.type("t");
    await screen.waitFor("Its result:");
    screen.type("noon\r");
    await screen.waitFor("Heard noon");
  });

  it("CLI-01 EDGE-01 asks whether something happened when a crash came while it ran", async () => {
    await using at = await terminalHome(pty);
    const more = `const once = tool({ name: "once", description: "Waits.", kind: "execute", permission: "allow", rerun: "never", title: () => "Pay", input, async execute(_input, { progress }) { progress({ stream: "stdout", chunk: "paying\\n" }); await until("go"); return "paid"; } });`;
    const args = await scripted(at, `[{ calls: [{ name: "once", input: {} }] }, { text: "So it is." }]`, {
      tools: "once",
      more,
    });
    {
      await using screen = at.open(args);
      await screen.waitFor(READY);
      screen.type("pay\r");
      await screen.waitFor("paying");
      process.kill(screen.pid, "SIGKILL");
      await screen.exit;
    }
    await writeFile(join(at.folder, "go"), "");
    await using again = at.open([...args, "--continue"]);
    await again.waitFor("Did this happen? once");
    await again.waitFor("a letter or enter answers");
    again.type("h");
    await again.waitFor("So it is.");
    expect(again.text).not.toContain("Did this happen?");
  });

  it("CLI-01 asks one after the other, and says how many wait", async () => {
    await using at = await terminalHome(pty);
    const call = (path: string): string => `{ name: "edit", input: { path: "${path}" } }`;
    await using screen = at.open(
      await scripted(at, `[{ calls: [${call("one")}, ${call("two")}, ${call("three")}] }, { text: "All asked." }]`),
    );
    await screen.waitFor(READY);
    screen.type("go\r");
    for (const [path, more] of [
      ["one", " (and 2 more)"],
      ["two", " (and 1 more)"],
      ["three", " "],
    ] as const) {
      await screen.waitFor(`May I? Edit ${path}${more}`);
      await screen.waitFor("a letter or enter answers");
      screen.type(path === "two" ? "n" : "y");
    }
    await screen.waitFor("All asked.");
    expect(screen.history).toMatch(/✓ Edit one[^]*✗ Edit two {2}denied[^]*✓ Edit three/);
  });
});
