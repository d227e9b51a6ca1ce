import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agent,
  type Definitions,
  type Fact,
  isLive,
  memoryStore,
  openRuntime,
  redactor,
  storeEngine,
  systemClock,
  systemIds,
  textOf,
} from "@capstan/core";
import { scriptedModel } from "@capstan/core/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { shellTools } from "../shell.ts";
import { type ScriptedSite, scriptedSite } from "../web/scripted-site.ts";
import { bwrap } from "../workspaces/bwrap.ts";
import { localWorkspace } from "../workspaces/local.ts";
import { missingHere, suiteName } from "../workspaces/sandbox-here.ts";
import { sandboxed } from "../workspaces/sandboxed.ts";
import { broker, type BrokeredService, type Broker } from "./broker.ts";
import { BROKER_LIMITS } from "./limits.ts";

vi.setConfig({ testTimeout: 60_000 });

const SECRET = "s3cret-t0ken-ABCDEF";
const isMissing = process.platform === "linux" ? await missingHere(bwrap()) : "not Linux";

let site: ScriptedSite;
let opened: AsyncDisposable[] = [];
beforeEach(async () => {
  site = await scriptedSite((response, { path, headers, body, method }) => {
    if (path === "/v3/user")
      response
        .writeHead(302, { location: `${site.origin}/v3/users/me`, link: `<${site.origin}/v3/x>; rel=next` })
        .end();
    else if (path === "/v3/packed") response.writeHead(200, { "content-encoding": "gzip" }).end("x");
    else if (path === "/v3/endless") {
      response.writeHead(200);
      const more = (): void => {
        while (response.writable && response.write("x".repeat(1_048_576)));
      };
      response.on("drain", more);
      more();
    } else {
      response.writeHead(200, {
        "content-type": "application/json",
        "x-echo": headers.authorization ?? "",
        "set-cookie": "a=b",
      });
      const both = JSON.stringify({ method, path, headers, body });
      response.write(both.slice(0, 60));
      response.end(both.slice(60));
    }
  });
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
  opened = [];
  await site.close();
});

function github(options: Partial<BrokeredService> = {}): Broker {
  return broker({
    github: {
      url: `${site.origin}/v3/`,
      headers: { Authorization: `Bearer ${SECRET}` },
      env: "GITHUB_API_URL",
      allow: ["GET /user", "GET /repos/**", "POST /repos/*/issues", "GET /packed", "GET /endless"],
      allowPrivate: true,
      ...options,
    },
  });
}
/** As a runtime opens it. */
async function granted(keys: Broker, hidden = redactor([])) {
  const one = await keys.plugin.open?.({ redactor: hidden } as Definitions);
  if (one !== undefined) opened.push(one);
  const grant = await keys.grant();
  return { grant, url: grant.env()["GITHUB_API_URL"] ?? "" };
}

type Reply = { readonly status: number; readonly headers: Record<string, unknown>; readonly body: string };
/** Paths go out as they are written. */
function ask(
  url: string,
  path: string,
  { method = "GET", body, headers = {} }: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { hostname, port, path: pathname + path, method, headers, agent: false },
      (incoming) => {
        let read = "";
        incoming.setEncoding("latin1").on("data", (piece: string) => (read += piece));
        incoming.on("error", reject);
        incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: read }));
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

