/** What a chat completions server would refuse in a list of messages: roles, calls and results, content, reasoning. Pure. */

type Wire = { readonly [name: string]: unknown };

export type ChatHistoryRules = {
  /** The server knows `cache_control`. */
  readonly cacheControl?: boolean;
  /** The role of the system text. Default: both roles pass. */
  readonly systemRole?: "system" | "developer";
  /** The member in which reasoning is taken back; without it none is. */
  readonly reasoningBack?: "reasoning" | "reasoning_content" | "reasoning_details";
  /** Whether reasoning, as text or as whole details, was issued to the caller. */
  readonly isIssued?: (value: unknown) => boolean;
};

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content", "name"],
  developer: ["role", "content", "name"],
  user: ["role", "content", "name"],
  assistant: ["role", "content", "name", "refusal", "tool_calls"],
  tool: ["role", "content", "tool_call_id"],
};
const PARTS: Readonly<Record<string, readonly string[]>> = {
  text: ["type", "text", "cache_control"],
  image_url: ["type", "image_url", "cache_control"],
  file: ["type", "file", "cache_control"],
};
const IMAGE = /^(https?:\/\/\S+|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2})$/;
const PDF = /^data:application\/pdf;base64,[A-Za-z0-9+/]+={0,2}$/;
const MAX_ID = 64;

/** Problems in the order of the messages; none for a list that the server accepts. */
export function checkOpenAIChatHistory(messages: unknown, rules: ChatHistoryRules = {}): string[] {
  if (!Array.isArray(messages) || messages.length === 0) return ["messages: must be a list that is not empty"];
  const problems: string[] = [];
  const list = messages.map(asObject);
  for (const [at, message] of list.entries()) checkMessage(message, at, rules, problems);
  checkCalls(list, problems);
  if (list.every(({ role }) => role === "system" || role === "developer")) problems.push("messages: nobody asks");
  return problems;
}

function checkMessage(message: Wire, at: number, rules: ChatHistoryRules, problems: string[]): void {
  const role = String(message["role"]);
  const where = `messages.${at} (${role})`;
  const fields = FIELDS[role];
  if (fields === undefined) return void problems.push(`${where}: unknown role`);
  const back = rules.reasoningBack;
  const also =
    role !== "assistant" || back === undefined ? [] : back === "reasoning_details" ? [back, "reasoning"] : [back];
  for (const name of Object.keys(message)) {
    if (![...fields, ...also].includes(name)) problems.push(`${where}.${name}: unknown field`);
  }
  const isSystem = role === "system" || role === "developer";
  if (isSystem && at > 0) problems.push(`${where}: must come first`);
  if (isSystem && rules.systemRole !== undefined && role !== rules.systemRole)
    problems.push(`${where}: the role here is ${rules.systemRole}`);
  checkContent(message, role, where, problems);
  if (role === "assistant") {
    for (const name of also) checkReasoning(message[name], `${where}.${name}`, rules, problems);
    for (const call of listOf(message["tool_calls"])) checkCall(call, where, problems);
  }
}

function checkContent(message: Wire, role: string, where: string, problems: string[]): void {
  const { content } = message;
  if (role === "assistant" && (content === undefined || content === null)) {
    if (listOf(message["tool_calls"]).length === 0) problems.push(`${where}.content: missing`);
    return;
  }
  if (typeof content === "string") {
    if (content.trim() === "") problems.push(`${where}.content: must not be empty`);
    if (!content.isWellFormed()) problems.push(`${where}.content: holds a lone surrogate`);
    return;
  }
  if (!Array.isArray(content) || content.length === 0) {
    return void problems.push(`${where}.content: must be a string or parts`);
  }
  for (const part of content.map(asObject)) {
    if (part["type"] !== "text" && role !== "user") problems.push(`${where}: only texts`);
    checkPart(part, where, problems);
  }
}

function checkPart(part: Wire, where: string, problems: string[]): void {
  const type = String(part["type"]);
  const fields = PARTS[type];
  if (fields === undefined) return void problems.push(`${where}: unknown part ${type}`);
  for (const name of Object.keys(part))
    if (!fields.includes(name)) problems.push(`${where}.${type}.${name}: unknown field`);
  const { text } = part;
  if (type === "text" && (typeof text !== "string" || text.trim() === "" || !text.isWellFormed()))
    problems.push(`${where}: a text must hold more than white space`);
  if (type === "image_url" && !IMAGE.test(String(asObject(part["image_url"])["url"])))
    problems.push(`${where}: cannot read the image`);
  const { filename, file_data: data } = asObject(part["file"]);
  if (type === "file" && (typeof filename !== "string" || !PDF.test(String(data))))
    problems.push(`${where}: cannot read the file`);
}

function checkCall(call: Wire, where: string, problems: string[]): void {
  const { id, type, function: called } = call;
  const { name, arguments: input } = asObject(called);
  if (typeof id !== "string" || id === "" || id.length > MAX_ID)
    problems.push(`${where}: the id of a call has 1 to ${MAX_ID} characters`);
  if (type !== "function") problems.push(`${where}: the type of a call is function`);
  if (typeof name !== "string" || name === "") problems.push(`${where}: a call has a name`);
  if (!isObjectText(input)) problems.push(`${where}: the arguments of a call are the text of an object`);
}

function checkReasoning(value: unknown, where: string, rules: ChatHistoryRules, problems: string[]): void {
  if (value === undefined || value === "") return;
  if (rules.isIssued !== undefined && !rules.isIssued(value)) problems.push(`${where}: was modified or never issued`);
}

/** Every call is answered right behind its message, once, and no other result stands anywhere. */
function checkCalls(messages: readonly Wire[], problems: string[]): void {
  const seen = new Set<string>();
  let open: string[] = [];
  for (const [at, message] of messages.entries()) {
    const where = `messages.${at}`;
    if (message["role"] === "tool") {
      const id = String(message["tool_call_id"]);
      if (!open.includes(id)) problems.push(`${where}: a result of ${id}, which is not awaited`);
      open = open.filter((other) => other !== id);
      continue;
    }
    if (open.length > 0) problems.push(`${where}: no result of ${open.join(", ")}`);
    open = listOf(message["tool_calls"]).map((call) => String(call["id"]));
    for (const id of open) {
      if (seen.has(id)) problems.push(`${where}: the id ${id} was used before`);
      seen.add(id);
    }
  }
  if (open.length > 0) problems.push(`messages: no result of ${open.join(", ")}`);
}

function isObjectText(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof text === "string" && typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function listOf(value: unknown): readonly Wire[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

function asObject(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
