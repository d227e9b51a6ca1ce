/** A fresh process for one repetition of one case: `child.ts <order as JSON>`, prints its numbers as JSON. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CapstanOptions } from "./capstan.ts";
import type { Job, Subject } from "./subject.ts";
import { WORKLOADS } from "./workloads.ts";
import type { Numbers, Workload } from "./world.ts";

export type SubjectName = "floor" | "floor-http" | "capstan";
/** What a child does. All of it is in one argument, so that a measure can be repeated by hand. */
export type Order = {
  readonly url: string;
  readonly subject: SubjectName;
  readonly workload: keyof typeof WORKLOADS;
  readonly settings: { readonly [name: string]: number | string };
  readonly capstan?: Partial<CapstanOptions>;
};

const order = JSON.parse(process.argv[2] ?? "{}") as Order; // written by run-child.ts
const folder = await mkdtemp(join(tmpdir(), "capstan-bench-"));
try {
  const workload: Workload = WORKLOADS[order.workload];
  const subjectFor = (job: Job): Promise<Subject> => open(job);
  const numbers: Numbers = await workload({ ...order, folder, subjectFor });
  console.log(JSON.stringify(numbers));
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function open(job: Job): Promise<Subject> {
  if (order.subject === "capstan") {
    const { capstan, DEFAULTS } = await import("./capstan.ts");
    return capstan(order.url, folder, { ...DEFAULTS, ...order.capstan }, job);
  }
  const format = order.capstan?.format ?? "anthropic";
  if (format === "ai-sdk") return (await import("./floor-ai-sdk.ts")).floorAiSdk(order.url, job.script);
  if (format !== "anthropic") return (await import("./floor-text.ts")).floorText(order.url, format, job.script);
  const { floor } = await import("./floor.ts");
  return floor(order.url, order.subject === "floor" ? "fetch" : "http", job);
}
