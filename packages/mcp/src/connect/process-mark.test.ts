import { spawn } from "node:child_process";
import { once } from "node:events";
import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { endProcesses, processMark } from "./process-mark.ts";

describe("endProcesses", () => {
  it("MCP-01 G10 kills what ignores SIGTERM, also where one look at the processes takes longer than all its patience", async () => {
    const mark = processMark();
    const env = { PATH: process.env["PATH"] ?? "", ...mark?.env };
    const deaf = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    const child = spawn("sh", ["-c", deaf], { detached: true, env, stdio: ["ignore", "pipe", "ignore"] });
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    let at = 0;
    await endProcesses(child.pid ?? 0, mark, { ...systemClock, monotonic: () => (at += 3_600_000) });
    expect(await exited).toEqual([null, "SIGKILL"]);
  });
});
