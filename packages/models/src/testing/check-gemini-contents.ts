/** What Gemini would refuse in the contents of a request: empty parts, calls without responses, signatures. Pure. */

export type GeminiChecks = {
  /** Models from Gemini 3 on refuse calls without a signature. */
  readonly model: string;
  /** Whether this signature was issued with this part; both without their ids. */
  readonly isIssued?: (signature: string, part: unknown) => boolean;
};

type Wire = { readonly [name: string]: unknown };
type Call = { readonly id: unknown; readonly name: unknown };

/** A part holds exactly one of these. */
const DATA: readonly string[] =
  `text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse`.split(
    " ",
  );
const BESIDE: readonly string[] = ["thought", "thoughtSignature", "mediaResolution", "videoMetadata", "partMetadata"];
/** Google's own words for calls that another model made. */
const ACCEPTED_ANYWHERE: readonly string[] = [
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
];

/** Problems in the order of the contents; none for a list that the API accepts. */
export function checkGeminiContents(contents: unknown, checks: GeminiChecks): string[] {
  if (!Array.isArray(contents) || contents.length === 0) return ["contents: must be a list that is not empty"];
  const problems: string[] = [];
  let before: readonly Call[] = [];
  let role = "";
  for (const [at, content] of contents.map(objectOf).entries()) {
    const where = `contents.${at}`;
    if (content["role"] !== "user" && content["role"] !== "model")
      problems.push(`${where}.role: must be user or model`);
    if (at === 0 && content["role"] !== "user") problems.push(`${where}: the first content must be the user's`);
    if (content["role"] === role) problems.push(`${where}: two contents of one role`);
    role = String(content["role"]);
    const parts = Array.isArray(content["parts"]) ? content["parts"].map(objectOf) : [];
    if (parts.length === 0) problems.push(`${where}.parts: must not be empty`);
    for (const part of parts) checkPart(part, where, role, problems, checks);
    checkResponses(before, parts, where, problems);
    before = callsOf(parts, "functionCall");
    checkSignatures(parts, where, problems, checks);
  }
  if (before.length > 0) problems.push("contents: the last calls have no responses");
  return problems;
}

function checkPart(part: Wire, where: string, role: string, problems: string[], checks: GeminiChecks): void {
  const data = DATA.filter((name) => part[name] !== undefined);
  if (data.length !== 1) problems.push(`${where}: a part must hold exactly one kind of data, not ${data.join(", ")}`);
  for (const name of Object.keys(part))
    if (!DATA.includes(name) && !BESIDE.includes(name)) problems.push(`${where}.${name}: unknown name`);
  const { text, inlineData, fileData, functionCall, functionResponse, thoughtSignature: signature } = part;
  if (text === "" && signature === undefined) problems.push(`${where}.text: must not be empty`);
  if (typeof text === "string" && !text.isWellFormed()) problems.push(`${where}.text: holds a lone surrogate`);
  if (inlineData !== undefined) checkBlob(objectOf(inlineData), where, problems);
  if (fileData !== undefined && typeof objectOf(fileData)["fileUri"] !== "string")
    problems.push(`${where}.fileData.fileUri: missing`);
  if (functionCall !== undefined && role !== "model") problems.push(`${where}: calls are the model's`);
  if (functionCall !== undefined && Object.keys(objectOf(objectOf(functionCall)["args"])).length === 0) {
    if (typeof objectOf(functionCall)["args"] !== "object")
      problems.push(`${where}.functionCall.args: must be an object`);
  }
  if (functionResponse !== undefined) checkResponse(objectOf(functionResponse), where, role, problems);
  if (typeof signature !== "string" || ACCEPTED_ANYWHERE.includes(signature)) return;
  const { thoughtSignature: _signature, ...rest } = part;
  if (checks.isIssued?.(signature, signedPart(rest)) === false)
    problems.push(`${where}.thoughtSignature: ${signature} was not issued with this part`);
}

/** What a signature is bound to. The id of a call is the caller's where the API gave none. */
export function signedPart(part: Wire): Wire {
  if (part["functionCall"] === undefined) return part;
  const { name, args = {} } = objectOf(part["functionCall"]);
  return { functionCall: { name, args } };
}

function checkBlob(blob: Wire, where: string, problems: string[]): void {
  if (!/^[a-z]+\/[\w.+-]+$/.test(String(blob["mimeType"]))) problems.push(`${where}.mimeType: missing`);
  if (blob["mimeType"] === "image/gif") problems.push(`${where}.mimeType: image/gif is not supported`);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(String(blob["data"]))) problems.push(`${where}.data: must be base64`);
}

function checkResponse(response: Wire, where: string, role: string, problems: string[]): void {
  if (role !== "user") problems.push(`${where}: function responses are the user's`);
  if (typeof response["response"] !== "object" || response["response"] === null)
    problems.push(`${where}.functionResponse.response: must be an object`);
  const { parts } = response;
  for (const part of Array.isArray(parts) ? parts.map(objectOf) : [])
    checkBlob(objectOf(part["inlineData"]), `${where}.functionResponse`, problems);
}

/** Every call is answered in the content right behind it, by name and, where both have one, by id. */
function checkResponses(calls: readonly Call[], parts: readonly Wire[], where: string, problems: string[]): void {
  const responses = callsOf(parts, "functionResponse");
  if (responses.length !== calls.length)
    problems.push(`${where}: ${responses.length} responses to ${calls.length} calls`);
  for (const call of calls) {
    const answers = responses.filter(({ id, name }) => name === call.name && (call.id === undefined || id === call.id));
    if (answers.length === 0) problems.push(`${where}: no response to ${String(call.name)} ${String(call.id)}`);
  }
}

function callsOf(parts: readonly Wire[], member: "functionCall" | "functionResponse"): readonly Call[] {
  return parts.flatMap((part) => {
    if (part[member] === undefined) return [];
    const { id, name } = objectOf(part[member]);
    return [{ id, name }];
  });
}

function checkSignatures(parts: readonly Wire[], where: string, problems: string[], { model }: GeminiChecks): void {
  const first = parts.find((part) => part["functionCall"] !== undefined);
  if (first === undefined || !/^gemini-[3-9]/.test(model)) return;
  if (typeof first["thoughtSignature"] !== "string")
    problems.push(`${where}: Function call is missing a thought_signature in functionCall parts`);
}

function objectOf(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