describe("broker", () => {
  it("PERM-20 adds the secret on the way out, and takes it out of what comes back", async () => {
    const { url } = await granted(github());
    expect(url).not.toContain(SECRET);
    const reply = await ask(url, "/repos/a/b?page=2", {
      headers: {
        authorization: "Bearer of-the-program",
        cookie: "a=b",
        "x-http-method-override": "DELETE",
        "x-own": "kept",
      },
    });
    expect(site.asked).toHaveLength(1);
    expect(site.asked[0]).toMatchObject({ method: "GET", path: "/v3/repos/a/b?page=2" });
    expect(site.asked[0]?.headers).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      "x-own": "kept",
      host: site.host,
    });
    for (const name of ["cookie", "x-http-method-override"]) expect(site.asked[0]?.headers).not.toHaveProperty(name);
    expect(reply.status).toBe(200);
    expect(reply.headers["x-echo"]).toBe("[secret]");
    expect(reply.headers).not.toHaveProperty("set-cookie");
    expect(reply.body).toContain('"authorization":"[secret]"');
    expect(JSON.stringify(reply)).not.toContain(SECRET);
  });

  it("PERM-20 refuses what is not allowed, however it is written", async () => {
    const { url } = await granted(github());
    const refused =
      "/ /users /user/ /repos /repos/../user /repos/%2e%2e/user /repos/..%2fuser /repos/%252e%252e/user /repos//x /repos/a\\..\\b " +
      "/repos/%5c..%5cuser /repos/a;b /repos/a%00 /repos/%zz /REPOS/a //repos/a /repos/x/. /repos/.%2e/y";
    for (const path of refused.split(" ")) expect([path, (await ask(url, path)).status]).toEqual([path, 403]);
    expect((await ask(url, "/repos/a", { method: "DELETE" })).status).toBe(403);
    expect((await ask(url, "/repos/a/b/issues", { method: "POST", body: "{}" })).status).toBe(403);
    expect(site.asked).toEqual([]);
    expect((await ask(url, "/repos/a/issues", { method: "POST", body: '{"title":"x"}' })).status).toBe(200);
    expect(site.asked[0]).toMatchObject({ method: "POST", body: '{"title":"x"}' });
    expect((await ask(url, "/repos/a", { method: "HEAD" })).status).toBe(200);
  });

  it("PERM-20 follows no redirect: the program does, through the broker", async () => {
    const { url } = await granted(github());
    const reply = await ask(url, "/user");
    expect(reply).toMatchObject({
      status: 302,
      headers: { location: `${url}/users/me`, link: `<${url}/x>; rel=next` },
    });
    expect(site.asked).toHaveLength(1);
  });

  it("PERM-20 knows nobody without the token of a run that goes on", async () => {
    const { grant, url } = await granted(github());
    const wrong = url.replace(/\/[^/]+\/github$/, "/00000000-0000-4000-8000-000000000000/github");
    expect((await ask(wrong, "/repos/a")).status).toBe(404);
    expect((await ask(url.replace(/github$/, "gitlab"), "/repos/a")).status).toBe(404);
    grant.end();
    expect((await ask(url, "/repos/a")).status).toBe(404);
    expect(site.asked).toEqual([]);
  });

  it("G12 bounds requests and answers, and takes no packed ones", async () => {
    const { url } = await granted(github());
    const body = "x".repeat(BROKER_LIMITS.requestBytes + 1);
    expect((await ask(url, "/repos/a/issues", { method: "POST", body })).status).toBe(502);
    expect((await ask(url, "/packed")).body).toContain("an encoding that was not asked for");
    await expect(ask(url, "/endless")).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });

  it("G24 survives what is no request", async () => {
    const { url } = await granted(github());
    const port = Number(new URL(url).port);
    for (const sent of [
      "\0\0\0",
      "GET http://evil/ HTTP/1.1\r\nhost: x\r\n\r\n",
      "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ])
      await new Promise<void>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => socket.write(sent));
        socket
          .on("data", () => socket.end())
          .on("error", () => undefined)
          .on("close", () => resolve());
      });
    expect((await ask(url, "/repos/a")).status).toBe(200);
  });

  it("G21 dials no private address unless the service may be there", async () => {
    const { url } = await granted(github({ url: "https://localhost/", allowPrivate: false }));
    expect(await ask(url, "/repos/a")).toMatchObject({
      status: 502,
      body: expect.stringContaining("leads into a private network"),
    });
  });

  it("G23 asks a function for each request, tells the runtime its secrets, and hides its failure", async () => {
    const hidden = redactor([]);
    let round = 0;
    const headers = (): { authorization: string } => {
      round += 1;
      if (round === 3) throw new Error(`cannot refresh ${SECRET}`);
      return { authorization: `Basic ${Buffer.from(`user:pass-word-${round}`).toString("base64")}` };
    };
    const { url } = await granted(github({ headers }), hidden);
    for (const n of [1, 2]) {
      expect((await ask(url, "/repos/a")).status).toBe(200);
      expect(hidden.text(`it is pass-word-${n}.`)).toBe("it is [secret].");
    }
    const failed = await ask(url, "/repos/a");
    expect(failed).toMatchObject({
      status: 502,
      body: '{"error":"github gave no answer: the credentials of github could not be had"}',
    });
  });

  it("is not there before and after the runtime, and leaves no socket", async () => {
    const keys = github();
    await expect(keys.grant()).rejects.toMatchObject({ code: "config-invalid" });
    const { grant, url } = await granted(keys);
    if (process.platform === "linux") expect(existsSync(grant.socket ?? "")).toBe(true);
    await opened.pop()?.[Symbol.asyncDispose]();
    if (grant.socket !== undefined) expect(existsSync(grant.socket)).toBe(false);
    await expect(ask(url, "/repos/a")).rejects.toThrow();
    await expect(keys.grant()).rejects.toMatchObject({ code: "config-invalid" });
  });

  it("says what is wrong with a service", () => {
    const wrong: readonly Partial<BrokeredService>[] = [
      { url: "nowhere" },
      { url: "https://user:pass@host/" },
      { url: "http://host/", allowPrivate: false },
      { url: "file:///etc" },
      { env: "NOT A NAME" },
      { allow: ["get /x"] },
      { allow: ["GET x"] },
    ];
    for (const options of wrong)
      expect(() => github(options)).toThrow(expect.objectContaining({ code: "config-invalid" }));
  });
});

