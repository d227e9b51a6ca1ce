/** The measures of performance.md, section 2, and how each is taken. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Order, SubjectName } from "./child.ts";
import type { CapstanOptions } from "./capstan.ts";
import type { Bench, Case, Measure, Results, Row, Spread } from "./measure.ts";
import type { WireFormatName } from "./wire-formats.ts";
import { DECISION_CASES, LONG_CASES } from "./decision-cases.ts";
import { runOrder, timeToFirstOutput } from "./processes.ts";
import { sse } from "./workload-sse.ts";

type Settings = Order["settings"];

const FLOOR_AND_CAPSTAN: readonly SubjectName[] = ["floor", "capstan", "floor-http"];
const TURNS: Settings = { turns: 50, calls: 1, runs: 40, warm: 40 };
const DELTAS: Settings = { deltas: 20_000, chunkBytes: 4_096, runs: 10, warm: 8 };
const PARALLEL: Settings = { turns: 4, calls: 64, runs: 20, warm: 20 };
const SHORT = { turns: 220, skip: 20, history: 0, runs: 3, warm: 1 } satisfies Settings;
const LONG = { turns: 60, skip: 10, history: 5_000, runs: 2, warm: 1 } satisfies Settings;
const CROWD: Settings = { size: 200, turns: 3, batches: 5, warm: 2 };

function child(
  subject: SubjectName,
  workload: Order["workload"],
  settings: Settings,
  capstan?: Partial<CapstanOptions>,
): Case {
  return ({ url }) => runOrder({ url, subject, workload, settings, ...(capstan !== undefined && { capstan }) });
}

function subjects(workload: Order["workload"], settings: Settings): { readonly [name: string]: Case } {
  return Object.fromEntries(FLOOR_AND_CAPSTAN.map((name) => [name, child(name, workload, settings)]));
}

function ratioRow(
  results: Results,
  row: Omit<Row, "floor" | "capstan" | "value">,
  name = "capstan",
  number = "cpu",
  of = "floor",
): Row {
  const floor = results(of, number);
  const capstan = results(name, number);
  return { ...row, floor, capstan, value: capstan.median / floor.median };
}

const turn: Measure = {
  name: "turn",
  cases: {
    ...subjects("turns", TURNS),
    relaxed: child("capstan", "turns", TURNS, { engine: "relaxed" }),
    never: child("capstan", "turns", TURNS, { rerun: "never" }),
    memory: child("capstan", "turns", TURNS, { engine: "memory" }),
    core: child("capstan", "turns", TURNS, { entry: "core" }),
  },
  rows: (results) => [
    ratioRow(results, { measure: "CPU per tool turn", unit: "us", target: 1, stretch: 0.7 }),
    ratioRow(results, { measure: "  with relaxed durability", unit: "us" }, "relaxed"),
    ratioRow(results, { measure: "  with a never tool", unit: "us" }, "never"),
    ratioRow(results, { measure: "  with the memory engine", unit: "us" }, "memory"),
    ratioRow(results, { measure: "  without redaction (core)", unit: "us" }, "core"),
    ratioRow(results, { measure: "  (floor on node:http)", unit: "us" }, "floor-http"),
  ],
  profile: { subject: "capstan", workload: "turns", settings: { ...TURNS, runs: 150 } },
};

const delta: Measure = {
  name: "delta",
  cases: {
    ...subjects("deltas", DELTAS),
    core: child("capstan", "deltas", DELTAS, { entry: "core" }),
    "floor-single": child("floor", "deltas", { ...DELTAS, deltas: 4_000, chunkBytes: 0 }),
    "capstan-single": child("capstan", "deltas", { ...DELTAS, deltas: 4_000, chunkBytes: 0 }),
  },
  rows: (results) => [
    ratioRow(results, { measure: "CPU per text delta", unit: "us", target: 1.3, stretch: 1, ...deltaNote(results) }),
    ratioRow(results, { measure: "  without redaction (core)", unit: "us" }, "core"),
    ratioRow(results, { measure: "  (floor on node:http)", unit: "us" }, "floor-http"),
    ratioRow(results, { measure: "  one event a chunk", unit: "us" }, "capstan-single", "cpu", "floor-single"),
  ],
  profile: { subject: "capstan", workload: "deltas", settings: { ...DELTAS, runs: 60 } },
};

const FORMATS = {
  openai: "OpenAI",
  "openai-chat": "OpenAI Chat",
  openrouter: "OpenRouter",
  gemini: "Gemini",
  anthropic: "Anthropic",
  "ai-sdk": "AI SDK (floor: its stream)",
} as const satisfies Record<WireFormatName, string>;
const formats: Measure = {
  name: "formats",
  cases: Object.fromEntries(
    Object.keys(FORMATS).flatMap((name) =>
      (["floor", "capstan"] as const).map((subject) => [
        `${subject}/${name}`,
        child(subject, "deltas", DELTAS, { format: name as WireFormatName }), // a key of the table
      ]),
    ),
  ),
  rows: (results) =>
    Object.entries(FORMATS).map(([name, label]) => {
      const row = { measure: `CPU per text delta, ${label}`, unit: "us", target: 1.3, stretch: 1 };
      const said = (subject: string): number => results(`${subject}/${name}`, "said").median;
      const note =
        said("capstan") === said("floor") ? {} : { note: `${said("capstan")} of ${said("floor")} characters` };
      return ratioRow(results, { ...row, ...note }, `capstan/${name}`, "cpu", `floor/${name}`);
    }),
};

/** A subscriber that got fewer deltas got less work; the text must be whole all the same. */
function deltaNote(results: Results): { readonly note?: string } {
  const [seen, said] = [results("capstan", "seen").median, results("capstan", "said").median];
  const [all, whole] = [results("floor", "seen").median, results("floor", "said").median];
  if (said !== whole) return { note: `the subscriber saw ${said} of ${whole} characters` };
  return seen === all ? {} : { note: `in ${seen} events of ${all}` };
}

