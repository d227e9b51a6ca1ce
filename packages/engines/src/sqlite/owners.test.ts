import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { isAlive, thisProcess, type ProcessPlace } from "./owners.ts";

const here = thisProcess();
const [boot = "", namespace = ""] = here.boot.split(" ");
const dead = spawnSync(process.execPath, ["-e", ""]).pid;

describe("isAlive", () => {
  it.each<[string, Partial<ProcessPlace>, boolean | undefined]>([
    ["this process", {}, true],
    ["a process that ended", { pid: dead }, false],
    ["a process that ended, where no start time is known", { pid: dead, started: "" }, false],
    ["a living process, where no start time is known", { started: "" }, true],
    ["a process of another host", { host: "elsewhere" }, undefined],
    ["a process before the last boot", { boot: `other ${namespace}` }, false],
  ])("DUR-08 judges %s", (_name, place, expected) => {
    expect(isAlive({ ...here, ...place }, here)).toBe(expected);
  });

  it.skipIf(process.platform !== "linux")("DUR-08 takes a process number that was used again for a dead owner", () => {
    expect(isAlive({ ...here, started: "1" }, here)).toBe(false);
  });

  it.skipIf(process.platform !== "linux")("DUR-08 takes nobody for dead of whom nothing can be read", () => {
    const unreadable = (): string => "";
    expect(isAlive(here, here, unreadable)).toBeUndefined();
    expect(isAlive({ ...here, pid: dead }, here, unreadable)).toBe(false);
  });

  it.skipIf(process.platform !== "linux")("leaves a process of another PID namespace to its beat", () => {
    expect(isAlive({ ...here, boot: `${boot} pid:[1]` }, here)).toBeUndefined();
  });
});
