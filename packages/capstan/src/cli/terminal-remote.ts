/** The terminal on the sessions of a server: nothing runs here. */

import { CapstanError } from "@capstan/core";
import { remoteRuntime } from "@capstan/server/client";
import type { TerminalEnd } from "@capstan/tui";
import { usage } from "./failure.ts";
import { serveToken } from "./serve-command-token.ts";
import type { TerminalFlags } from "./terminal-command.ts";
import { keepTheme, type TerminalLook } from "./terminal-look.ts";

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);
const WAIT_MS = 10_000;

/** Throws `usage` for an address that is none, and what the server says. */
export async function openRemote(url: string, flags: TerminalFlags, look: TerminalLook): Promise<TerminalEnd> {
  const token = await tokenFor(url);
  const runtime = remoteRuntime(url, { token });
  try {
    const agent = flags.agent ?? (await firstAgent(url, token));
    const { openTerminal } = await import("@capstan/tui");
    return await openTerminal({
      runtime,
      agent,
      sessionId: flags.session,
      mode: flags.mode,
      model: flags.model,
      notes: [`The sessions of ${url}: what runs, runs there.`],
      look,
      host: { keepTheme },
    });
  } finally {
    await runtime.close();
  }
}

/** The token of this machine goes to this machine only. */
async function tokenFor(url: string): Promise<string> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw usage(`--url takes an address such as http://127.0.0.1:4310, not ${JSON.stringify(url)}`);
  const given = process.env["CAPSTAN_TOKEN"]?.trim() ?? "";
  if (given !== "") return given;
  if (LOOPBACK.has(parsed.hostname)) return (await serveToken(process.env)).token;
  throw usage("Set CAPSTAN_TOKEN to the token of that server");
}

async function firstAgent(url: string, token: string): Promise<string> {
  const response = await fetch(`${url.replace(/\/$/, "")}/agents`, {
    headers: { authorization: `Bearer ${token}` },
    redirect: "error",
    signal: AbortSignal.timeout(WAIT_MS),
  }).catch((cause: unknown) => {
    throw new CapstanError("server-unreachable", `Nothing answers at ${url}; start "capstan serve" there`, { cause });
  });
  const body: unknown = response.ok ? await response.json() : undefined;
  const agents =
    typeof body === "object" && body !== null && "agents" in body && Array.isArray(body.agents)
      ? (body.agents as readonly unknown[])
      : [];
  const [first] = agents;
  if (typeof first === "string") return first;
  throw usage(
    response.ok
      ? "The server offers no agent; name one with --agent"
      : `The server at ${url} refuses (${response.status}); is CAPSTAN_TOKEN its token?`,
  );
}
