/** What the Messages API would refuse in a list of messages: tool calls and results, empty text, thinking, roles. Pure. */

/** Whether thinking of this text and signature, or redacted data, was issued to the caller. */
export type IssuedThinking = (
  block: { readonly thinking: string; readonly signature: string } | { readonly data: string },
) => boolean;

type Wire = { readonly [name: string]: unknown };
type Group = { readonly role: string; readonly blocks: readonly Wire[]; readonly at: number };

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ["type", "text", "citations", "cache_control"],
  image: ["type", "source", "cache_control"],
  document: ["type", "source", "title", "context", "citations", "cache_control"],
  tool_use: ["type", "id", "name", "input", "caller", "toolset_name", "cache_control"],
  tool_result: ["type", "tool_use_id", "content", "is_error", "cache_control"],
  thinking: ["type", "thinking", "signature"],
  redacted_thinking: ["type", "data"],
};
const ROLE_OF: Readonly<Record<string, string>> = {
  image: "user",
  document: "user",
  tool_result: "user",
  tool_use: "assistant",
  thinking: "assistant",
  redacted_thinking: "assistant",
};
/** Blocks of server tools and betas: taken from the assistant, not looked into. */
const SERVER_BLOCK =
  /^(server_tool_use|mcp_tool_use|compaction|container_upload|fallback|search_result|.+_tool_result)$/;
const WIRE_ID = /^[a-zA-Z0-9_-]+$/;

/** Problems in the order of the messages; none for a list that the API accepts. */
export function checkAnthropicHistory(messages: unknown, issued?: IssuedThinking): string[] {
  if (!Array.isArray(messages) || messages.length === 0) return ["messages: must be a list that is not empty"];
  const problems: string[] = [];
  const groups = groupsOf(messages, problems);
  if (groups[0] !== undefined && groups[0].role !== "user")
    problems.push("messages.0: the first message must be the user's");
  for (const group of groups) {
    for (const block of group.blocks) checkBlock(block, group, problems, issued);
    checkEnd(group, group === groups.at(-1), problems);
  }
  checkCalls(groups, problems);
  return problems;
}

/** Consecutive messages of one role count as one, as the API has it. */
function groupsOf(messages: readonly unknown[], problems: string[]): readonly Group[] {
  const groups: (Group & { readonly blocks: Wire[] })[] = [];
  for (const [at, message] of messages.entries()) {
    const { role, content, ...rest } = asObject(message);
    const where = `messages.${at}`;
    for (const name of Object.keys(rest)) problems.push(`${where}.${name}: unknown field`);
    if (role !== "user" && role !== "assistant") problems.push(`${where}.role: must be user or assistant`);
    const blocks = blocksOf(content, where, problems);
    const last = groups.at(-1);
    if (last !== undefined && last.role === role) last.blocks.push(...blocks);
    else groups.push({ role: String(role), blocks: [...blocks], at });
  }
  return groups;
}

function blocksOf(content: unknown, where: string, problems: string[]): readonly Wire[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (Array.isArray(content) && content.length > 0) return content.map(asObject);
  problems.push(`${where}.content: must not be empty`);
  return [];
}

function checkBlock(block: Wire, group: Group, problems: string[], issued: IssuedThinking | undefined): void {
  const type = String(block["type"]);
  const where = `messages.${group.at} (${type})`;
  const fields = FIELDS[type];
  if (fields === undefined) {
    if (!SERVER_BLOCK.test(type) || group.role !== "assistant") problems.push(`${where}: unknown block`);
    return;
  }
  for (const name of Object.keys(block)) if (!fields.includes(name)) problems.push(`${where}.${name}: unknown field`);
  const role = ROLE_OF[type];
  if (role !== undefined && role !== group.role) problems.push(`${where}: only in messages of role ${role}`);
  if (type === "text") checkText(block, where, problems);
  if (type === "image" || type === "document") checkSource(block, where, problems);
  if (type === "tool_result") checkResult(block, where, problems);
  if (type === "tool_use") checkUse(block, where, problems);
  if (type === "thinking" || type === "redacted_thinking") checkThinking(block, where, problems, issued);
}

function checkText(block: Wire, where: string, problems: string[]): void {
  const { text } = block;
  if (typeof text !== "string") problems.push(`${where}.text: must be a string`);
  else if (text.trim() === "") problems.push(`${where}.text: must hold more than white space`);
  else if (!text.isWellFormed()) problems.push(`${where}.text: holds a lone surrogate`);
}

