/** The process that is shut down or killed: background commands with grandchildren that try to stay behind. */

import { CapstanError, listedTools, type ToolContext } from "@capstan/core";
import { backgroundShell, bwrap, sandboxed } from "@capstan/tools";

const [folder = "", mark = "", kind = "local", tools = "50"] = process.argv.slice(2);

const factory = sandboxed({ sandbox: bwrap(), confinement: kind === "bwrap" ? "required" : "off" });
const workspace = await factory(folder).catch((error: unknown) => {
  if (!CapstanError.is(error, "sandbox-unavailable")) throw error;
  process.stdout.write("missing\n");
  process.exit(0);
});

const shell = backgroundShell();
const opened = await shell.open?.({} as never); // it looks at nothing of the runtime
const start = listedTools(shell).find(({ name }) => name === "shell_start");
if (start?.body.type !== "execute") throw new Error("there is no bash");
const { body } = start;
const command = [
  `sleep ${mark} &`,
  `(setsid nohup sleep ${mark} > /dev/null 2>&1 &)`,
  `(trap '' TERM; setsid sleep ${mark} & ) &`,
  `env -i /bin/sh -c 'setsid sleep ${mark} < /dev/null > /dev/null 2>&1 &'`,
  `exec sleep ${mark}`,
].join("\n");

const call = (index: number): Promise<unknown> => {
  const context = {
    callId: `run/${index}`,
    session: { id: `ses_${index % 10}`, metadata: {} },
    signal: new AbortController().signal,
    workspace,
  } as unknown as ToolContext; // all that the tool looks at
  return Promise.resolve(body.execute({ command }, context));
};
await Promise.all(Array.from({ length: Number(tools) }, (_none, index) => call(index)));
process.stdout.write("up\n");

process.stdin.on("data", () => void close());
async function close(): Promise<void> {
  await workspace.close();
  await opened?.[Symbol.asyncDispose]();
  process.exit(0);
}
