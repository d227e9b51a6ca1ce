/** The command line of `capstan mcp`. */

import { type Command, InvalidArgumentError } from "commander";
import type { Config } from "../config.ts";
import type { AddFlags, LoginFlags } from "./mcp-command.ts";
import type { ServeFlags } from "./mcp-command-serve.ts";

type Place = { readonly config: Config | undefined; readonly act: (work: () => Promise<number>) => Promise<void> };

export function addMcp(program: Command, { config, act }: Place): void {
  const mcp = program
    .command("mcp")
    .description("the MCP servers that agents get tools from, and an agent as an MCP server")
    .helpCommand(false);
  const load = () => import("./mcp-command.ts");
  mcp
    .command("list")
    .description("lists the configured servers; starts none")
    .option("--json", "one JSON object a line")
    .action((flags: { readonly json?: boolean }) => act(async () => (await load()).listServers(config, flags)));
  mcp
    .command("add")
    .description("adds a server to your own: a program with its arguments, or a URL")
    .argument("<name>")
    .argument("<command or URL...>", "options of the program stand behind --")
    .option("--env <NAME=value>", "a variable of the program; may be repeated", collect, [])
    .option("--header <Name: value>", "a header of every request; may be repeated", collect, [])
    .option("--transport <transport>", "stdio, http or sse, where it cannot be told")
    .option("--lazy", "the model sees the names of its tools and looks up what it needs")
    .action((name: string, words: readonly string[], flags: AddFlags) =>
      act(async () => (await load()).addServer(name, words, flags)),
    );
  mcp
    .command("remove")
    .description("removes a server from your own")
    .argument("<name>")
    .action((name: string) => act(async () => (await load()).removeServer(name)));
  mcp
    .command("test")
    .description("connects to a server, or to all, and shows what they offer")
    .argument("[name]")
    .action((name: string | undefined) => act(async () => (await load()).testServers(config, name)));
  addSignIn(mcp, { config, act });
  mcp
    .command("serve")
    .description("serves an agent to MCP clients over standard input and output, or at an address")
    .option("--agent <name>", "which agent")
    .option("--model <provider/name>", "which model")
    .option("--config <file>", "take agents from this module or JSON file")
    .option("--http", "at an address of this machine; clients send the token of CAPSTAN_MCP_TOKEN")
    .option("--port <number>", "the port, default a free one", port)
    .option("--host <address>", "the address, default 127.0.0.1")
    .action((flags: ServeFlags) =>
      act(async () => (await import("./mcp-command-serve.ts")).serveCommand(config, flags)),
    );
}

function addSignIn(mcp: Command, { config, act }: Place): void {
  const load = () => import("./mcp-command.ts");
  mcp
    .command("login")
    .description("signs in to a server in the browser")
    .argument("<name>")
    .option(
      "--client-id <id>",
      "a client that was registered by hand; its secret, if it has one, in CAPSTAN_MCP_CLIENT_SECRET",
    )
    .option("--scope <scope>", "what to ask for")
    .option("--port <number>", "the port that the browser comes back to", port)
    .action((name: string, flags: LoginFlags) => act(async () => (await load()).loginServer(config, name, flags)));
  mcp
    .command("logout")
    .description("forgets the sign-in to a server")
    .argument("<name>")
    .action((name: string) => act(async () => (await load()).logoutServer(config, name)));
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0 && value < 65_536) return value;
  throw new InvalidArgumentError("It must be a port, 1 to 65535.");
}
