/** The workspace of a session, as its hold opens it. */

import type { Workspace } from "../ports/workspace.ts";
import { CapstanError } from "../words/errors.ts";
import type { Hold } from "./hold.ts";
import { within } from "./within.ts";

/** `undefined` when the session has none. */
export function openWorkspace(hold: Hold): Promise<Workspace> | undefined {
  const { workspace } = hold.state;
  return workspace && within(hold, "Opening the workspace", hold.definitions.workspace(workspace));
}

export function workspaceMissing({ state }: Hold): CapstanError {
  const message = `Session ${state.sessionId} has no workspace; open it with { workspace: "/a/folder" }`;
  return new CapstanError("workspace-missing", message);
}
