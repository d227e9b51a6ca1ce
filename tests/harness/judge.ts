/** Reads ledger, facts and acknowledgements after kills, and says what does not fit together. */

import type { Fact, FactOf } from "@capstan/core";
import type { Acknowledged, Answered, Client } from "./client.ts";
import { historyProblems } from "./history-checker.ts";
import type { Line } from "./outside.ts";
import { planOf } from "./scene.ts";

export type Verdict = {
  readonly problems: readonly string[];
  readonly inputs: number;
  readonly effects: number;
  readonly holds: number;
  readonly doubts: number;
  readonly asks: number;
  readonly answers: number;
  readonly facts: number;
};
type Log = { readonly sessionId: string; readonly key: string; readonly facts: readonly Fact[] };
type Case = { readonly logs: readonly Log[]; readonly all: readonly Fact[]; readonly lines: readonly Line[] };

export async function judge(client: Client): Promise<Verdict> {
  const logs = await client.logs();
  const all = logs.flatMap(({ facts }) => facts);
  const lines = client.world.lines();
  const found: Case = { logs, all, lines };
  const problems = [
    ...logs.flatMap(logProblems),
    ...inputProblems(found, client.acknowledged),
    ...orderProblems(found, client.acknowledged),
    ...effectProblems(found),
    ...modelProblems(found),
    ...requestProblems(found, client.answered),
    ...doubtProblems(found),
  ];
  const count = (type: Fact["type"]): number => all.filter((fact) => fact.type === type).length;
  return {
    problems,
    inputs: client.acknowledged.length,
    effects: lines.filter(({ what }) => what === "effect").length,
    holds: count("run.resumed"),
    doubts: requests(all).filter(({ request }) => request.type === "doubt").length,
    asks: lines.filter(({ what }) => what === "ask").length,
    answers: client.answered.length,
    facts: all.length,
  };
}

export async function judgeAndClose(client: Client): Promise<Verdict> {
  try {
    return await judge(client);
  } finally {
    await client.close();
  }
}

/** The numbers in one line. */
export function summaryOf({ problems, ...numbers }: Verdict): string {
  const shown = Object.entries(numbers).map(([name, value]) => `${value} ${name}`);
  return `${shown.join(", ")}, ${problems.length} problems`;
}

/** G4, G5, G6: gapless, keys once, epochs that grow, one result a call, one end a run, a sound history. */
export function logProblems({ sessionId, facts }: Log): readonly string[] {
  const problems: string[] = [];
  const keys = new Set<string>();
  let epoch = 0;
  for (const [index, fact] of facts.entries()) {
    if (fact.seq !== index + 1) problems.push(`${sessionId}: fact ${fact.seq} stands at ${index + 1}`);
    if (keys.has(fact.key)) problems.push(`${sessionId}: key ${fact.key} stands twice`);
    keys.add(fact.key);
    if (fact.type === "run.resumed" && fact.epoch <= epoch)
      problems.push(`${sessionId}: epoch ${fact.epoch} after ${epoch}`);
    if (fact.type === "run.resumed") epoch = fact.epoch;
  }
  for (const callId of callsOf(facts)) {
    const results = finishedCalls(facts).filter((fact) => fact.callId === callId).length;
    if (results !== 1) problems.push(`call ${callId} has ${results} results`);
  }
  for (const fact of facts) {
    if (fact.type !== "run.started") continue;
    const ends = facts.filter((other) => other.type === "run.finished" && other.runId === fact.runId).length;
    if (ends !== 1) problems.push(`run ${fact.runId} has ${ends} ends`);
  }
  return [...problems, ...historyProblems(facts).map((problem) => `${sessionId}: ${problem}`)];
}

/** G1, G2: what was acknowledged was taken up once and its run ended. */
function inputProblems({ all }: Case, acknowledged: readonly Acknowledged[]): readonly string[] {
  const acceptedOf = Map.groupBy(all, (fact) => (fact.type === "input.accepted" ? planIn(fact) : undefined));
  const takenOf = Map.groupBy(all, (fact) => (fact.type === "message.added" ? fact.inputId : undefined));
  const endedOf = Map.groupBy(all, (fact) =>
    fact.type === "run.finished" && fact.reason === "end-turn" ? fact.runId : undefined,
  );
  return acknowledged.flatMap(({ plan, inputId, runId }) => {
    const [accepted, taken, ended] = [acceptedOf.get(plan.plan), takenOf.get(inputId), endedOf.get(runId)].map(
      (facts) => facts?.length ?? 0,
    );
    if (accepted === 1 && taken === 1 && ended === 1) return [];
    return [`input ${plan.plan}: accepted ${accepted}, taken up ${taken}, ended ${ended} times`];
  });
}

function planIn(fact: FactOf<"input.accepted">): string | undefined {
  return planOf({ id: "", role: "user", parts: fact.parts })?.plan;
}

/** Inputs that one door sent to a session run in the order in which they were acknowledged. */
function orderProblems({ logs }: Case, acknowledged: readonly Acknowledged[]): readonly string[] {
  return logs.flatMap(({ key, facts }) => {
    const sent = acknowledged
      .filter(({ session, by }) => session === key && by === "parent")
      .map(({ inputId }) => inputId);
    const ran = facts.flatMap((fact) =>
      fact.type === "message.added" && fact.inputId !== undefined ? [fact.inputId] : [],
    );
    const order = ran.filter((inputId) => sent.includes(inputId));
    return order.join() === sent.join() ? [] : [`session ${key} ran its inputs out of order`];
  });
}

