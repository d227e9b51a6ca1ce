import { join } from "node:path";
import { workspaceContract } from "@capstan/core/testing";
import { describe, it, vi } from "vitest";
import { temporaryWorkspace } from "../temporary-workspace.ts";
import { bwrap } from "./bwrap.ts";
import { missingHere, suiteName } from "./sandbox-here.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // processes take their time on a busy machine

const missing = await missingHere(bwrap());

describe.skipIf(missing !== undefined)(suiteName("PERM-17 a workspace in bwrap", missing), () => {
  // the contract looks from inside whether what lies beside was touched
  const confine = (root: string) => bwrap({ readable: [join(root, "../work-evil")] }).open(root);
  for (const { name, run } of workspaceContract(() => temporaryWorkspace({ confine }))) it(name, run);
});