const parallel: Measure = {
  name: "parallel",
  cases: subjects("turns", PARALLEL),
  rows: (results) => [
    ratioRow(results, { measure: "CPU per parallel call (64 a turn)", unit: "us", target: 1.3, stretch: 1 }),
    ratioRow(results, { measure: "  (floor on node:http)", unit: "us" }, "floor-http"),
  ],
  profile: { subject: "capstan", workload: "turns", settings: { ...PARALLEL, runs: 100 } },
};

const slope: Measure = {
  name: "slope",
  cases: Object.fromEntries(
    FLOOR_AND_CAPSTAN.flatMap((name) => [
      [`${name}/0`, child(name, "steady", SHORT)],
      [`${name}/5000`, child(name, "steady", LONG)],
    ]),
  ),
  rows(results) {
    const of = (name: string): Spread => slopeOf(results(`${name}/0`, "cpu"), results(`${name}/5000`, "cpu"));
    const [floor, capstan, http] = [of("floor"), of("capstan"), of("floor-http")];
    return [
      {
        measure: "slope per history message per turn",
        floor,
        capstan,
        unit: "us",
        value: capstan.median,
        valueUnit: "us",
        target: 2,
        stretch: 0.8,
      },
      { measure: "  (floor on node:http)", floor, capstan: http, unit: "us", value: http.median, valueUnit: "us" },
    ];
  },
  profile: { subject: "capstan", workload: "steady", settings: { ...LONG, runs: 4, turns: 200 } },
};

function slopeOf(short: Spread, long: Spread): Spread {
  const per = (to: number, from: number): number => (to - from) / LONG.history;
  return { median: per(long.median, short.median), min: per(long.min, short.median), max: per(long.max, short.median) };
}

