/** @capstan/core/testing: what a user's tests of agents, tools, stores and models need. Free of any test runner. */

export { expectCacheStable } from "./cache-stable.ts";
export { crashSweep, type CrashSweepOptions, type CrashSweepReport, type OpenSweptStore } from "./crash-sweep.ts";
export { crashingStore, type CrashingStore, type CrashPoint } from "./crashing-store.ts";
export { readDataset, type EvalItem } from "./dataset.ts";
export { driftText, type Drift } from "./drift.ts";
export { agentTask, evalText, evaluate, evaluation } from "./evaluate.ts";
export type {
  EvalAnswer,
  EvalReport,
  EvalTask,
  EvaluateOptions,
  Evaluation,
  EvaluationDefinition,
  ItemReport,
  ScorerReport,
  Threshold,
} from "./evaluate.ts";
export { fakeClock, type FakeClock } from "./fake-clock.ts";
export { fixedIds } from "./fixed-ids.ts";
export { modelContract, type ContractModel, type ContractReply, type ModelFixture } from "./model-contract.ts";
export { recordRuns, type Recorder } from "./record-runs.ts";
export { parseRecording, readRecording, writeRecording } from "./recording.ts";
export type { RecordedCall, RecordedExchange, RecordedMessage, RecordedSession, Recording } from "./recording.ts";
export { replayRun, type ReplayOptions, type ReplayReport } from "./replay-run.ts";
export { contains, exact, fitsSchema, jsonMatch, modelJudge } from "./scorers.ts";
export type { JudgeOptions, Sample, Score, Scorer } from "./scorers.ts";
export { scriptedModel } from "./scripted-model.ts";
export type { ScriptedModel, ScriptedModelOptions, ScriptedReply, ScriptedTurn } from "./scripted-model.ts";
export { storeContract, type ContractCase, type StoreFixture } from "./store-contract.ts";
export { testRuntime, type TestRuntime, type TestRuntimeOptions } from "./test-runtime.ts";
export { transcript, transcriptOf } from "./transcript.ts";
export { workspaceContract, type WorkspaceFixture } from "./workspace-contract.ts";
