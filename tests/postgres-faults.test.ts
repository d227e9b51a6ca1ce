import { type Clock, type Fact, type NewSession, type Store, systemClock } from "@capstan/core";
import { postgresStore } from "@capstan/engines/postgres";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { cutProxy, type CutProxy } from "./harness/cut-proxy.ts";
import { pgliteServer, STARTING_MS, type TestServer } from "./harness/pglite-server.ts";
import { admin, freshSchema, SERVER_URL } from "./harness/postgres-servers.ts";

/** Time runs a hundred times as fast, so that nobody waits for what is given up. */
const HASTE = 100;
const hasty: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * HASTE,
  after: (ms, fire, options) => systemClock.after(ms / HASTE, fire, options),
};

describe("postgresStore in trouble", { timeout: 60_000 }, () => {
  let server: TestServer | undefined;
  beforeAll(async () => {
    server = await pgliteServer();
    return () => server?.close();
  }, STARTING_MS);
  const place = (url = server?.url ?? ""): { readonly url: string; readonly schema: string } => {
    const { schema, drop } = freshSchema(url);
    onTestFinished(drop);
    return { url, schema };
  };
  const open = async (at: { readonly url: string; readonly schema: string }, clock?: Clock): Promise<Store> => {
    const store = await postgresStore({ ...at, ...(clock !== undefined && { clock }) });
    onTestFinished(() => store.close().catch(() => undefined));
    return store;
  };
  const behindProxy = async (): Promise<{
    readonly proxy: CutProxy;
    readonly at: { readonly url: string; readonly schema: string };
  }> => {
    const at = place();
    const url = new URL(at.url);
    const proxy = await cutProxy(Number(url.port));
    onTestFinished(() => proxy.close());
    url.port = String(proxy.port);
    return { proxy, at: { ...at, url: url.href } };
  };
  const stepsOf = async (store: Store): Promise<readonly number[]> =>
    (await store.read("ses_1", { after: 0 })).map(({ seq }) => seq);

  it("DUR-13 EDGE-01 G1 an append whose answer was cut off is acknowledged once, and stands in the log once", async () => {
    const { proxy, at } = await behindProxy();
    const store = await open(at);
    const epoch = await held(store);
    await store.append({ sessionId: "ses_1", epoch, facts: [fact(2)] }, { sync: true });
    proxy.cutAfter("number-three");
    await store.append({ sessionId: "ses_1", epoch, facts: [fact(3, "number-three")] }, { sync: true });
    proxy.cutAfter("COMMIT");
    await Promise.all([
      store.append({ sessionId: "ses_1", epoch, facts: [fact(4)] }, { sync: true }),
      store.append({ sessionId: "ses_1", epoch, facts: [fact(5)], consumes: [] }, { sync: false }),
      store.submit(letter("a")),
    ]);
    expect(await stepsOf(store)).toEqual([1, 2, 3, 4, 5]);
    expect((await store.mail("ses_1")).map(({ key }) => key)).toEqual(["a"]);
    const other = { ...fact(5), data: "another" } as Fact;
    await expect(store.append({ sessionId: "ses_1", epoch, facts: [other] }, { sync: true })).rejects.toMatchObject({
      code: "lost-ownership",
    });
  });

  it("DUR-13 G1 an input whose commit was cut off keeps its first ids", async () => {
    const { proxy, at } = await behindProxy();
    const store = await open(at);
    await store.create(session("ses_1"));
    proxy.cutAfter("COMMIT");
    expect(await store.submit(letter("a"))).toEqual({ sessionId: "ses_1", inputId: "in_a" });
    expect(await store.submit({ ...letter("a"), accepted: { sessionId: "ses_1", inputId: "in_b" } })).toEqual({
      sessionId: "ses_1",
      inputId: "in_a",
    });
    expect(await store.mail("ses_1")).toHaveLength(1);
  });

  it("DUR-13 G1 G8 a server that stays away is a typed error and no acknowledgement; the store goes on when it is back", async () => {
    const { proxy, at } = await behindProxy();
    const store = await open(at, hasty);
    const epoch = await held(store);
    proxy.down();
    const asked = await Promise.allSettled([
      store.append({ sessionId: "ses_1", epoch, facts: [fact(2)] }, { sync: true }),
      store.submit(letter("a")),
      store.list({}),
      store.beat("owner-a"),
    ]);
    for (const one of asked)
      expect(one).toMatchObject({ status: "rejected", reason: { code: "store-failed", retryable: true } });
    expect(String((asked[0] as PromiseRejectedResult).reason)).not.toContain("postgres@"); // who it is stays out of errors
    proxy.mend();
    await store.append({ sessionId: "ses_1", epoch, facts: [fact(2)] }, { sync: true });
    await store.submit(letter("a"));
    expect(await stepsOf(store)).toEqual([1, 2]);
  });

  it("DUR-13 a watcher hears of changes again after its connection was cut", async () => {
    const { proxy, at } = await behindProxy();
    const store = await open(at);
    await store.create(session("ses_1"));
    let told = Promise.withResolvers<void>();
    const stop = store.watch(() => told.resolve());
    const second = await open(at);
    await second.submit(letter("a"));
    await told.promise;
    proxy.down();
    proxy.mend();
    told = Promise.withResolvers<void>();
    await second.submit(letter("b"));
    await told.promise;
    stop();
    expect(await store.mail("ses_1")).toHaveLength(2);
  });

  it("EDGE-14 G9 refuses a newer store, a schema of others and a bad name, and changes nothing", async () => {
    const at = place();
    await (await open(at)).close();
    await admin(at.url, `INSERT INTO "${at.schema}".migrations VALUES (99, now())`);
    await expect(postgresStore(at)).rejects.toMatchObject({ code: "store-newer" });
    const foreign = place();
    await admin(foreign.url, `CREATE SCHEMA "${foreign.schema}"; CREATE TABLE "${foreign.schema}".sessions (x int)`);
    await expect(postgresStore(foreign)).rejects.toMatchObject({ code: "store-damaged" });
    for (const schema of ["Upper", 'a"b', "", "1a", "x".repeat(60)])
      await expect(postgresStore({ ...at, schema })).rejects.toMatchObject({ code: "config-invalid" });
    for (const url of ["", "no url", "http://"])
      await expect(postgresStore({ url })).rejects.toMatchObject({ code: "config-invalid" });
    await expect(postgresStore({ url: "postgres://x@127.0.0.1:1/y" })).rejects.toMatchObject({ code: "store-failed" });
  });

  it("DUR-13 several that open a new store at once make it once", async () => {
    const at = place();
    const stores = await Promise.all([open(at), open(at), open(at)]);
    await stores[0]?.create(session("ses_1"));
    for (const store of stores) expect(await store.list({})).toHaveLength(1);
  });

  for (const [what, sql] of [
    ["an altered fact", "UPDATE facts SET body = replace(body, 'two', 'TWO') WHERE last = 2"],
    ["a missing fact", "DELETE FROM facts WHERE last = 2"],
    ["a lost tail", "DELETE FROM facts WHERE last = 3"],
    ["an altered summary", "UPDATE sessions SET summary = replace(summary, 'guide', 'other')"],
  ] as const) {
    it(`EDGE-04 G7 ${what} closes that session to new work and leaves the others usable`, async () => {
      const at = place();
      const store = await open(at);
      const epoch = await held(store);
      await store.append({ sessionId: "ses_1", epoch, facts: [fact(2, "two")] }, { sync: true });
      await store.append({ sessionId: "ses_1", epoch, facts: [fact(3)] }, { sync: true });
      await store.release("ses_1", epoch);
      await admin(at.url, `SET search_path TO "${at.schema}"; ${sql}`);
      await store.create(session("ses_2"));
      const found = await Promise.allSettled([store.read("ses_1", { after: 0 }), store.claim("ses_1", "owner-b")]);
      expect(found.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
      for (const one of found)
        if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "session-damaged" });
      expect((await store.summary("ses_1"))?.status).toBe("quarantined");
      await expect(store.submit(letter("a"))).rejects.toMatchObject({ code: "session-damaged" });
      expect(await store.claim("ses_2", "owner-b")).toEqual({ epoch: 1, head: 1 });
    });
  }

  it("DUR-13 takes names that are longer than an index does, and finds by them", async () => {
    const store = await open(place());
    const long = "k".repeat(20_000);
    const made = { ...session(`ses_${long}`), key: long, tenant: long };
    expect(await store.create(made)).toEqual({ sessionId: `ses_${long}`, created: true });
    expect(await store.create({ ...session("ses_2"), key: long, tenant: long })).toMatchObject({ created: false });
    expect((await store.list({ key: long, tenant: long })).map(({ key }) => key)).toEqual([long]);
    const mail = { ...letter("a"), sessionId: made.sessionId, key: long };
    await store.submit(mail);
    await store.submit(mail);
    expect((await store.mail(made.sessionId)).map(({ key }) => key)).toEqual([long]);
    expect((await store.pending()).map(({ sessionId }) => sessionId)).toEqual([made.sessionId]);
  });

  describe.skipIf(SERVER_URL === undefined)("of a real server", () => {
    const url = SERVER_URL ?? "";

    it("DUR-13 EDGE-01 G1 connections that are killed over and over lose and double nothing", async () => {
      const at = place(url);
      const store = await open(at);
      const epoch = await held(store);
      let done = false;
      const killing = (async () => {
        let kills = 0;
        while (!done)
          kills += (
            await admin(
              url,
              `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'capstan' AND query LIKE '%${"FROM held"}%'`,
            )
          ).length;
        return kills;
      })();
      for (let seq = 2; seq <= 400; seq += 1)
        await store.append({ sessionId: "ses_1", epoch, facts: [fact(seq)] }, { sync: seq % 2 === 0 });
      done = true;
      expect(await killing).toBeGreaterThan(3);
      expect(await stepsOf(store)).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
    });

    it("DUR-13 says of a server that takes no writes, or no more connections, what is wrong", async () => {
      const at = place(url);
      await (await open(at)).close();
      const readonly = new URL(url);
      readonly.searchParams.set("options", "-c default_transaction_read_only=on");
      const store = await open({ ...at, url: readonly.href });
      await expect(store.create(session("ses_1"))).rejects.toMatchObject({ code: "store-readonly" });
      expect(await store.list({})).toEqual([]);
      const role = `limited_${at.schema}`;
      await admin(url, `CREATE ROLE ${role} LOGIN CONNECTION LIMIT 0`);
      onTestFinished(async () => void (await admin(url, `DROP ROLE ${role}`)));
      const limited = new URL(url);
      limited.username = role;
      await expect(postgresStore({ ...at, url: limited.href })).rejects.toMatchObject({ code: "store-failed", retryable: true }); // prettier-ignore
      limited.username = "nobody_at_all";
      await expect(postgresStore({ ...at, url: limited.href })).rejects.toMatchObject({ code: "config-invalid" });
    });

    it("DUR-08 DUR-13 processes that write to the same sessions in different orders do not wait for each other", async () => {
      const at = place(url);
      const first = await open(at);
      const stores = [first, await open(at), await open(at)];
      const ids = Array.from({ length: 6 }, (_, index) => `ses_${index}`);
      await Promise.all(ids.map((id) => first.create(session(id))));
      await Promise.all(
        stores.flatMap((store, number) =>
          Array.from({ length: 30 }, async (_, round) => {
            const order = (number + round) % 2 === 0 ? ids : ids.toReversed();
            await Promise.all(order.map((sessionId) => store.submit({ ...letter(`${number}/${round}`), sessionId })));
          }),
        ),
      );
      for (const id of ids) expect(await stores[1]?.mail(id)).toHaveLength(90);
    });
  });
});

async function held(store: Store): Promise<number> {
  await store.create(session("ses_1"));
  return (await store.claim("ses_1", "owner-a"))?.epoch ?? 0;
}

function session(sessionId: string): NewSession {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const common = { sessionId, agent: "guide", createdAt: 0, updatedAt: 0, head: 1 };
  return { sessionId, facts: [fact(1)], summary: { ...common, status: "idle", queued: 0, openRequests: [], usage } };
}

function fact(seq: number, data = "x"): Fact {
  return { type: "data", name: "note", data, key: `data/${seq}`, seq, at: seq, runId: "run_1" };
}

function letter(key: string): Parameters<Store["submit"]>[0] {
  const body = { type: "child-finished", childSessionId: key } as const;
  const accepted = { sessionId: "ses_1", inputId: `in_${key}` };
  return { sessionId: "ses_1", key, digest: key, actor: { id: "a", door: "t" }, accepted, body };
}
