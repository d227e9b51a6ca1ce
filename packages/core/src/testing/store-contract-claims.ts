/** Store contract: who holds a session, what a stale holder may not do, signs of life, changes made by others. */

import assert from "node:assert/strict";
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

export const claimCases: readonly StoreCase[] = [
  {
    name: "DUR-08 gives a session to one owner at a time and raises the epoch with each claim",
    async run(store) {
      await store.create(newSession("ses_1"));
      const first = await store.claim("ses_1", "owner-a");
      assert.equal(first?.head, 1);
      assert.equal(await store.claim("ses_1", "owner-b"), undefined);
      assert.equal(await store.claim("ses_1", "owner-b", "owner-c"), undefined);
      const second = await store.claim("ses_1", "owner-b", "owner-a");
      assert.ok(first !== undefined && second !== undefined && second.epoch > first.epoch);
      await store.release("ses_1", first.epoch);
      assert.equal(await store.claim("ses_1", "owner-a"), undefined);
      await store.release("ses_1", second.epoch);
      const third = await store.claim("ses_1", "owner-a", "owner-z");
      assert.ok(third !== undefined && third.epoch > second.epoch);
      await rejects(store.claim("ses_0", "owner-a"), "session-not-found");
    },
  },
  {
    name: "DUR-08 gives a session to one of many that claim it in one tick",
    async run(store) {
      await store.create(newSession("ses_1"));
      const claims = await Promise.all(["a", "b", "c", "d"].map((owner) => store.claim("ses_1", owner)));
      assert.equal(claims.filter((claim) => claim !== undefined).length, 1);
    },
  },
  {
    name: "EDGE-04 G6 writes nothing for a stale epoch",
    async run(store) {
      const old = await held(store, "ses_1");
      await store.submit(sendMail("ses_1", "a", "hi"));
      const now = await store.claim("ses_1", "owner-b", "owner-a");
      const summary = { ...(await summaryOf(store, "ses_1")), title: "stale" };
      const more = {
        summary,
        consumes: [1],
        timers: [{ name: "t", at: 1 }],
        snapshot: { seq: 1, version: 1, data: 1 },
      };
      const stale = write("ses_1", old.epoch, [dataFact(2, "stale")], more);
      await rejects(store.append(stale, { sync: true }), "lost-ownership");
      await rejects(store.append(write("ses_1", old.epoch, []), { sync: false }), "lost-ownership");
      assert.deepEqual(await seqs(store, "ses_1"), [1]);
      assert.equal((await summaryOf(store, "ses_1")).title, undefined);
      assert.equal((await store.mail("ses_1")).length, 1);
      assert.equal(await store.snapshot("ses_1"), undefined);
      assert.equal(await store.fireTimers(10), undefined);
      assert.equal((await store.mail("ses_1")).length, 1);
      await store.append(write("ses_1", now?.epoch ?? 0, [dataFact(2, "mine")]), { sync: true });
      assert.deepEqual(await seqs(store, "ses_1"), [1, 2]);
    },
  },
  {
    name: "G6 writes nothing after a release",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      await store.release("ses_1", epoch);
      await rejects(store.append(write("ses_1", epoch, [dataFact(2, 1)]), { sync: false }), "lost-ownership");
      await store.release("ses_1", epoch);
      assert.deepEqual(await seqs(store, "ses_1"), [1]);
    },
  },
  {
    name: "G5 refuses facts that do not follow the head",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      for (const seq of [1, 3]) {
        await rejects(store.append(write("ses_1", epoch, [dataFact(seq, 1)]), { sync: false }), "lost-ownership");
      }
      const gap = write("ses_1", epoch, [dataFact(2, 1), dataFact(4, 1)]);
      await rejects(store.append(gap, { sync: false }), "lost-ownership");
      assert.deepEqual(await seqs(store, "ses_1"), [1]);
    },
  },
  {
    name: "tells which sessions have unread mail or a run that could go on, and who has them",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      for (const id of ["ses_2", "ses_3"]) await store.create(newSession(id, { agent: "cook" }));
      assert.deepEqual(await store.pending(), []);
      await store.submit(sendMail("ses_3", "a", "hi"));
      await withStatus(store, "ses_1", epoch, "running");
      assert.deepEqual(await store.pending(), [
        { sessionId: "ses_1", agent: "helper", owner: "owner-a" },
        { sessionId: "ses_3", agent: "cook" },
      ]);
      for (const status of ["idle", "waiting", "parked"] as const) {
        await withStatus(store, "ses_1", epoch, status);
        assert.deepEqual(await store.pending(), [{ sessionId: "ses_3", agent: "cook" }]);
      }
      await withStatus(store, "ses_1", epoch, "running");
      await store.release("ses_1", epoch);
      assert.deepEqual((await store.pending())[0], { sessionId: "ses_1", agent: "helper" });
      const claim = await store.claim("ses_3", "owner-b");
      await store.append(write("ses_3", claim?.epoch ?? 0, [], { consumes: [1] }), { sync: false });
      assert.deepEqual(await store.pending(), [{ sessionId: "ses_1", agent: "helper" }]);
    },
  },
  {
    name: "DUR-08 shows registered owners as alive, with a beat that moves",
    async run(store) {
      await store.register("owner-a");
      await store.register("owner-b");
      const [a, b] = (await store.owners()).toSorted((x, y) => (x.owner < y.owner ? -1 : 1));
      assert.deepEqual([a?.owner, a?.alive, b?.owner, b?.alive], ["owner-a", true, "owner-b", true]);
      await store.beat("owner-a");
      const later = new Map((await store.owners()).map((state) => [state.owner, state.beat]));
      assert.notEqual(later.get("owner-a"), a?.beat);
      assert.equal(later.get("owner-b"), b?.beat);
    },
  },
  {
    name: "DUR-08 shows an owner of sessions that never registered as dead",
    async run(store) {
      await held(store, "ses_1", "ghost");
      assert.deepEqual(await store.owners(), [{ owner: "ghost", beat: 0, alive: false }]);
    },
  },
  {
    name: "calls watchers after a change that another connection made, until they end",
    async run(store, { other }) {
      if (other === undefined) return;
      await store.create(newSession("ses_1"));
      const second = await other();
      let ended = 0;
      const end = store.watch(() => (ended += 1));
      end();
      end();
      const told = Promise.withResolvers<void>();
      const stop = store.watch(() => told.resolve());
      await second.submit(sendMail("ses_1", "a", "hi"));
      await told.promise;
      stop();
      assert.equal((await store.mail("ses_1")).length, 1);
      assert.equal(ended, 0);
    },
  },
  {
    name: "EDGE-04 G6 refuses the late append of an owner that another connection displaced",
    async run(store, { other }) {
      if (other === undefined) return;
      const old = await held(store, "ses_1");
      const second = await other();
      const now = await second.claim("ses_1", "owner-b", "owner-a");
      await rejects(store.append(write("ses_1", old.epoch, [dataFact(2, "late")]), { sync: true }), "lost-ownership");
      await second.append(write("ses_1", now?.epoch ?? 0, [dataFact(2, "mine")]), { sync: true });
      assert.deepEqual(await store.read("ses_1", { after: 1 }), [dataFact(2, "mine")]);
    },
  },
];
