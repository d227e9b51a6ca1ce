/**
 * Names of the OpenTelemetry conventions for generative AI (1.45, incubating; `gen_ai.invoke_agent.*` and
 * `gen_ai.execute_tool.*` metrics are of the repository semantic-conventions-genai), and Capstan's own beside them.
 */

/** Attributes of spans and metrics. */
export const ATTRIBUTE = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agentId: "gen_ai.agent.id",
  agentName: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  requestModel: "gen_ai.request.model",
  requestStream: "gen_ai.request.stream",
  maxTokens: "gen_ai.request.max_tokens",
  temperature: "gen_ai.request.temperature",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  finishReasons: "gen_ai.response.finish_reasons",
  firstChunk: "gen_ai.response.time_to_first_chunk",
  /** All of the prompt, cached or not. */
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheRead: "gen_ai.usage.cache_read.input_tokens",
  cacheCreation: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  tokenType: "gen_ai.token.type",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  toolType: "gen_ai.tool.type",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  toolDefinitions: "gen_ai.tool.definitions",
  systemInstructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  mcpMethod: "mcp.method.name",
  errorType: "error.type",
  runId: "capstan.run.id",
  runTrigger: "capstan.run.trigger",
  runReason: "capstan.run.reason",
  runTurns: "capstan.run.turns",
  turn: "capstan.turn",
  attempt: "capstan.attempt",
  prefix: "capstan.prefix.hash",
  /** US dollars. */
  cost: "capstan.usage.cost",
  toolKind: "capstan.tool.kind",
  toolStatus: "capstan.tool.status",
  toolServer: "capstan.tool.server",
  confinement: "capstan.tool.confinement",
  decidedBy: "capstan.tool.decided_by",
  requestId: "capstan.request.id",
  requestType: "capstan.request.type",
  requestAllowed: "capstan.request.allowed",
  resumedBy: "capstan.run.resumed_by",
  /** Why a span ended before what it stands for: "suspended" or "closed". */
  cut: "capstan.span.cut",
} as const;

export const OPERATION = { chat: "chat", agent: "invoke_agent", tool: "execute_tool" } as const;

export const METRIC = {
  tokens: "gen_ai.client.token.usage",
  modelDuration: "gen_ai.client.operation.duration",
  firstChunk: "gen_ai.client.operation.time_to_first_chunk",
  agentDuration: "gen_ai.invoke_agent.duration",
  inferenceCalls: "gen_ai.invoke_agent.inference_calls",
  toolCalls: "gen_ai.invoke_agent.tool_calls",
  toolDuration: "gen_ai.execute_tool.duration",
  cost: "capstan.usage.cost",
  requestWait: "capstan.request.wait",
} as const;

/** Well-known names of providers where Capstan's differ. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["openai-chat", "openai"],
  ["gemini", "gcp.gemini"],
  ["google", "gcp.gemini"],
  ["vertex", "gcp.vertex_ai"],
  ["bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
]);

/** A model id `provider/name` as the conventions name both. */
export function modelNames(id: string): { readonly provider: string; readonly model: string } {
  const at = id.indexOf("/");
  if (at === -1) return { provider: "_OTHER", model: id };
  const provider = id.slice(0, at);
  return { provider: PROVIDERS.get(provider) ?? provider, model: id.slice(at + 1) };
}
