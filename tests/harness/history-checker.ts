/** What every provider demands of a history, and what an interrupt may not break. */

import { conversation, INTERRUPT_MARKER, type Fact, type Message } from "@capstan/core";

/** Problems of the conversation that these facts make, each in one line; none when it is sound. */
export function historyProblems(facts: readonly Fact[]): readonly string[] {
  const said = conversation();
  for (const fact of facts) said.apply(fact);
  return [...messageProblems(said.messages), ...markerProblems(facts, said.messages)];
}

/** Each call is answered exactly once, in the very next message and in order; nothing is empty; a person speaks first. */
export function messageProblems(messages: readonly Message[]): readonly string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  if (messages[0] !== undefined && messages[0].role !== "user") problems.push("the first message is not a user's");
  for (const [index, message] of messages.entries()) {
    const where = `message ${index} (${message.role})`;
    if (ids.has(message.id)) problems.push(`${where} has the id of another`);
    ids.add(message.id);
    if (message.parts.length === 0) problems.push(`${where} is empty`);
    if (message.parts.some((part) => part.type === "text" && part.text === ""))
      problems.push(`${where} has an empty text`);
    const calls = message.parts.flatMap((part) =>
      part.type === "tool-call" && part.by !== "provider" ? [part.callId] : [],
    );
    if (message.role !== "assistant" && calls.length > 0) problems.push(`${where} has calls`);
    const next = messages[index + 1]?.parts ?? [];
    const results = next.flatMap((part) => (part.type === "tool-result" ? [part.callId] : []));
    if (calls.join() !== results.join())
      problems.push(`${where} calls [${calls.join()}], answered [${results.join()}]`);
  }
  return problems;
}

/** A run that a person interrupted after its input was heard has the marker at the end of its last message, exactly once. */
function markerProblems(facts: readonly Fact[], messages: readonly Message[]): readonly string[] {
  return facts.flatMap((fact) => {
    if (fact.type !== "run.finished" || fact.reason !== "interrupted") return [];
    if (!facts.some((other) => other.type === "message.added" && other.runId === fact.runId)) return [];
    const own = messages.filter(({ id, role }) => role === "assistant" && id.startsWith(fact.runId ?? ""));
    const marked = own.flatMap(({ parts }) =>
      parts.filter((part) => part.type === "text" && part.text.includes(INTERRUPT_MARKER)),
    );
    const last = own.at(-1)?.parts.at(-1);
    const atEnd = last?.type === "text" && last.text === INTERRUPT_MARKER;
    return marked.length === 1 && atEnd
      ? []
      : [`run ${fact.runId} has ${marked.length} interrupt markers, at its end: ${atEnd}`];
  });
}
