import { describe, expect, it } from "vitest";
import { cachePlan, LOOK_BACK_BLOCKS } from "./cache-plan.ts";
import type { Message, Part } from "../words/message.ts";

const SYSTEM_TOKENS = 3_000;
const BLOCK_TOKENS = 200;

/** Anthropic's cache in small: prefixes are written at breakpoints and found up to 20 blocks before one. */
function simulatedCache() {
  const written = new Set<string>();
  const seen = new Set<string>();
  let bill = 0;
  let ideal = 0;
  return {
    send(system: string, messages: readonly Message[], plan: readonly number[]): void {
      const ends = [0];
      let prefix = system;
      const prefixes = [prefix];
      const tokens = [SYSTEM_TOKENS];
      for (const message of messages) {
        for (const part of message.parts) {
          prefix = `${prefix}|${message.role}:${JSON.stringify(part)}`;
          prefixes.push(prefix);
          tokens.push(BLOCK_TOKENS);
        }
        ends.push(prefixes.length - 1);
      }
      expect(plan.length).toBeLessThanOrEqual(4);
      const breakpoints = plan.map((index) => ends[index + 1] ?? -1);
      let hit = -1;
      for (const at of breakpoints) {
        for (let index = at; index >= 0 && index > at - LOOK_BACK_BLOCKS; index--) {
          if (written.has(prefixes[index] ?? "")) hit = Math.max(hit, index);
        }
      }
      const last = Math.max(...breakpoints);
      for (const [index, cost] of tokens.entries()) {
        bill += cost * (index <= hit ? 0.1 : index <= last ? 1.25 : 1);
        // Ideal: every token is written once, with the first request that holds it, and read by all later ones.
        ideal += cost * (seen.has(prefixes[index] ?? "") ? 0.1 : 1.25);
      }
      for (const at of breakpoints) written.add(prefixes[at] ?? "");
      for (const known of prefixes) seen.add(known);
    },
    ratio: () => bill / ideal,
  };
}

let ids = 0;
function message(role: Message["role"], blocks: number): Message {
  const id = `m${ids++}`;
  const parts = Array.from({ length: blocks }, (_, index): Part => ({ type: "text", text: `${id}.${index}` }));
  return { id, role, parts };
}

/** What the loop hands over: the message before the newest answer ended the request before. */
function previousTailOf(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === "assistant") - 1;
}

function priceOfTurns(turns: number, callsPerTurn: number, tailOf: typeof previousTailOf | (() => undefined)): number {
  const cache = simulatedCache();
  const messages = [message("user", 1)];
  for (let turn = 0; turn < turns; turn++) {
    cache.send("system", messages, cachePlan(messages, tailOf(messages)));
    messages.push(message("assistant", 1 + callsPerTurn), message("user", callsPerTurn));
  }
  return cache.ratio();
}

describe("cachePlan", () => {
  it("COST-01 marks system and tools, the previous tail and the newest tail", () => {
    const messages = [message("user", 1), message("assistant", 2), message("user", 1)];
    expect(cachePlan(messages, 0)).toEqual([-1, 0, 2]);
  });

  it("marks a first request's only tail", () => {
    expect(cachePlan([message("user", 1)], undefined)).toEqual([-1, 0]);
    expect(cachePlan([message("user", 1)], -2)).toEqual([-1, 0]);
    expect(cachePlan([], undefined)).toEqual([-1]);
  });

  it("takes a previous tail that lies beyond the messages for the newest", () => {
    expect(cachePlan([message("user", 1), message("assistant", 1)], 7)).toEqual([-1, 1]);
  });

  it("puts the spare one between tails that are more than 20 blocks apart", () => {
    const messages = [message("user", 1), message("assistant", 17), message("user", 16)];
    expect(cachePlan(messages, 0)).toEqual([-1, 0, 1, 2]);
  });

  it("COST-01 pays 1.00 times the ideal for 20 tool turns", () => {
    expect(priceOfTurns(20, 1, previousTailOf)).toBeCloseTo(1, 10);
  });

  it("COST-01 pays 1.00 times the ideal for turns of 16 parallel calls", () => {
    expect(priceOfTurns(6, 16, previousTailOf)).toBeCloseTo(1, 10);
  });

  it("COST-01 pays 1.00 times the ideal for wide turns whose previous tail is not known", () => {
    expect(priceOfTurns(6, 16, () => undefined)).toBeCloseTo(1, 10);
  });

  it("COST-01 pays 1.00 times the ideal for short conversations that share a system prompt", () => {
    const cache = simulatedCache();
    for (let conversation = 0; conversation < 5; conversation++) {
      const messages = [message("user", 1)];
      for (let turn = 0; turn < 2; turn++) {
        cache.send("system", messages, cachePlan(messages, previousTailOf(messages)));
        messages.push(message("assistant", 1), message("user", 1));
      }
    }
    expect(cache.ratio()).toBeCloseTo(1, 10);
  });
});
