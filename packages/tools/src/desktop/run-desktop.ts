/** Runs the desktop program for one task: in a group of its own, with an allow-listed environment and a deadline. */

import { spawn, type ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "@capstan/core";
import { z } from "zod";
import { childEnv } from "../workspaces/child-env.ts";
import type { DesktopAnswer, DesktopTask } from "./desktop-program.ts";
import { DESKTOP_LIMITS as LIMITS } from "./limits.ts";

/** Does one task. Throws `DesktopFailure`, and the signal's reason on abort. */
export type RunDesktop = (task: DesktopTask, signal: AbortSignal) => Promise<DesktopAnswer>;

/** What kept a task from being done, as the end of a sentence. */
export class DesktopFailure extends Error {}

/** What programs of a desktop need to find it. */
const DESKTOP =
  /^(?:DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_(?:RUNTIME_DIR|SESSION_TYPE|CURRENT_DESKTOP|DATA_DIRS|DATA_HOME|CONFIG_DIRS|CONFIG_HOME)|DBUS_SESSION_BUS_ADDRESS|WSL_DISTRO_NAME|WSL_INTEROP)$/;
const answerSchema = z.object({
  text: z.string().optional(),
  base64: z.string().max(LIMITS.answerCharacters).optional(),
  error: z.string().optional(),
});
/** Beside this file in the sources, in the folder of its name when built. */
const PROGRAM = new URL(`../desktop/desktop-program${extname(new URL(import.meta.url).pathname)}`, import.meta.url);

/** `program` and `env` are for tests. */
export function desktopRunner({
  program = fileURLToPath(PROGRAM),
  env = process.env,
  ms = LIMITS.taskMs,
}: { readonly program?: string; readonly env?: NodeJS.ProcessEnv; readonly ms?: number } = {}): RunDesktop {
  return async (task, signal) => {
    signal.throwIfAborted();
    if (task.type !== "system-info" && !hasDesktop(env)) throw new DesktopFailure("this machine shows no desktop here");
    const shown = Object.fromEntries(
      Object.entries(env).flatMap(([name, value]) =>
        DESKTOP.test(name) && value !== undefined ? [[name, value]] : [],
      ),
    );
    const child = spawn(process.execPath, [program], {
      cwd: "/",
      env: childEnv(env, shown, {}),
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    const { answer, exited } = answerOf(child);
    const late = Promise.withResolvers<never>();
    const cancel = systemClock.after(ms, () =>
      late.reject(new DesktopFailure(`it took longer than ${ms / 1000} seconds`)),
    );
    const onAbort = (): void => late.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    child.send(task, () => undefined); // a child that is gone is heard of by its end
    try {
      const given = await Promise.race([answer, late.promise]);
      if (given.error !== undefined) throw new DesktopFailure(given.error);
      return given;
    } catch (error) {
      endGroup(child); // what was done leaves what it opened; what failed leaves nothing
      throw error;
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
      if (child.connected) child.disconnect();
      child.kill("SIGKILL");
      await exited;
    }
  };
}

function hasDesktop(env: NodeJS.ProcessEnv): boolean {
  return process.platform !== "linux" || Boolean(env["DISPLAY"] ?? env["WAYLAND_DISPLAY"] ?? env["WSL_DISTRO_NAME"]);
}

function answerOf(child: ChildProcess): { readonly answer: Promise<DesktopAnswer>; readonly exited: Promise<void> } {
  const answer = Promise.withResolvers<DesktopAnswer>();
  const exited = Promise.withResolvers<void>();
  answer.promise.catch(() => undefined); // may come after the deadline
  const failed = (why: string): void => {
    answer.reject(new DesktopFailure(why));
    exited.resolve();
  };
  child.once("error", ({ message }) => failed(message));
  child.once("message", (message) => {
    const checked = answerSchema.safeParse(message);
    if (checked.success) answer.resolve(checked.data as DesktopAnswer); // its optional members are absent, not undefined
    else answer.reject(new DesktopFailure("it answered with something that is no answer"));
  });
  child.once("exit", (code, signal) => failed(`its program ended with ${code ?? signal}`));
  return { answer: answer.promise, exited: exited.promise };
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined || process.platform === "win32") return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // ended meanwhile
  }
}
