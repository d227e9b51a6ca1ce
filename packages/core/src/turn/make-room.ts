/** A turn that did not fit the model's context: plugins may make room, and it is tried again, once. */

import type { Hold } from "../hold/hold.ts";
import { runOverflowHook } from "../hooks/hooks.ts";
import { modelOfRun } from "../model/output.ts";
import { CapstanError, messageOf, toProblem } from "../words/errors.ts";
import type { Problem } from "../words/event.ts";
import { requestOfConversation } from "./build-request.ts";

/** `problem`: why the plugin that tried could not. */
export async function makeRoom(hold: Hold): Promise<{ readonly made: boolean; readonly problem?: Problem }> {
  const { run } = hold;
  const asked = hold.plugins.filter((plugin) => plugin.overflow !== undefined);
  // the turn before was the one for which room was made: no more will come of it
  if (asked.length === 0 || run.madeRoomAt === run.turns - 1) return { made: false };
  const { request } = await requestOfConversation(hold, await modelOfRun(hold));
  let problem: Problem | undefined;
  for (const plugin of asked) {
    try {
      await runOverflowHook(hold, plugin, request);
    } catch (error) {
      if (hold.stopping) throw error;
      if (CapstanError.is(error) && error.code !== "hook-failed") problem = toProblem(error);
      hold.notice("warning", "hook-failed", messageOf(error));
    }
    if (hold.state.run?.madeRoomAt === run.turns) return { made: true };
  }
  return { made: false, ...(problem !== undefined && { problem }) };
}