const CONNECT = `address=\${GITHUB_API_URL#http://}; host=\${address%%/*}; path=/\${address#*/}
exec 3<>"/dev/tcp/\${host%:*}/\${host#*:}"`;
/** What a program finds of itself and of what it can see, and what it gets with the address it was given. */
const LOOK = `env; cat /proc/self/environ /proc/self/cmdline | tr '\\0' '\\n'
${CONNECT}
printf 'GET %s/repos/a HTTP/1.0\\r\\n\\r\\n' "$path" >&3
cat <&3`;
const LOOK_AROUND = `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'
grep -rIl ${SECRET.slice(0, 8)} /tmp /run "$HOME" | sed "s/^/FOUND /"`;

const places = [
  ["a folder of this machine", undefined, "none"],
  ["bwrap without a network", bwrap({ network: false }), "bwrap, no network"],
  ["bwrap without a network and socat", bwrap({ network: false }, { socat: [] }), "bwrap, no network"],
  ["bwrap with a network", bwrap({ network: true }), "bwrap, network"],
] as const;

describe(suiteName("broker in workspaces", isMissing), () => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-brokered-")));
    writeFileSync(join(folder, "file"), "x");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each(places)(
    "PERM-20 in %s a command uses the secret and finds it nowhere",
    async (_name, sandbox, confinement) => {
      if (sandbox !== undefined && isMissing !== undefined) return;
      const keys = github();
      const looking = sandbox === undefined ? LOOK : `${LOOK_AROUND}\n${LOOK}`;
      const commands = [looking, "true"].map((command) => ({ calls: [{ name: "shell", input: { command } }] }));
      const model = scriptedModel([...commands, { text: "Done." }]);
      const worker = agent({ name: "worker", model, instructions: "Work.", tools: [...shellTools()] });
      const runtime = await openRuntime({
        agents: [worker],
        engine: storeEngine(memoryStore(), { clock: systemClock, ids: systemIds(() => systemClock.now()) }),
        workspaces: {
          local:
            sandbox === undefined
              ? (root) => localWorkspace(root, { gateway: keys })
              : sandboxed({ sandbox, gateway: keys }),
        },
        plugins: [keys.plugin],
        permission: { allow: ["shell"] },
      });
      try {
        const run = await runtime.send("worker", "Go", { workspace: folder });
        const facts: Fact[] = [];
        const notices: string[] = [];
        for await (const { event } of run.events()) {
          if (!isLive(event)) facts.push(event);
          else if (event.type === "notice") notices.push(JSON.stringify(event));
        }
        const outputs = facts.flatMap((fact) => (fact.type === "tool.finished" ? [fact] : []));
        const said = textOf(outputs[0]?.output.content ?? []);
        expect(said).toContain("GITHUB_API_URL=http://127.0.0.1:");
        expect(said).toContain('"path":"/v3/repos/a"');
        expect(said).not.toContain(SECRET);
        expect(said).not.toContain("still ran when the command ended");
        expect(site.asked.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${SECRET}`]);
        expect(outputs.map(({ status }) => status)).toEqual(["ok", "ok"]);
        expect(facts.find((fact) => fact.type === "tool.started")).toMatchObject({ confinement });
        expect(facts.filter((fact) => fact.type === "data")).toMatchObject([
          {
            name: "plugin/broker",
            data: { requests: [{ service: "github", method: "GET", path: "/repos/a", status: 200 }] },
          },
        ]);
        expect(notices.filter((one) => one.includes("github: GET /repos/a"))).toHaveLength(1);
        expect(JSON.stringify(facts)).not.toContain(SECRET);
      } finally {
        await runtime.close();
      }
      expect(
        readdirSync(tmpdir()).filter((name) => name.includes(`.${process.pid}.`) && name.startsWith("capstan-broker-")),
      ).toEqual([]);
    },
  );

  it("PERM-20 a program that holds a connection open ends with its run", async () => {
    if (isMissing !== undefined) return;
    const keys = github();
    await granted(keys);
    const workspace = await localWorkspace(folder, { confine: (root) => bwrap().open(root), gateway: keys });
    const script = `${CONNECT}
sleep 1000000 <&3 & exec 3>&-`;
    const options = { timeoutMs: 30_000, maxOutputBytes: 10_000, signal: new AbortController().signal };
    const outcome = await workspace.run(["/bin/bash", "-c", script], options);
    expect(outcome).toMatchObject({ exitCode: 0, killedBy: null, leftover: 1 });
    await workspace.close();
  });

  it("refuses sandboxes whose programs cannot reach it", async () => {
    const confiner = {
      confinement: "other",
      begin: () => Promise.reject(new Error("unused")),
      close: async () => undefined,
    };
    const opening = localWorkspace(folder, { confine: async () => confiner, gateway: github() });
    await expect(opening).rejects.toMatchObject({ code: "sandbox-unavailable" });
  });
});
