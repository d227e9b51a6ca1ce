/** The program that does one thing on the desktop, so that what it loads and starts has no secret and no time beyond its own. */

import type { ChildProcess } from "node:child_process";
import { DESKTOP_LIMITS as LIMITS } from "./limits.ts";

export type DesktopTask =
  | { readonly type: "system-info" }
  | { readonly type: "open"; readonly target: string }
  | { readonly type: "read-clipboard" }
  | { readonly type: "write-clipboard"; readonly text: string }
  | { readonly type: "screenshot" };
/** `base64` of a PNG. `error` is the end of a sentence. */
export type DesktopAnswer = { readonly text?: string; readonly base64?: string; readonly error?: string };

/** The part of `node-screenshots` 0.2.8, an optional peer, that is used. */
type Screens = {
  readonly Monitor: {
    all(): readonly { isPrimary(): boolean; captureImage(): Promise<{ toPng(): Promise<Uint8Array> }> }[];
  };
};

async function perform(task: DesktopTask): Promise<DesktopAnswer> {
  switch (task.type) {
    case "system-info":
      return { text: await systemInfo() };
    case "open":
      return openTarget(task.target);
    case "read-clipboard": {
      const { default: clipboard } = await import("clipboardy");
      return { text: (await clipboard.read()).slice(0, LIMITS.writtenCharacters) };
    }
    case "write-clipboard": {
      const { default: clipboard } = await import("clipboardy");
      await clipboard.write(task.text);
      return {};
    }
    case "screenshot":
      return screenshot();
    default:
      return task satisfies never;
  }
}

/** Nothing that names the machine or its user: no serial numbers, no addresses. */
async function systemInfo(): Promise<string> {
  const { cpu, fsSize, graphics, mem, osInfo } = await import("systeminformation");
  const [system, processor, memory, disks, screens] = await Promise.all([osInfo(), cpu(), mem(), fsSize(), graphics()]);
  const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GB`;
  return [
    `System: ${system.distro} ${system.release} (${system.platform}, kernel ${system.kernel}, ${system.arch})`,
    `Processor: ${processor.manufacturer} ${processor.brand}, ${processor.cores} cores`,
    `Memory: ${gigabytes(memory.total)}, ${gigabytes(memory.available)} available`,
    ...disks
      .slice(0, 16)
      .map(({ mount, size, available }) => `Disk ${mount}: ${gigabytes(size)}, ${gigabytes(available)} free`),
    ...screens.displays
      .slice(0, 8)
      .map(
        ({ resolutionX, resolutionY, main }) =>
          `Screen: ${resolutionX} x ${resolutionY}${main ? ", the main one" : ""}`,
      ),
  ].join("\n");
}

async function openTarget(target: string): Promise<DesktopAnswer> {
  const { default: open } = await import("open");
  const opener = await open(target);
  const code = await exitOf(opener);
  return code === 0 || code === undefined ? {} : { error: `its opener ended with ${code}; is there a program for it?` };
}

/** Undefined while it runs on: some openers stay as long as what they opened. */
function exitOf(opener: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve) => {
    if (opener.exitCode !== null) return resolve(opener.exitCode);
    setTimeout(() => resolve(undefined), LIMITS.openMs);
    opener.once("exit", (code) => resolve(code ?? -1));
  });
}

async function screenshot(): Promise<DesktopAnswer> {
  const name: string = "node-screenshots"; // not a literal: the package may be absent when this is compiled
  let screens: Screens;
  try {
    screens = (await import(name)) as Screens;
  } catch {
    return { error: "the package node-screenshots is not installed; npm install node-screenshots@0.2.8" };
  }
  const monitors = screens.Monitor.all();
  const monitor = monitors.find((one) => one.isPrimary()) ?? monitors[0];
  if (monitor === undefined) return { error: "there is no screen" };
  const png = await (await monitor.captureImage()).toPng();
  return { base64: Buffer.from(png).toString("base64") };
}

process.once("message", (task: DesktopTask) => {
  perform(task)
    .catch((error: unknown): DesktopAnswer => ({ error: error instanceof Error ? error.message : String(error) }))
    .then((answer) => process.send?.(answer, () => process.exit(0)))
    .catch(() => process.exit(1));
});
