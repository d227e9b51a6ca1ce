/** Keeps what files hold before an agent changes them, and takes them back to a point of the conversation. */

export { checkpoints, type Checkpoints } from "./checkpoints.ts";
export {
  planRewind,
  type LeftFile,
  type LeftReason,
  type PlanOptions,
  type RewindFile,
  type RewindPlan,
} from "./plan-rewind.ts";
export { restoreFiles, type Restored, type RestoreOptions } from "./restore-files.ts";
