/** What a workload is given and what it gives back. */

import type { Job, Subject } from "./subject.ts";

export type Numbers = { readonly [name: string]: number };
export type World = {
  readonly url: string;
  readonly folder: string;
  readonly settings: { readonly [name: string]: number | string };
  subjectFor(job: Job): Promise<Subject>;
};
/** Runs in a fresh process. */
export type Workload = (world: World) => Promise<Numbers>;

/** A setting that is a number. */
export function setting({ settings }: World, name: string): number {
  const value = settings[name];
  if (typeof value !== "number") throw new Error(`the order lacks the number ${name}`);
  return value;
}

export function cpuMicros(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}
