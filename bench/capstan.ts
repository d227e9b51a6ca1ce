/** The subject: a runtime over the local engine with one agent; each conversation is a session whose run is read by one subscriber. */

import { openRuntime as openCoreRuntime } from "@capstan/core";
import {
  agent,
  type Engine,
  memoryStore,
  type Message,
  type Model,
  openRuntime,
  type Run,
  type Runtime,
  storeEngine,
  systemClock,
  systemIds,
  tool,
} from "capstan";
import { localEngine } from "capstan/engines/local";
import { anthropic } from "capstan/models/anthropic";
import { z } from "zod";
import type { WireFormatName } from "./wire-formats.ts";
import { historyText, INPUT, type Job, type Subject, SYSTEM, TOOL } from "./subject.ts";

export type CapstanOptions = {
  readonly engine: "full" | "relaxed" | "memory";
  /** `never`: every call is an effect, with its intent on disk before it. */
  readonly rerun: "safe" | "never";
  /** `core`: without what the package `capstan` adds, so without redaction of the key. */
  readonly entry: "capstan" | "core";
  /** Whose wire format the model speaks. */
  readonly format: WireFormatName;
};
export const DEFAULTS: CapstanOptions = { engine: "full", rerun: "safe", entry: "capstan", format: "anthropic" };

/** A runtime whose only agent is named `reader`. `folder` is where its database lives. */
export async function runtimeFor(
  baseUrl: string,
  folder: string,
  options: CapstanOptions,
  job: Pick<Job, "script" | "look">,
): Promise<Runtime> {
  const look = tool({
    name: TOOL.name,
    description: TOOL.description,
    input: z.object({ path: z.string(), line: z.number(), context: z.number() }),
    rerun: options.rerun,
    execute: job.look,
  });
  const reader = agent({
    name: "reader",
    model: await modelAt(`${baseUrl}/${job.script}`, options.format),
    instructions: SYSTEM,
    tools: [look],
    limits: { turns: 1_000_000 },
  });
  const open = options.entry === "core" ? openCoreRuntime : openRuntime;
  return open({ agents: [reader], engine: await engineFor(folder, options.engine) });
}

/** The key is that of Anthropic for all, so that redaction has the same work. */
async function modelAt(url: string, format: WireFormatName): Promise<Model> {
  process.env["ANTHROPIC_BASE_URL"] = url;
  if (format === "anthropic") return anthropic();
  const known = { apiKey: process.env["ANTHROPIC_API_KEY"] ?? "key", baseUrl: `${url}/${format}` };
  const versioned = { ...known, baseUrl: `${known.baseUrl}/v1` };
  switch (format) {
    case "openai":
      return (await import("capstan/models/openai")).openai("gpt-6.1-sol", versioned);
    case "openai-chat":
      return (await import("capstan/models/openai-chat")).openaiChat("bench", versioned);
    case "openrouter":
      return (await import("capstan/models/openai-chat")).openrouter("anthropic/claude-bench", versioned);
    case "gemini":
      return (await import("capstan/models/gemini")).gemini("gemini-3.8-flash", known);
    case "ai-sdk": {
      const { aiSdkSource } = await import("./ai-sdk-source.ts");
      return (await import("capstan/models/ai-sdk")).aiSdk(aiSdkSource(url));
    }
    default:
      return format satisfies never;
  }
}

export async function capstan(baseUrl: string, folder: string, options: CapstanOptions, job: Job): Promise<Subject> {
  const runtime = await runtimeFor(baseUrl, folder, options, job);
  const messages = historyMessages(job.history);
  return {
    async converse(onText) {
      await read(await runtime.send("reader", INPUT, messages.length > 0 ? { messages } : {}), onText);
    },
    close: () => runtime.close(),
  };
}

/** Reads a run to its end. */
export async function read(run: Run, onText: (delta: string) => void): Promise<void> {
  let end = "lost";
  for await (const { event } of run.events()) {
    if (event.type === "text.delta") onText(event.delta);
    else if (event.type === "run.finished") end = event.error?.message ?? event.reason;
  }
  if (end !== "end-turn") throw new Error(`the run ended with ${end}`);
}

async function engineFor(folder: string, kind: CapstanOptions["engine"]): Promise<Engine> {
  if (kind !== "memory") return localEngine({ path: `${folder}/capstan.db`, durability: kind });
  return storeEngine(memoryStore(), { clock: systemClock, ids: systemIds(() => systemClock.now()) });
}

export function historyMessages(count: number): readonly Message[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `history/${index}`,
    role: index % 2 === 0 ? "user" : "assistant",
    parts: [{ type: "text", text: historyText(index) }],
  }));
}