const HISTORIES = {
  0: { turns: 70, skip: 10, history: 0, warm: 6, pairs: 20 },
  2_000: { turns: 30, skip: 5, history: 2_000, warm: 3, pairs: 7 },
} as const;
const RERUNS = { safe: [0.1, 0.05], never: [0.25, 0.1] } as const;
const persistence: Measure = {
  name: "persistence",
  cases: Object.fromEntries(
    Object.entries(HISTORIES).flatMap(([history, settings]) =>
      Object.keys(RERUNS).map((rerun) => [
        `${rerun}/${history}`,
        child("capstan", "persistence", { ...settings, rerun }),
      ]),
    ),
  ),
  rows: (results) =>
    Object.keys(HISTORIES).flatMap((history) =>
      Object.entries(RERUNS).map(([rerun, [target, stretch]]): Row => {
        const name = `${rerun}/${history}`;
        return {
          measure: `persistence per turn, ${rerun}, history ${history}`,
          floor: results(name, "memory"),
          capstan: results(name, "full"),
          unit: "us",
          value: results(name, "added").median / 1_000,
          valueUnit: "ms",
          target,
          stretch,
          note: "floor: memory engine; median of pairs",
        };
      }),
    ),
  profile: { subject: "capstan", workload: "steady", settings: { ...SHORT, runs: 12 }, capstan: { rerun: "never" } },
};

const STARTS = 5;
function startCase(file: string, folderFor: (bench: Bench, index: number) => string): Case {
  return async (bench) => {
    const times: number[] = [];
    for (let index = 0; index < STARTS; index++) {
      const folder = folderFor(bench, index);
      await mkdir(folder, { recursive: true });
      times.push(await timeToFirstOutput(file, [bench.url, folder]));
    }
    return { wall: times.toSorted((a, b) => a - b)[STARTS >> 1] ?? Number.NaN };
  };
}

let freshFolders = 0;
const start: Measure = {
  name: "start",
  async prepare(bench) {
    const folder = join(bench.folder, "started");
    await mkdir(folder, { recursive: true });
    await timeToFirstOutput("capstan.mjs", [bench.url, folder]);
  },
  cases: {
    floor: startCase("floor.mjs", ({ folder }) => folder),
    capstan: startCase("capstan.mjs", ({ folder }) => join(folder, "started")),
    fresh: startCase("capstan.mjs", ({ folder }) => join(folder, `fresh-${freshFolders++}`)),
    memory: startCase("capstan-memory.mjs", ({ folder }) => folder),
  },
  rows: (results) => [
    ratioRow(results, { measure: "start to first delta", unit: "ms", target: 1.3, stretch: 1 }, "capstan", "wall"),
    ratioRow(results, { measure: "  first start ever (makes the database)", unit: "ms" }, "fresh", "wall"),
    ratioRow(results, { measure: "  core with the memory engine", unit: "ms" }, "memory", "wall"),
  ],
};

const heap: Measure = {
  name: "heap",
  cases: {
    idle: child("capstan", "idleHeap", { sessions: 1_000, runs: 0 }),
    used: child("capstan", "idleHeap", { sessions: 1_000, runs: 1 }),
  },
  rows: (results) =>
    (["idle", "used"] as const).map((name): Row => {
      const capstan = results(name, "bytes");
      return {
        measure: name === "idle" ? "heap per idle session" : "  after one run of 2 tool turns, still held",
        capstan,
        unit: "B",
        value: capstan.median / 1_024,
        valueUnit: "KB",
        ...(name === "idle" && { target: 10, stretch: 3 }),
      };
    }),
  profile: { subject: "capstan", workload: "idleHeap", settings: { sessions: 1_000, runs: 1 } },
};

/** Conversations of one turn in a runtime that holds few or many idle sessions: the others must cost nothing. */
const HELD: Settings = { turns: 1, calls: 1, runs: 150 };
const held: Measure = {
  name: "held",
  cases: {
    few: child("capstan", "turns", { ...HELD, warm: 300 }),
    many: child("capstan", "turns", { ...HELD, warm: 2_000 }),
  },
  rows: (results) => [
    ratioRow(
      results,
      { measure: "CPU per conversation, 2,000 sessions held", unit: "us", note: "floor: 300 sessions held" },
      "many",
      "cpu",
      "few",
    ),
  ],
  profile: { subject: "capstan", workload: "turns", settings: { ...HELD, warm: 2_000 } },
};

