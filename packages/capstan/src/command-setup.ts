/** For tests: the command with a scripted provider, and files around it. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type AnthropicReply, type AnthropicScript, anthropicServer } from "@capstan/models/testing";
import { type CommandHome, commandHome } from "./command-child.ts";

export type CommandSetup = AsyncDisposable & {
  readonly at: CommandHome;
  readonly server: Awaited<ReturnType<typeof anthropicServer>>;
  /** Paths are relative to `HOME`; `work/...` is the folder of the run, `settings.json` the user's settings. */
  put(path: string, content: object | string): Promise<void>;
};

export async function setup(script: AnthropicScript): Promise<CommandSetup> {
  const server = await anthropicServer(script);
  const at = await commandHome({ ANTHROPIC_API_KEY: "sk-test-0123456789", ANTHROPIC_BASE_URL: server.url });
  return {
    at,
    server,
    async put(path, content) {
      const place = path.startsWith("work/")
        ? join(at.folder, path.slice(5))
        : join(path === "settings.json" ? at.home : dirname(at.home), path);
      await mkdir(dirname(place), { recursive: true });
      await writeFile(place, typeof content === "string" ? content : JSON.stringify(content));
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await at[Symbol.asyncDispose]();
    },
  };
}

export const text = (value: string): AnthropicReply => ({ content: [{ type: "text", text: value }] });
export const call = (name: string, input: object): AnthropicReply => ({
  content: [{ type: "tool_use", id: `tu_${name}`, name, input }],
});
