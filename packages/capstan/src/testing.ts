/** capstan/testing: what tests of agents, tools, models and stores need. Free of any test runner. */

export {
  crashingStore,
  crashSweep,
  fakeClock,
  fixedIds,
  modelContract,
  scriptedModel,
  storeContract,
  testRuntime,
  transcript,
  transcriptOf,
  workspaceContract,
} from "@capstan/core/testing";
export type {
  ContractCase,
  ContractModel,
  ContractReply,
  CrashingStore,
  CrashPoint,
  CrashSweepOptions,
  CrashSweepReport,
  FakeClock,
  ModelFixture,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptedReply,
  ScriptedTurn,
  StoreFixture,
  TestRuntime,
  TestRuntimeOptions,
  WorkspaceFixture,
} from "@capstan/core/testing";