/** G3, DUR-02, DUR-04: `never` at most once, nothing after its result, one key a call, and results that tell the truth. */
function effectProblems({ all, lines }: Case): readonly string[] {
  const problems: string[] = [];
  const ended = new Map<string, { readonly at: number; readonly ok: boolean }>();
  const keys = new Map<string, string>();
  for (const fact of all) {
    if (fact.type === "tool.finished") ended.set(fact.callId, { at: fact.at, ok: fact.status === "ok" });
    if (fact.type === "step.finished") ended.set(fact.name, { at: fact.at, ok: true });
    if (fact.type === "tool.started" && !fact.flow) keys.set(fact.callId, fact.idempotencyKey);
  }
  for (const [id, done] of grouped(lines.filter(({ what }) => what !== "ask"))) {
    const [first] = done;
    const end = ended.get(id);
    if (first?.what === "effect" && first.key === undefined && done.length > 1)
      problems.push(`${id} happened ${done.length} times`);
    if (end === undefined || done.some(({ at }) => at > end.at))
      problems.push(`${id} ran after its result, or has none`);
    if (first?.what === "effect" && end?.ok === false) problems.push(`${id} happened and its result denies it`);
    const used = new Set(done.map(({ key }) => key));
    if (used.size > 1 || (first?.key !== undefined && keys.has(id) && keys.get(id) !== first.key))
      problems.push(`${id} has more than one key`);
  }
  const done = new Set(lines.map(({ id }) => id));
  for (const { callId, name, status } of finishedCalls(all))
    if (status === "ok" && name !== "flow" && !done.has(callId)) problems.push(`${callId} has a result and never ran`);
  const perKey = grouped(
    lines.filter(({ key }) => key !== undefined).map((line) => ({ ...line, id: line.key ?? "", call: line.id })),
  );
  for (const [key, used] of perKey)
    if (new Set(used.map(({ call }) => call)).size > 1) problems.push(`key ${key} serves two calls`);
  return problems;
}

/** EDGE-02, DUR-05: a model call whose end is stored is not asked again. */
function modelProblems({ logs, lines }: Case): readonly string[] {
  const asks = grouped(lines.filter(({ what }) => what === "ask"));
  return logs.flatMap(({ sessionId, facts }) => {
    let plan = "";
    let turn = 0;
    return facts.flatMap((fact) => {
      if (fact.type === "message.added" && fact.message.role === "user") {
        const found = planOf(fact.message)?.plan;
        if (found !== undefined) [plan, turn] = [found, 0];
      }
      if (fact.type !== "turn.finished") return [];
      const id = `${sessionId}/${plan}/${turn++}`;
      const own = asks.get(id) ?? [];
      if (own.length === 0) return [`model call ${id} is finished and was never asked`];
      return own.some(({ at }) => at > fact.at) ? [`model call ${id} was asked again after its end`] : [];
    });
  });
}

/** DUR-06, G16: every request has one answer, the one that was acknowledged; a second one changed nothing. */
function requestProblems({ all }: Case, answered: readonly Answered[]): readonly string[] {
  const resolved = all.filter((fact) => fact.type === "request.resolved");
  return requests(all).flatMap(({ requestId }) => {
    const answers = resolved.filter((fact) => fact.requestId === requestId);
    const told = answered.filter((answer) => answer.requestId === requestId);
    const problems: string[] = [];
    if (answers.length !== 1 || told.length !== 1)
      problems.push(`request ${requestId}: ${told.length} answers told, ${answers.length} stored`);
    if (JSON.stringify(answers[0]?.answer) !== JSON.stringify(told[0]?.answer))
      problems.push(`request ${requestId} has another answer than the one told`);
    if (told[0]?.secondAccepted === true) problems.push(`request ${requestId} took a second answer`);
    return problems;
  });
}

/** EDGE-01, DUR-03: a `never` intent that another hold left without a result was asked about, once for each such intent. */
function doubtProblems({ logs }: Case): readonly string[] {
  return logs.flatMap(({ facts }) => {
    const open = new Map<string, string>();
    const doubted = new Map<string, number>();
    const problems: string[] = [];
    for (const fact of facts) {
      const intent = intentOf(fact);
      if (intent !== undefined) open.set(intent, "open");
      if (fact.type === "tool.finished" || fact.type === "step.finished") {
        const id = fact.type === "tool.finished" ? fact.callId : fact.name;
        if (open.get(id) === "abandoned") problems.push(`the doubt about ${id} was hidden`);
        open.delete(id);
      }
      if (fact.type === "run.resumed") for (const [id, how] of open) if (how === "open") open.set(id, "abandoned");
      if (fact.type !== "request.opened" || fact.request.type !== "doubt") continue;
      const id = fact.request.tool.startsWith("call/") ? fact.request.tool : fact.request.callId;
      if (open.get(id) !== "abandoned") problems.push(`asked about ${id} without a doubt, or twice about the same`);
      open.set(id, "asked");
      doubted.set(id, (doubted.get(id) ?? 0) + 1);
    }
    return problems;
  });
}

function intentOf(fact: Fact): string | undefined {
  if (fact.type === "tool.started" && fact.rerun === "never") return fact.callId;
  return fact.type === "step.started" && fact.rerun === "never" ? fact.name : undefined;
}

function callsOf(facts: readonly Fact[]): readonly string[] {
  return facts.flatMap((fact) =>
    fact.type === "message.added"
      ? fact.message.parts.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []))
      : [],
  );
}
function finishedCalls(facts: readonly Fact[]): readonly FactOf<"tool.finished">[] {
  return facts.filter((fact) => fact.type === "tool.finished");
}
function requests(facts: readonly Fact[]): readonly FactOf<"request.opened">[] {
  return facts.filter((fact) => fact.type === "request.opened");
}
function grouped<T extends { readonly id: string }>(lines: readonly T[]): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(lines, ({ id }) => id);
}
