/** What the samples on these pages leave to the reader. Everything of Capstan they import themselves; a test type-checks them. */

import type { Agent, Model, Session, Tool, ToolOutput, Trust } from "capstan";
import type { StoreFixture } from "capstan/testing";

declare global {
  const agents: readonly Agent[];
  const coder: Agent;
  const guide: Agent;
  const reviewer: Agent;
  const tester: Agent;
  const definition: { readonly name: string; readonly model: Model; readonly instructions: string };
  const instructions: string;
  const model: Model;
  const small: Model;
  const search: Tool;
  const submit: Tool;
  const session: Session;
  const folder: string;
  const ask: (trust: Trust) => Promise<boolean>;
  const openMyStore: () => Promise<StoreFixture>;
  const fetchWeather: (city: string, signal: AbortSignal) => Promise<string>;
  const normalized: (input: unknown) => string | undefined;
  const withoutNoise: (output: ToolOutput) => ToolOutput;
}
