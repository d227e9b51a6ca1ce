import { workspaceContract } from "@capstan/core/testing";
import { describe, it, vi } from "vitest";
import { temporaryWorkspace } from "../temporary-workspace.ts";
import { portableDescriptors, procDescriptors } from "./open-inside.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // processes take their time on a busy machine

describe.runIf(process.platform === "linux")("localWorkspace over /proc (PERM-18)", () => {
  for (const { name, run } of workspaceContract(() => temporaryWorkspace({ descriptors: procDescriptors })))
    it(name, run);
});

describe("localWorkspace over real paths (PERM-18)", () => {
  for (const { name, run } of workspaceContract(() => temporaryWorkspace({ descriptors: portableDescriptors })))
    it(name, run);
});
