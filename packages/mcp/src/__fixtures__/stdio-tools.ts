/** A program that serves one tool over stdio. */

import { jsonSchema, tool } from "@capstan/core";
import { serveMcp } from "@capstan/mcp/server";

const greet = tool({
  name: "greet",
  description: "Greets.",
  input: jsonSchema<{ readonly name: string }>({ type: "object", properties: { name: { type: "string" } }, required: ["name"] }),
  execute: ({ name }) => `Hello, ${name}`,
});
const { ended, close } = await serveMcp({ tools: [greet] });
await ended;
await close();