const crowd: Measure = {
  name: "crowd",
  cases: subjects("crowd", CROWD),
  rows: (results) => [
    ratioRow(results, { measure: "200 runs at once, CPU per run", unit: "us", target: 1.3, stretch: 1 }),
    ratioRow(
      results,
      { measure: "200 runs at once, p99 first token", unit: "ms", target: 1.3, stretch: 1 },
      "capstan",
      "p99",
    ),
    ratioRow(results, { measure: "  p50 first token", unit: "ms" }, "capstan", "p50"),
    ratioRow(results, { measure: "  (floor on node:http, CPU)", unit: "us" }, "floor-http"),
    ratioRow(results, { measure: "  (floor on node:http, p99)", unit: "ms" }, "floor-http", "p99"),
  ],
  profile: { subject: "capstan", workload: "crowd", settings: { ...CROWD, batches: 15 } },
};

const bill: Measure = {
  name: "bill",
  once: true,
  cases: { capstan: child("capstan", "inputBill", {}) },
  rows: (results) =>
    Object.entries({
      toolTurns: "20 tool turns",
      shortChats: "five short conversations",
      wideTurns: "16 calls a turn",
    }).map(([number, shape]): Row => {
      const capstan = results("capstan", number);
      // what is over 1.00 by less than a rounding of two digits is 1.00
      const value = Math.round(capstan.median * 100) / 100;
      return { measure: `input bill, ${shape}`, capstan, unit: "x", value, valueUnit: "x", target: 1 };
    }),
};

const LENGTHS = { small: 100, large: 100_000 } as const;
function openCase(size: keyof typeof LENGTHS): Case {
  return ({ url, folder }) =>
    runOrder({
      url,
      subject: "capstan",
      workload: "openSession",
      settings: { from: join(folder, size), warmFrom: join(folder, "small"), rounds: 7, warm: 40 },
    });
}
const open: Measure = {
  name: "open",
  async prepare({ url, folder }) {
    for (const [size, events] of Object.entries(LENGTHS)) {
      const into = join(folder, size);
      await mkdir(into, { recursive: true });
      await runOrder({ url, subject: "capstan", workload: "prepareSession", settings: { into, events } });
    }
  },
  cases: { small: openCase("small"), large: openCase("large") },
  rows: (results) => {
    const row = (number: string, measure: string, target?: number): Row => {
      const [floor, capstan] = [results("small", number), results("large", number)];
      return {
        measure,
        floor,
        capstan,
        unit: "ms",
        value: capstan.median / floor.median,
        ...(target !== undefined && { target }),
        note: "floor: 100 events",
      };
    };
    return [
      row("open", "open a session of 100,000 events", 1.5),
      row("state", "  session() and state()"),
      row("accepted", "  send() accepted"),
      row("claimed", "  claimed, run.started"),
      row("runtime", "  (openRuntime)"),
      row("first", "  (to the first token: reads the history)"),
    ];
  },
};

const decision: Measure = {
  name: "decision",
  cases: { capstan: child("capstan", "decision", {}) },
  rows: (results) =>
    [...Object.keys(DECISION_CASES), ...Object.keys(LONG_CASES)].map((shape): Row => {
      const capstan = results("capstan", `${shape}/p50`);
      const { median: value } = results("capstan", `${shape}/p99`);
      const { min: all } = results("capstan", `${shape}/all`);
      const isLong = Object.hasOwn(LONG_CASES, shape);
      return {
        measure: `p99 of a verdict, best of 3${isLong ? "" : ", 4 KB"}: ${shape}`,
        capstan,
        unit: "ms",
        value,
        valueUnit: "ms",
        target: isLong ? 50 : 1,
        note: `p99 of all ${all.toFixed(2)} ms`,
      };
    }),
};

export const MEASURES: readonly Measure[] = [
  turn,
  delta,
  formats,
  parallel,
  slope,
  persistence,
  start,
  heap,
  held,
  crowd,
  bill,
  open,
  decision,
  sse,
];
