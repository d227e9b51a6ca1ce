/** What is measured: something that can hold conversations with a model that calls one tool. */

export type Job = {
  /** Path of the script below the model's address, such as `tools/50/1`. */
  readonly script: string;
  /** The tool. */
  readonly look: (input: LookInput) => string;
  /** Messages that every conversation begins with. */
  readonly history: number;
};
export type LookInput = { readonly path: string; readonly line: number; readonly context: number };

export interface Subject {
  /** One conversation from its input to its end; its one subscriber is called with each text delta. */
  converse(onText: (delta: string) => void): Promise<void>;
  close(): Promise<void>;
}

export const SYSTEM: string = "You are a careful assistant that reads files before it speaks. ".repeat(30);
export const INPUT = "Look at every file of this folder and tell me what you found.";
export const TOOL = {
  name: "look",
  description: "Reads a part of a file of the workspace and returns numbered lines around the given line.",
  schema: {
    type: "object",
    properties: {
      path: { type: "string", description: "Path of the file, relative to the workspace" },
      line: { type: "number", description: "The line in the middle" },
      context: { type: "number", description: "How many lines around it" },
    },
    required: ["path", "line", "context"],
    additionalProperties: false,
  },
} as const;

const LINES = Array.from(
  { length: 8 },
  (_, at) => `${at + 1}: const value${at} = await readTheNextLine(of, file);`,
).join("\n");
/** What the tool answers: eight lines of code. */
export function lookAt({ path, line }: LookInput): string {
  return `${path}:${line}\n${LINES}`;
}

/** One message of a long history, some 200 characters. */
export function historyText(index: number): string {
  return `Message ${index}: ${"we talked about the same thing again and came a little further than before; ".repeat(2)}`;
}