function checkSource(block: Wire, where: string, problems: string[]): void {
  const source = asObject(block["source"]);
  const { type, data, url, media_type: mediaType } = source;
  const images = ["image/jpeg", "image/png", "image/gif", "image/webp"];
  const allowed = block["type"] === "image" ? images : ["application/pdf"];
  if (type === "url") {
    if (!/^https?:/.test(String(url))) problems.push(`${where}.source.url: must be http or https`);
  } else if (type === "base64") {
    if (!allowed.includes(String(mediaType))) problems.push(`${where}.source.media_type: not ${String(mediaType)}`);
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(String(data))) problems.push(`${where}.source.data: must be base64`);
  } else if (type !== "text" || block["type"] !== "document" || String(data).trim() === "") {
    problems.push(`${where}.source: cannot be read`);
  }
}

function checkUse(block: Wire, where: string, problems: string[]): void {
  const { id, name, input } = block;
  if (typeof id !== "string" || !WIRE_ID.test(id)) problems.push(`${where}.id: must match ${WIRE_ID.source}`);
  if (typeof name !== "string" || name === "") problems.push(`${where}.name: must not be empty`);
  if (typeof input !== "object" || input === null || Array.isArray(input))
    problems.push(`${where}.input: must be an object`);
}

function checkResult(block: Wire, where: string, problems: string[]): void {
  const { content } = block;
  if (content === undefined || typeof content === "string") return;
  if (!Array.isArray(content)) return void problems.push(`${where}.content: must be a string or blocks`);
  for (const item of content.map(asObject)) {
    if (item["type"] === "text") checkText(item, `${where}.content`, problems);
    else if (item["type"] === "image" || item["type"] === "document") checkSource(item, `${where}.content`, problems);
    else problems.push(`${where}.content: a result cannot hold ${String(item["type"])}`);
  }
}

function checkThinking(block: Wire, where: string, problems: string[], issued: IssuedThinking | undefined): void {
  const { thinking, signature, data } = block;
  const whole =
    block["type"] === "thinking"
      ? typeof thinking === "string" && typeof signature === "string"
      : typeof data === "string";
  if (!whole) return void problems.push(`${where}: not whole`);
  const known =
    block["type"] === "thinking"
      ? { thinking: String(thinking), signature: String(signature) }
      : { data: String(data) };
  if (issued !== undefined && !issued(known)) problems.push(`${where}: was modified or issued to somebody else`);
}

function checkEnd(group: Group, isLast: boolean, problems: string[]): void {
  const last = group.blocks.at(-1);
  if (group.role !== "assistant" || last === undefined) return;
  const where = `messages.${group.at}`;
  if (String(last["type"]).endsWith("thinking")) problems.push(`${where}: the final block cannot be thinking`);
  const { text } = last;
  if (isLast && typeof text === "string" && text !== text.trimEnd()) problems.push(`${where}: ends with white space`);
}

/** Every call is answered in the next message, once, before anything else; no other result stands there. */
function checkCalls(groups: readonly Group[], problems: string[]): void {
  const seen = new Set<string>();
  for (const [index, group] of groups.entries()) {
    const where = `messages.${group.at}`;
    const calls = index > 0 ? idsOf(groups[index - 1], "tool_use", "id") : [];
    const results = idsOf(group, "tool_result", "tool_use_id");
    for (const id of results)
      if (!calls.includes(id)) problems.push(`${where}: a result of ${id}, which the message before did not call`);
    for (const id of new Set(results)) {
      if (results.filter((other) => other === id).length > 1) problems.push(`${where}: more than one result of ${id}`);
    }
    for (const id of calls) if (!results.includes(id)) problems.push(`${where}: no result of ${id}`);
    const other = group.blocks.findIndex((block) => block["type"] !== "tool_result");
    const lastResult = group.blocks.findLastIndex((block) => block["type"] === "tool_result");
    if (other !== -1 && other < lastResult) problems.push(`${where}: results must come before other content`);
    for (const id of idsOf(group, "tool_use", "id")) {
      if (seen.has(id)) problems.push(`${where}: the id ${id} was used before`);
      seen.add(id);
    }
  }
  const open = idsOf(groups.at(-1), "tool_use", "id");
  if (open.length > 0) problems.push(`messages: the last message leaves ${open.join(", ")} without a result`);
}

function idsOf(group: Group | undefined, type: string, name: string): readonly string[] {
  return (group?.blocks ?? []).filter((block) => block["type"] === type).map((block) => String(block[name]));
}

function asObject(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
