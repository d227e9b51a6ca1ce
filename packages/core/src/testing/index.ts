/** @capstan/core/testing: what a user's tests of agents, tools, stores and models need. Free of any test runner. */

export { expectCacheStable } from "./cache-stable.ts";
export { crashSweep, type CrashSweepOptions, type CrashSweepReport, type OpenSweptStore } from "./crash-sweep.ts";
export { crashingStore, type CrashingStore, type CrashPoint } from "./crashing-store.ts";
export { fakeClock, type FakeClock } from "./fake-clock.ts";
export { fixedIds } from "./fixed-ids.ts";
export { modelContract, type ContractModel, type ContractReply, type ModelFixture } from "./model-contract.ts";
export { scriptedModel } from "./scripted-model.ts";
export type { ScriptedModel, ScriptedModelOptions, ScriptedReply, ScriptedTurn } from "./scripted-model.ts";
export { storeContract, type ContractCase, type StoreFixture } from "./store-contract.ts";
export { testRuntime, type TestRuntime, type TestRuntimeOptions } from "./test-runtime.ts";
export { transcript, transcriptOf } from "./transcript.ts";
export { workspaceContract, type WorkspaceFixture } from "./workspace-contract.ts";
