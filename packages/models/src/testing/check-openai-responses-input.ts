/** What the Responses API would refuse in a stateless list of input items: calls, outputs, reasoning, contents. Pure. */

/** Items that were given out, by their id, as they were given out. */
export type IssuedItems = ReadonlyMap<string, IssuedItem>;
export type IssuedItem = {
  readonly json: string;
  /** Id of the reasoning that stood right before it. */
  readonly after?: string;
};

type Wire = { readonly [name: string]: unknown };

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  message: ["type", "role", "content", "phase", "id", "status"],
  reasoning: ["type", "id", "summary", "content", "encrypted_content"],
  function_call: ["type", "id", "call_id", "name", "arguments", "namespace", "caller", "async", "status"],
  function_call_output: ["type", "call_id", "output", "id", "status"],
};
const CONTENT_OF: Readonly<Record<string, readonly string[]>> = {
  user: ["input_text", "input_image", "input_file"],
  system: ["input_text"],
  developer: ["input_text"],
  assistant: ["output_text", "refusal"],
};
const OUTPUT_CONTENT = ["input_text", "input_image", "input_file"];
/** Items of server tools: taken as they were given out. */
const SERVER_ITEM =
  /^(web_search|file_search|code_interpreter|mcp|image_generation|computer|local_shell|custom_tool)_call$/;
const CALL_ID = /^[^\s]{1,64}$/;
const IMAGE_URL = /^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$)/;
const FILE_DATA = /^data:[a-z]+\/[\w.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/;

/** Problems in the order of the items; none for a list that the API accepts. Without `issued`, reasoning is not compared. */
export function checkOpenAIInput(input: unknown, issued?: IssuedItems): string[] {
  if (!Array.isArray(input) || input.length === 0) return ["input: must be a list that is not empty"];
  const problems: string[] = [];
  const items = input.map(asObject);
  for (const [at, item] of items.entries()) checkItem(item, `input.${at}`, problems, issued);
  checkCalls(items, problems);
  for (const [at, item] of items.entries()) checkOrder(item, items[at + 1], items.slice(0, at), problems, issued);
  return problems;
}

function checkItem(item: Wire, where: string, problems: string[], issued: IssuedItems | undefined): void {
  const type = String(item["type"]);
  const known = FIELDS[type];
  if (known === undefined) {
    const given = issued?.get(String(item["id"]))?.json;
    if (!SERVER_ITEM.test(type)) problems.push(`${where}.type: ${type} is not known`);
    else if (issued !== undefined && given !== JSON.stringify(item)) problems.push(`${where}: was never given out`);
    return;
  }
  for (const name of Object.keys(item)) if (!known.includes(name)) problems.push(`${where}.${name}: unknown field`);
  if (type === "message") checkMessage(item, where, problems);
  else if (type === "reasoning") checkReasoning(item, where, problems, issued);
  else if (type === "function_call") checkCall(item, where, problems);
  else checkOutput(item, where, problems);
}

function checkMessage({ role, content, phase, id }: Wire, where: string, problems: string[]): void {
  const allowed = CONTENT_OF[String(role)];
  if (allowed === undefined) return void problems.push(`${where}.role: ${String(role)} is not known`);
  if (phase !== undefined && (role !== "assistant" || !["commentary", "final_answer"].some((known) => known === phase)))
    problems.push(`${where}.phase: not known`);
  if (!isId(id, "msg")) problems.push(`${where}.id: must begin with msg`);
  checkContent(content, allowed, where, problems);
}

function checkContent(content: unknown, allowed: readonly string[], where: string, problems: string[]): void {
  if (!Array.isArray(content) || content.length === 0) return void problems.push(`${where}.content: must not be empty`);
  for (const part of content.map(asObject)) {
    const { type, text, image_url: image, file_data: data, file_url: url, filename } = part;
    const place = `${where} (${String(type)})`;
    if (!allowed.includes(String(type))) problems.push(`${place}: not in this item`);
    else if (type === "input_image") {
      if (!IMAGE_URL.test(String(image))) problems.push(`${place}.image_url: must be a URL or the data of an image`);
    } else if (type === "input_file") {
      if (url === undefined && !FILE_DATA.test(String(data))) problems.push(`${place}.file_data: must be a data URL`);
      if (data !== undefined && typeof filename !== "string") problems.push(`${place}.filename: missing`);
    } else if (typeof text !== "string" || text === "") problems.push(`${place}.text: must not be empty`);
    else if (!text.isWellFormed()) problems.push(`${place}.text: holds a lone surrogate`);
  }
}

function checkReasoning(item: Wire, where: string, problems: string[], issued: IssuedItems | undefined): void {
  const { id, summary, encrypted_content: encrypted, content } = item;
  if (typeof id !== "string" || !id.startsWith("rs")) problems.push(`${where}.id: must begin with rs`);
  if (!Array.isArray(summary)) problems.push(`${where}.summary: missing`);
  if (encrypted === undefined && content === undefined)
    problems.push(`${where}: Item with id ${String(id)} not found. Items are not persisted when store is set to false`);
  if (issued !== undefined && issued.get(String(id))?.json !== JSON.stringify(item))
    problems.push(`${where}: was modified or given out to somebody else`);
}

function checkCall({ call_id: callId, name, arguments: given, id }: Wire, where: string, problems: string[]): void {
  if (typeof callId !== "string" || !CALL_ID.test(callId)) problems.push(`${where}.call_id: cannot be used`);
  if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name)) problems.push(`${where}.name: cannot be used`);
  if (!isId(id, "fc")) problems.push(`${where}.id: must begin with fc`);
  try {
    if (typeof given !== "string" || typeof JSON.parse(given) !== "object")
      problems.push(`${where}.arguments: not JSON`);
  } catch {
    problems.push(`${where}.arguments: not JSON`);
  }
}

