import { tmpdir } from "node:os";
import { join } from "node:path";
import { fakeClock } from "@capstan/core/testing";
import { ACP_WIRE_LIMITS } from "@capstan/wire/acp";
import { describe, expect, it } from "vitest";
import { acpClient, type AcpClientOptions } from "./acp-client.ts";

const PROGRAM = join(import.meta.dirname, "..", "testing", "hostile-agent.ts");

function hostile(how: string, options: Partial<AcpClientOptions> = {}) {
  return acpClient({ command: process.execPath, args: [PROGRAM, how], cwd: tmpdir(), ...options });
}
const textOf = ({ parts }: { readonly parts: readonly object[] }): string =>
  parts.map((part) => ("type" in part && part.type === "text" && "text" in part ? String(part.text) : "")).join("");

describe("acpClient with a hostile agent", { timeout: 60_000 }, () => {
  it.each([
    ["writes garbage, too much, and no UTF-8", "garbage"],
    ["answers what nobody asked", "ids"],
    ["says odd things of itself", "odd"],
    ["ends for no known reason", "stop"],
    ["ends with no result", "nothing"],
  ])("ACP-01 hears an agent that %s", async (_name, how) => {
    await using client = hostile(how);
    const { stopReason, message } = await client.prompt("x");
    expect([stopReason, textOf(message)]).toEqual(["end_turn", "fine"]);
  });

  it("ACP-04 leaves out updates that it does not know, that are broken, and of other sessions", async () => {
    await using client = hostile("updates");
    const { message } = await client.prompt("x");
    expect(textOf(message)).toBe("fine");
    expect(message.parts).toMatchObject([
      { type: "dynamic-tool", toolCallId: "never-announced", state: "output-available", output: { content: [] } },
      { type: "data-plan", data: { entries: [] } },
      { type: "text" },
    ]);
  });

  it("ACP-01 gives no file, no terminal and no permission to who asks wrongly", async () => {
    await using client = hostile("requests", { permission: { allow: () => true } });
    const { message } = await client.prompt("x");
    expect(textOf(message)).toBe('finer1:-32601 r2:-32601 r3:-32602 r4:{"outcome":{"outcome":"cancelled"}}');
    expect(client.permissions()).toEqual([]);
  });

  it("ACP-01 keeps a flood within bounds", async () => {
    await using client = hostile("flood");
    const { message } = await client.prompt("x");
    expect(textOf(message).length).toBe(ACP_WIRE_LIMITS.messageCharacters);
  });

  it.each([
    ["speaks another version", "version", "version 9"],
    ["answers with a list", "list", "version undefined"],
    ["begins a session without an id", "no-session", "without an id"],
  ])("ACP-01 refuses an agent that %s", async (_name, how, problem) => {
    await using client = hostile(how);
    await expect(client.ensureSession()).rejects.toThrow(problem);
  });

  it("ACP-01 does not wait for ever for an agent that says nothing", async () => {
    const clock = fakeClock();
    await using client = hostile("silent", { clock });
    const connecting = client.connect();
    connecting.catch(() => undefined); // awaited below
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(60_000);
    await expect(connecting).rejects.toMatchObject({ code: "timeout" });
  });
});
