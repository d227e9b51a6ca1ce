/** Reads a model's reply to its end and checks the order of its events, for the cases of the model contract. */

import assert from "node:assert/strict";
import type { Part } from "../words/message.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports/model.ts";

/** All events of a reply that must not fail, checked for their order. */
export async function answered(model: Model, asked: ModelRequest): Promise<readonly ModelEvent[]> {
  const { events, error } = await collected(model, asked);
  if (error !== undefined) throw error;
  checkOrder(events);
  return events;
}

export async function collected(
  model: Model,
  asked: ModelRequest,
  each: (event: ModelEvent) => void = () => {},
): Promise<{ readonly events: readonly ModelEvent[]; readonly error: unknown }> {
  const events: ModelEvent[] = [];
  try {
    for await (const batch of model.stream(asked)) {
      events.push(...batch);
      for (const event of batch) each(event);
    }
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

/** Blocks begin in the order of their index, deltas and ends belong to open blocks, one finish ends everything. */
function checkOrder(events: readonly ModelEvent[]): void {
  const open = new Map<number, { readonly type: string; joined: string }>();
  let next = 0;
  for (const [at, event] of events.entries()) {
    switch (event.type) {
      case "start":
        assert.ok(
          events.slice(0, at).every(({ type }) => type === "notice"),
          "start comes first",
        );
        break;
      case "block-start":
        assert.equal(event.index, next++, "blocks are numbered 0, 1, 2, ...");
        open.set(event.index, { type: event.block.type, joined: "" });
        break;
      case "block-delta": {
        const block = open.get(event.index);
        assert.ok(block, "a delta belongs to an open block");
        assert.notEqual(event.delta, "", "a delta is not empty");
        block.joined += event.delta;
        break;
      }
      case "block-end":
        checkPart(event.part, open.get(event.index));
        open.delete(event.index);
        break;
      case "finish":
        assert.equal(at, events.length - 1, "nothing comes after finish");
        assert.equal(open.size, 0, "every block has ended before finish");
        for (const count of [event.usage.inputTokens, event.usage.outputTokens])
          assert.ok(Number.isInteger(count) && count >= 0);
        break;
      case "notice":
        assert.notEqual(event.title, "");
        break;
      default:
        event satisfies never;
    }
  }
  assert.equal(events.at(-1)?.type, "finish");
}

function checkPart(part: Part, block: { readonly type: string; readonly joined: string } | undefined): void {
  assert.ok(block, "only an open block ends");
  if (part.type === "text" || part.type === "reasoning") {
    assert.equal(block.type, part.type);
    assert.equal(part.text, block.joined, "the part is what its deltas were");
  } else if (part.type === "tool-call") {
    assert.equal(block.type, "tool-input");
    if (block.joined !== "")
      assert.deepEqual(part.input, JSON.parse(block.joined), "the input is what its deltas were");
  } else {
    assert.equal(block.joined, "", `a part of type ${part.type} has no deltas`);
  }
}
