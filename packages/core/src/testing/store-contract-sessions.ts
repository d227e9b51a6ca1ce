/** Store contract: creating, listing, moving keys, removing, blobs and what outlives the store object. */

import assert from "node:assert/strict";
import { LIMITS } from "../words/limits.ts";
import type { Store } from "../ports/store.ts";
import { sha256 } from "../words/json.ts";
import {
  dataFact,
  held,
  newSession,
  rejects,
  sendMail,
  seqs,
  summaryOf,
  withStatus,
  write,
  type StoreCase,
} from "./store-contract-fixture.ts";

export const sessionCases: readonly StoreCase[] = [
  {
    name: "SESS-01 creates a session once and answers with it again",
    async run(store) {
      assert.deepEqual(await store.create(newSession("ses_1")), { sessionId: "ses_1", created: true });
      assert.deepEqual(await store.create(newSession("ses_1", { title: "x" })), { sessionId: "ses_1", created: false });
      assert.deepEqual(await seqs(store, "ses_1"), [1]);
      assert.equal((await summaryOf(store, "ses_1")).title, undefined);
    },
  },
  {
    name: "SESS-01 answers a known key of the same tenant with the session that has it",
    async run(store) {
      await store.create(newSession("ses_1", { key: "chat" }));
      assert.deepEqual(await store.create(newSession("ses_2", { key: "chat" })), {
        sessionId: "ses_1",
        created: false,
      });
      const foreign = await store.create(newSession("ses_3", { key: "chat", tenant: "acme" }));
      assert.deepEqual(foreign, { sessionId: "ses_3", created: true });
      assert.deepEqual(await store.create(newSession("ses_4", { key: "chat", tenant: "acme" })), {
        sessionId: "ses_3",
        created: false,
      });
      assert.equal(await store.summary("ses_2"), undefined);
      await rejects(store.read("ses_2", { after: 0 }), "session-not-found");
    },
  },
  {
    name: "creates one session when several ask for the same key in one tick",
    async run(store) {
      const made = ["ses_1", "ses_2", "ses_3"].map((id) => store.create(newSession(id, { key: "chat" })));
      assert.deepEqual(await Promise.all(made), [
        { sessionId: "ses_1", created: true },
        { sessionId: "ses_1", created: false },
        { sessionId: "ses_1", created: false },
      ]);
      assert.equal((await store.list({})).length, 1);
    },
  },
  {
    name: "SESS-01 keeps the summary that create and append give, with the true head",
    async run(store) {
      const made = newSession("ses_1", { key: "chat", tenant: "acme", title: "Plans", parent: "ses_0", at: 5 });
      await store.create(made);
      assert.deepEqual(await store.summary("ses_1"), made.summary);
      const claim = await store.claim("ses_1", "owner-a");
      assert.ok(claim);
      const summary = { ...made.summary, title: "New", status: "running", updatedAt: 9, head: 2 } as const;
      await store.append(write("ses_1", claim.epoch, [dataFact(2, 1)], { summary }), { sync: false });
      assert.deepEqual(await store.summary("ses_1"), summary);
      await store.append(write("ses_1", claim.epoch, [dataFact(3, 1)]), { sync: false });
      assert.deepEqual(await store.summary("ses_1"), { ...summary, head: 3 });
    },
  },
  {
    name: "SESS-01 lists newest first, in pages, by every filter",
    async run(store) {
      await store.create(newSession("ses_1", { key: "k", agent: "cook", at: 10 }));
      await store.create(newSession("ses_9", { tenant: "acme", key: "k", at: 30 }));
      await store.create(newSession("ses_5", { parent: "ses_1", at: 20 }));
      const claim = await store.claim("ses_5", "owner-a");
      await withStatus(store, "ses_5", claim?.epoch ?? 0, "parked");
      const ids = async (filter: Parameters<Store["list"]>[0]): Promise<readonly string[]> =>
        (await store.list(filter)).map((summary) => summary.sessionId);
      assert.deepEqual(await ids({}), ["ses_5", "ses_9", "ses_1"]);
      assert.deepEqual(await ids({ limit: 2 }), ["ses_5", "ses_9"]);
      assert.deepEqual(await ids({ limit: 2, before: "ses_9" }), ["ses_1"]);
      assert.deepEqual(await ids({ agent: "cook" }), ["ses_1"]);
      assert.deepEqual(await ids({ agent: "helper", limit: 1 }), ["ses_5"]);
      assert.deepEqual(await ids({ key: "k" }), ["ses_9", "ses_1"]);
      assert.deepEqual(await ids({ key: "k", tenant: "acme" }), ["ses_9"]);
      assert.deepEqual(await ids({ tenant: "other" }), []);
      assert.deepEqual(await ids({ parent: "ses_1" }), ["ses_5"]);
      assert.deepEqual(await ids({ status: "parked" }), ["ses_5"]);
      assert.deepEqual(await ids({ status: "idle", before: "ses_9" }), ["ses_1"]);
    },
  },
  {
    name: "SUB-08 lists a session by the agent that has taken it over",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      const summary = { ...(await summaryOf(store, "ses_1")), agent: "cook", head: 2 };
      await store.append(write("ses_1", epoch, [dataFact(2, 1)], { summary }), { sync: false });
      assert.deepEqual(await store.list({ agent: "cook" }), [summary]);
      assert.deepEqual(await store.list({ agent: "helper" }), []);
    },
  },
  {
    name: "moves a key to another session, once",
    async run(store) {
      const { epoch } = await held(store, "ses_2");
      const from = newSession("ses_1", { key: "chat" });
      await store.create(from);
      await store.moveKey("ses_1", "ses_2");
      await store.moveKey("ses_1", "ses_2");
      assert.deepEqual(await store.create(newSession("ses_3", { key: "chat" })), {
        sessionId: "ses_2",
        created: false,
      });
      assert.equal((await summaryOf(store, "ses_1")).key, undefined);
      const summary = await summaryOf(store, "ses_2");
      assert.equal(summary.key, "chat");
      const { key: _, ...older } = summary;
      await store.append(write("ses_2", epoch, [], { summary: older }), { sync: false });
      assert.equal((await summaryOf(store, "ses_2")).key, "chat");
      await rejects(store.moveKey("ses_0", "ses_2"), "session-not-found");
    },
  },
  {
    name: "SESS-01 removes a session with all that belongs to it, and nothing else",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      await store.create(newSession("ses_2", { key: "chat" }));
      await store.submit(sendMail("ses_1", "a", "hi"));
      const timers = [{ name: "wake", at: 5 }];
      const snapshot = { seq: 1, version: 1, data: {} };
      await store.append(write("ses_1", epoch, [dataFact(2, 1)], { timers, snapshot }), { sync: false });
      await store.remove("ses_1");
      await store.remove("ses_1");
      assert.equal(await store.summary("ses_1"), undefined);
      assert.equal(await store.snapshot("ses_1"), undefined);
      await rejects(store.read("ses_1", { after: 0 }), "session-not-found");
      await rejects(store.mail("ses_1"), "session-not-found");
      await rejects(store.claim("ses_1", "owner-b"), "session-not-found");
      await rejects(store.submit(sendMail("ses_1", "b", "hi")), "session-not-found");
      await rejects(store.append(write("ses_1", epoch, [dataFact(3, 1)]), { sync: false }), "lost-ownership");
      await store.release("ses_1", epoch);
      assert.equal(await store.fireTimers(10), undefined);
      assert.deepEqual(await store.pending(), []);
      assert.deepEqual(await seqs(store, "ses_2"), [1]);
      assert.deepEqual(await store.create(newSession("ses_1")), { sessionId: "ses_1", created: true });
      assert.deepEqual(await store.mail("ses_1"), []);
      assert.deepEqual(await store.submit(sendMail("ses_1", "a", "other")), sendMail("ses_1", "a", "other").accepted);
    },
  },
  {
    name: "lets a removed session's key be used again",
    async run(store) {
      await store.create(newSession("ses_1", { key: "chat" }));
      await store.remove("ses_1");
      assert.deepEqual(await store.create(newSession("ses_2", { key: "chat" })), { sessionId: "ses_2", created: true });
    },
  },
  {
    name: "keeps blobs by hash, apart from the caller's bytes",
    async run(store) {
      const bytes = new Uint8Array([0, 1, 2, 255]);
      const hash = sha256(bytes);
      await store.putBlob(hash, bytes);
      await store.putBlob(hash, bytes);
      bytes[0] = 9;
      assert.deepEqual(Array.from((await store.blob(hash)) ?? []), [0, 1, 2, 255]);
      await store.putBlob(sha256(""), new Uint8Array());
      assert.equal((await store.blob(sha256("")))?.length, 0);
      assert.equal(await store.blob(sha256("other")), undefined);
      await rejects(store.putBlob(sha256("big"), new Uint8Array(LIMITS.blobBytes + 1)), "blob-too-large");
    },
  },
  {
    name: "removes blobs that no session names any more, and keeps those not yet named",
    async run(store) {
      const [own, shared, early] = ["own", "shared", "early"].map((text) => sha256(text)) as [string, string, string];
      for (const text of ["own", "shared", "early"]) await store.putBlob(sha256(text), new TextEncoder().encode(text));
      const one = await held(store, "ses_1");
      const two = await held(store, "ses_2");
      const prefix = {
        type: "prefix.set",
        hash: "h",
        blob: own,
        cause: "test",
        key: "prefix/2",
        seq: 2,
        at: 1,
      } as const;
      const part = { data: { type: "blob", hash: shared, size: 6 } };
      await store.append(write("ses_1", one.epoch, [prefix, dataFact(3, part)]), { sync: false });
      await store.append(write("ses_2", two.epoch, [dataFact(2, part)]), { sync: false });
      await store.remove("ses_1");
      assert.equal(await store.blob(own), undefined);
      assert.ok(await store.blob(shared));
      assert.ok(await store.blob(early));
      await store.remove("ses_2");
      assert.equal(await store.blob(shared), undefined);
    },
  },
  {
    name: "SESS-15 copies a session only as long as it is there, so that the copy has what it names",
    async run(store) {
      const hash = sha256("own");
      await store.putBlob(hash, new TextEncoder().encode("own"));
      const { epoch } = await held(store, "ses_1");
      const named = dataFact(2, { data: { type: "blob", hash, size: 3 } });
      await store.append(write("ses_1", epoch, [named]), { sync: false });
      const copy = (sessionId: string): Parameters<Store["create"]>[0] => {
        const made = newSession(sessionId);
        return { ...made, facts: [...made.facts, named], copyOf: "ses_1" };
      };
      assert.equal((await store.create(copy("ses_2"))).created, true);
      await store.remove("ses_1");
      assert.equal((await store.blob(hash))?.length, 3);
      await rejects(store.create(copy("ses_3")), "session-not-found");
      assert.equal(await store.summary("ses_3"), undefined);
    },
  },
  {
    name: "SESS-19 says of a session whether a living owner has it",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      assert.equal((await summaryOf(store, "ses_1")).held, undefined); // it never registered: it is gone
      await store.register("owner-a");
      const summary = await summaryOf(store, "ses_1");
      assert.equal(summary.held, true);
      assert.deepEqual(await store.list({}), [summary]);
      await store.append(write("ses_1", epoch, [dataFact(2, 1)], { summary }), { sync: false });
      await store.release("ses_1", epoch);
      assert.equal((await summaryOf(store, "ses_1")).held, undefined);
    },
  },
  {
    name: "G1 keeps all that was stored when it is opened again",
    async run(store, { reopen }) {
      if (reopen === undefined) return;
      const { epoch } = await held(store, "ses_1");
      await store.submit(sendMail("ses_1", "a", "hi"));
      await store.submit(sendMail("ses_1", "b", "ho"));
      const more = { consumes: [1], timers: [{ name: "wake", at: 5 }], snapshot: { seq: 2, version: 3, data: [1] } };
      await store.append(write("ses_1", epoch, [dataFact(2, "two")], more), { sync: true });
      await store.putBlob(sha256("x"), new TextEncoder().encode("x"));
      const before = [await store.read("ses_1", { after: 0 }), await store.mail("ses_1"), await store.summary("ses_1")];
      const again = await reopen();
      const after = [await again.read("ses_1", { after: 0 }), await again.mail("ses_1"), await again.summary("ses_1")];
      assert.deepEqual(after, before);
      assert.deepEqual(await again.snapshot("ses_1"), { seq: 2, version: 3, data: [1] });
      assert.deepEqual(await again.submit(sendMail("ses_1", "a", "hi")), sendMail("ses_1", "a", "hi").accepted);
      await rejects(again.submit(sendMail("ses_1", "a", "other")), "idempotency-conflict");
      assert.equal((await again.claim("ses_1", "owner-b", "owner-a"))?.epoch, epoch + 1);
      assert.equal(await again.fireTimers(5), undefined);
      assert.equal((await again.mail("ses_1")).length, 2);
      assert.equal((await again.blob(sha256("x")))?.length, 1);
    },
  },
  {
    name: "may be closed twice",
    async run(store) {
      await store.create(newSession("ses_1"));
      await store.close();
      await store.close();
    },
  },
];