function checkOutput({ output }: Wire, where: string, problems: string[]): void {
  if (typeof output !== "string") checkContent(output, OUTPUT_CONTENT, where, problems);
  else if (!output.isWellFormed()) problems.push(`${where}.output: holds a lone surrogate`);
}

/** Every call is answered once, after it and before anybody else speaks. */
function checkCalls(items: readonly Wire[], problems: string[]): void {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const [at, { type, role, call_id: given }] of items.entries()) {
    const callId = String(given);
    if (type === "function_call") {
      if (seen.has(callId)) problems.push(`input.${at}: the call_id ${callId} was used before`);
      seen.add(callId);
      open.add(callId);
    } else if (type === "function_call_output") {
      if (!open.delete(callId)) problems.push(`input.${at}: No tool call found for function call output ${callId}`);
    } else if (role === "user" && open.size > 0) {
      problems.push(`input.${at}: No tool output found for function call ${[...open].join(", ")}`);
      open.clear();
    }
  }
  if (open.size > 0) problems.push(`input: No tool output found for function call ${[...open].join(", ")}`);
}

function checkOrder(
  item: Wire,
  next: Wire | undefined,
  before: readonly Wire[],
  problems: string[],
  issued: IssuedItems | undefined,
): void {
  const id = String(item["id"]);
  const led = next !== undefined && next["role"] !== "user" && next["type"] !== "function_call_output";
  if (item["type"] === "reasoning" && !led)
    problems.push(`Item ${id} of type reasoning was provided without its required following item`);
  const after = item["id"] === undefined ? undefined : issued?.get(id)?.after;
  if (after !== undefined && !before.some((other) => other["id"] === after))
    problems.push(`Item ${id} was provided without its required reasoning item ${after}`);
}

function isId(id: unknown, prefix: string): boolean {
  return id === undefined || (typeof id === "string" && id.startsWith(prefix));
}

function asObject(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
