/** What the strictest providers behind the AI SDK would refuse in a prompt (`LanguageModelV2Prompt` to `V4Prompt`). Pure. */

type Wire = { readonly [name: string]: unknown };

/** Whether the provider gave out this state. */
export type IssuedAiState = (providerOptions: unknown) => boolean;

const PARTS: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "file"],
  assistant: ["text", "file", "reasoning", "tool-call", "tool-result", "custom", "reasoning-file"],
  tool: ["tool-result", "tool-approval-response"],
};
const OUTPUTS: readonly string[] = ["text", "json", "error-text", "error-json", "content", "execution-denied"];
const MEDIA_TYPE = /^[a-z]+\/[\w.+*-]+$/;

/** Problems in the order of the messages; none for a prompt that a provider accepts. Without `isIssued`, reasoning is not compared. */
export function checkAiPrompt(prompt: unknown, isIssued?: IssuedAiState): string[] {
  if (!Array.isArray(prompt) || prompt.length === 0) return ["prompt: must be a list that is not empty"];
  const problems: string[] = [];
  const messages = prompt.map(asObject);
  const said = messages.filter(({ role }) => role !== "system");
  if (said[0]?.["role"] !== "user") problems.push("prompt: the first message must be the user's");
  if (messages.findLastIndex(({ role }) => role === "system") > 0)
    problems.push("prompt: system text only comes first");
  for (const [at, message] of messages.entries()) checkMessage(message, `prompt.${at}`, problems, isIssued);
  checkCalls(messages, problems);
  return problems;
}

function checkMessage({ role, content }: Wire, where: string, problems: string[], isIssued?: IssuedAiState): void {
  if (role === "system") {
    if (typeof content !== "string" || content.trim() === "") problems.push(`${where}: system text must be a text`);
    return;
  }
  const allowed = PARTS[String(role)];
  if (allowed === undefined) return void problems.push(`${where}.role: ${String(role)} is not known`);
  const parts = listOf(content);
  if (parts.length === 0) problems.push(`${where}.content: must not be empty`);
  if (parts.at(-1)?.["type"] === "reasoning") problems.push(`${where}: the last block must not be reasoning`);
  for (const part of parts) {
    const place = `${where} (${String(role)}, ${String(part["type"])})`;
    if (!allowed.includes(String(part["type"]))) problems.push(`${place}: not in this message`);
    else checkPart(part, place, problems, isIssued);
  }
}

function checkPart(part: Wire, where: string, problems: string[], isIssued: IssuedAiState | undefined): void {
  const { text, providerOptions, mediaType } = part;
  switch (part["type"]) {
    case "reasoning":
      if (isIssued?.(providerOptions) === false) problems.push(`${where}: was never given out`);
      if (typeof text !== "string") problems.push(`${where}.text: missing`);
      return;
    case "text":
      if (typeof text !== "string" || !text.isWellFormed()) problems.push(`${where}.text: must be well-formed`);
      else if (text.trim() === "" && providerOptions === undefined) problems.push(`${where}.text: must not be empty`);
      return;
    case "file":
      if (!MEDIA_TYPE.test(String(mediaType))) problems.push(`${where}.mediaType: missing`);
      if (part["data"] === undefined) problems.push(`${where}.data: missing`);
      return;
    case "tool-call":
    case "tool-result":
      return checkNames(part, where, problems);
    default:
  }
}

function checkNames(part: Wire, where: string, problems: string[]): void {
  for (const name of ["toolCallId", "toolName"])
    if (typeof part[name] !== "string" || part[name] === "") problems.push(`${where}.${name}: missing`);
  if (part["type"] === "tool-call") {
    if (typeof part["input"] !== "object" || part["input"] === null) problems.push(`${where}.input: must be an object`);
    return;
  }
  const { type, value } = asObject(part["output"]);
  if (!OUTPUTS.includes(String(type))) problems.push(`${where}.output: ${String(type)} is not known`);
  if (String(type).endsWith("text") && (typeof value !== "string" || !value.isWellFormed()))
    problems.push(`${where}.output: must be a well-formed text`);
}

/** Every call is answered once, in the message right behind it; no other result stands anywhere. */
function checkCalls(messages: readonly Wire[], problems: string[]): void {
  const seen = new Set<string>();
  let open: readonly string[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    const parts = listOf(content);
    const results = role === "tool" ? parts.flatMap((part) => idsOf(part, "tool-result")) : [];
    if (open.toSorted().join() !== results.toSorted().join())
      problems.push(`prompt.${at}: calls [${open.join()}], answered [${results.join()}]`);
    open = role === "assistant" ? parts.flatMap((part) => idsOf(part, "tool-call")) : [];
    for (const id of open) {
      if (seen.has(id)) problems.push(`prompt.${at}: the id ${id} was used before`);
      seen.add(id);
    }
  }
  if (open.length > 0) problems.push(`prompt: no result of ${open.join(", ")}`);
}

/** Those of the provider's own tools are its own affair. */
function idsOf(part: Wire, type: "tool-call" | "tool-result"): readonly string[] {
  return part["type"] === type && part["providerExecuted"] !== true ? [String(part["toolCallId"])] : [];
}

function listOf(value: unknown): readonly Wire[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

function asObject(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
