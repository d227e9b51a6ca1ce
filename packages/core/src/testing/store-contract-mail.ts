/** Store contract: the mailbox, its idempotency, what consumes it, and timers. */

import assert from "node:assert/strict";
import {
  ACTOR,
  dataFact,
  held,
  rejects,
  sendMail,
  seqs,
  summaryOf,
  withStatus,
  write,
  type StoreCase,
} from "./store-contract-fixture.ts";

export const mailCases: readonly StoreCase[] = [
  {
    name: "keeps mail in the order it came",
    async run(store) {
      await held(store, "ses_1");
      for (const key of ["c", "a", "b"]) await store.submit(sendMail("ses_1", key, key));
      const body = { type: "child-finished", childSessionId: "ses_2" } as const;
      await store.submit({ ...sendMail("ses_1", "d", "d"), body });
      const mail = await store.mail("ses_1");
      assert.deepEqual(
        mail.map(({ key }) => key),
        ["c", "a", "b", "d"],
      );
      const positions = mail.map(({ position }) => position);
      assert.deepEqual(
        positions,
        positions.toSorted((x, y) => x - y),
      );
      const first = sendMail("ses_1", "c", "c");
      assert.deepEqual(mail[0], { position: positions[0], key: "c", actor: ACTOR, ...first.body });
      assert.deepEqual(mail[3], { position: positions[3], key: "d", actor: ACTOR, ...body });
    },
  },
  {
    name: "G2 answers a known key with the ids it gave first, also when the mail is consumed",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      const first = sendMail("ses_1", "a", "hi");
      const later = { ...first, accepted: { sessionId: "ses_1", inputId: "in_new", runId: "run_new" } };
      assert.deepEqual(await store.submit(first), first.accepted);
      assert.deepEqual(await store.submit(later), first.accepted);
      assert.equal((await store.mail("ses_1")).length, 1);
      await store.append(write("ses_1", epoch, [dataFact(2, 1)], { consumes: [1] }), { sync: true });
      assert.deepEqual(await store.submit(later), first.accepted);
      assert.deepEqual(await store.mail("ses_1"), []);
      await rejects(store.submit(sendMail("ses_1", "a", "other")), "idempotency-conflict");
      await rejects(store.submit(sendMail("ses_0", "a", "hi")), "session-not-found");
      await store.submit(sendMail("ses_1", "b", "ho"));
      assert.deepEqual(
        (await store.mail("ses_1")).map(({ position }) => position > 1),
        [true],
      );
    },
  },
  {
    name: "G2 takes the same key in two sessions as two",
    async run(store) {
      await held(store, "ses_1");
      await held(store, "ses_2");
      await store.submit(sendMail("ses_1", "a", "hi"));
      await store.submit(sendMail("ses_2", "a", "ho"));
      assert.equal((await store.mail("ses_2")).length, 1);
    },
  },
  {
    name: "refuses with session-busy unless idle without unread input, a known key first",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      const first = sendMail("ses_1", "a", "hi", { ifIdle: true });
      assert.deepEqual(await store.submit(first), first.accepted);
      await rejects(store.submit(sendMail("ses_1", "b", "ho", { ifIdle: true })), "session-busy");
      assert.deepEqual(await store.submit(first), first.accepted);
      const summary = { ...(await summaryOf(store, "ses_1")), status: "running" } as const;
      await store.append(write("ses_1", epoch, [], { consumes: [1], summary }), { sync: false });
      for (const status of ["running", "waiting", "parked"] as const) {
        await withStatus(store, "ses_1", epoch, status);
        await rejects(store.submit(sendMail("ses_1", "b", "ho", { ifIdle: true })), "session-busy");
      }
      await store.submit(sendMail("ses_1", "c", "queued"));
      await withStatus(store, "ses_1", epoch, "idle");
      await rejects(store.submit(sendMail("ses_1", "b", "ho", { ifIdle: true })), "session-busy");
      await store.append(write("ses_1", epoch, [], { consumes: [2] }), { sync: false });
      const body = { type: "child-finished", childSessionId: "ses_9" } as const;
      await store.submit({ ...sendMail("ses_1", "child", "x"), body });
      await store.submit(sendMail("ses_1", "b", "ho", { ifIdle: true }));
      assert.equal((await store.mail("ses_1")).length, 2);
    },
  },
  {
    name: "lets one of several conditional inputs of one tick pass",
    async run(store) {
      await held(store, "ses_1");
      const sent = ["a", "b", "c"].map((key) => store.submit(sendMail("ses_1", key, key, { ifIdle: true })));
      const outcome = (await Promise.allSettled(sent)).map(({ status }) => status);
      assert.deepEqual(outcome, ["fulfilled", "rejected", "rejected"]);
    },
  },
  {
    name: "consumes mail in the transaction of the facts that answer it, once",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      for (const key of ["a", "b"]) await store.submit(sendMail("ses_1", key, key));
      const [a, b] = (await store.mail("ses_1")).map(({ position }) => position);
      assert.ok(a !== undefined && b !== undefined);
      const failing = write("ses_1", epoch, [dataFact(7, 1)], { consumes: [a] });
      await rejects(store.append(failing, { sync: false }), "lost-ownership");
      assert.equal((await store.mail("ses_1")).length, 2);
      await store.append(write("ses_1", epoch, [dataFact(2, 1)], { consumes: [a] }), { sync: true });
      const twice = write("ses_1", epoch, [dataFact(3, 1)], { consumes: [b, a] });
      await rejects(store.append(twice, { sync: false }), "store-conflict");
      assert.deepEqual(
        (await store.mail("ses_1")).map(({ key }) => key),
        ["b"],
      );
      assert.deepEqual(await seqs(store, "ses_1"), [1, 2]);
      await store.append(write("ses_1", epoch, [], { consumes: [b] }), { sync: false });
      assert.deepEqual(await store.mail("ses_1"), []);
      await rejects(store.append(write("ses_1", epoch, [], { consumes: [99] }), { sync: false }), "store-conflict");
    },
  },
  {
    name: "moves due timers into the mailbox by time and says when the next is due",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      await held(store, "ses_2");
      assert.equal(await store.fireTimers(1_000), undefined);
      const timers = [
        { name: "late", at: 300 },
        { name: "soon", at: 100 },
        { name: "first", at: 50 },
        { name: "gone", at: 60 },
      ];
      await store.append(write("ses_1", epoch, [], { timers }), { sync: false });
      const change = [
        { name: "gone", at: undefined },
        { name: "soon", at: 110 },
        { name: "unknown", at: undefined },
      ];
      await store.append(write("ses_1", epoch, [], { timers: change }), { sync: false });
      assert.equal(await store.fireTimers(49), 50);
      assert.deepEqual(await store.mail("ses_1"), []);
      assert.equal(await store.fireTimers(110), 300);
      const mail = await store.mail("ses_1");
      assert.deepEqual(
        mail.map((entry) => entry.type === "timer" && entry.name),
        ["first", "soon"],
      );
      assert.equal(await store.fireTimers(110), 300);
      assert.equal((await store.mail("ses_1")).length, 2);
      assert.deepEqual(await store.mail("ses_2"), []);
      assert.equal((await store.pending()).length, 1);
      assert.equal(await store.fireTimers(300), undefined);
    },
  },
  {
    name: "fires a timer of one name each time it is set, whatever keys clients chose",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      for (let round = 1; round <= 3; round += 1) {
        for (let position = 1; position < 9; position += 1) {
          await store.submit(sendMail("ses_1", `timer/wake/${position}`, "x"));
        }
        await store.append(write("ses_1", epoch, [], { timers: [{ name: "wake", at: 5 }] }), { sync: false });
        await store.fireTimers(5);
        const fired = (await store.mail("ses_1")).filter((entry) => entry.type === "timer");
        assert.equal(fired.length, round);
      }
    },
  },
];
