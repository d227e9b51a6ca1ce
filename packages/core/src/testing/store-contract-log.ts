/** Store contract: appending and reading facts, snapshots, large and odd texts, many writes of one tick. */

import assert from "node:assert/strict";
import type { Fact } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";
import {
  createdFact,
  dataFact,
  dataFacts,
  held,
  newSession,
  rejects,
  sendMail,
  seqs,
  updatedFact,
  write,
  type StoreCase,
} from "./store-contract-fixture.ts";

export const logCases: readonly StoreCase[] = [
  {
    name: "SESS-02 SESS-04 keeps facts as given, in order, and reads slices of them",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      const facts = [updatedFact(2, "Plans"), dataFact(3, { deep: [null, true, 1.5, "x"] }), updatedFact(4, "More")];
      await store.append(write("ses_1", epoch, facts.slice(0, 2)), { sync: false });
      await store.append(write("ses_1", epoch, facts.slice(2)), { sync: true });
      const all = [createdFact("ses_1"), ...facts];
      assert.deepEqual(await store.read("ses_1", { after: 0 }), all);
      assert.deepEqual(await store.read("ses_1", { after: 2 }), all.slice(2));
      assert.deepEqual(await store.read("ses_1", { after: 1, through: 3 }), all.slice(1, 3));
      assert.deepEqual(await store.read("ses_1", { after: 0, limit: 2 }), all.slice(0, 2));
      assert.deepEqual(await store.read("ses_1", { after: 4 }), []);
      assert.deepEqual(await store.read("ses_1", { after: 99, through: 100 }), []);
      const titles = await store.read("ses_1", { after: 0, types: ["session.updated"] });
      assert.deepEqual(titles, [facts[0], facts[2]]);
      assert.deepEqual(await store.read("ses_1", { after: 0, limit: 1, types: ["session.updated"] }), [facts[0]]);
      assert.deepEqual(await store.read("ses_1", { after: 2, through: 3, types: ["data", "session.updated"] }), [
        facts[1],
      ]);
      assert.deepEqual(await store.read("ses_1", { after: 0, types: [] }), []);
      await rejects(store.read("ses_0", { after: 0 }), "session-not-found");
    },
  },
  {
    name: "reads a page of facts when no limit is given",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      await store.append(write("ses_1", epoch, dataFacts(2, LIMITS.readPage + 10)), { sync: false });
      const page = await store.read("ses_1", { after: 0 });
      assert.equal(page.length, LIMITS.readPage);
      const rest = await store.read("ses_1", { after: LIMITS.readPage });
      assert.equal(rest.length, 11);
      assert.equal(rest[0]?.seq, LIMITS.readPage + 1);
    },
  },
  {
    name: "reads from and to any fact, however they were appended",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      let head = 1;
      for (const count of [1, 3, 200, 2]) {
        await store.append(write("ses_1", epoch, dataFacts(head + 1, count)), { sync: false });
        head += count;
      }
      for (const after of [0, 1, 2, 3, 4, 5, 6, 100, 204, 205, 206, 207]) {
        const found = (await store.read("ses_1", { after })).map(({ seq }) => seq);
        const expected = Array.from({ length: head - after }, (_, index) => after + index + 1);
        assert.deepEqual(found, expected.slice(0, LIMITS.readPage));
      }
      const some = await store.read("ses_1", { after: 2, through: 150, limit: 140 });
      assert.deepEqual([some[0]?.seq, some.at(-1)?.seq], [3, 142]);
      const few = await store.read("ses_1", { after: 4, through: 6 });
      assert.deepEqual(
        few.map(({ seq }) => seq),
        [5, 6],
      );
    },
  },
  {
    name: "keeps the newest snapshot",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      assert.equal(await store.snapshot("ses_1"), undefined);
      const data = { messages: ["a"], n: null };
      await store.append(write("ses_1", epoch, [], { snapshot: { seq: 1, version: 1, data } }), { sync: false });
      assert.deepEqual(await store.snapshot("ses_1"), { seq: 1, version: 1, data });
      const second = write("ses_1", epoch, [dataFact(2, 1)], { snapshot: { seq: 2, version: 2, data: [] } });
      await store.append(second, { sync: false });
      assert.deepEqual(await store.snapshot("ses_1"), { seq: 2, version: 2, data: [] });
    },
  },
  {
    name: "keeps any text: every plane, lone surrogates, NUL, quotes, in bodies, keys and ids",
    async run(store) {
      const odd = ["é 漢字 👩‍👩‍👧 \u0000 \u2028", "\ud800", "\ud801 x", "\udfff\ud800", '"quoted" \\ \' %_', "\ufeff"];
      for (const [index, text] of odd.entries()) {
        const sessionId = `ses_${text}`;
        assert.equal(
          (await store.create(newSession(sessionId, { key: text, tenant: text, title: text }))).created,
          true,
        );
        const claim = await store.claim(sessionId, text);
        const fact = dataFact(2, { [text]: text, index }, text);
        await store.append(write(sessionId, claim?.epoch ?? 0, [fact]), { sync: false });
        assert.deepEqual(await store.read(sessionId, { after: 1 }), [fact]);
        await store.submit(sendMail(sessionId, text, text));
        const [entry] = await store.mail(sessionId);
        assert.deepEqual([entry?.key, entry?.type === "op" && entry.accepted.inputId], [text, `in_${text}`]);
        assert.equal((await store.list({ key: text })).length, 1);
        assert.equal((await store.summary(sessionId))?.title, text);
      }
      assert.equal((await store.list({})).length, odd.length);
      assert.deepEqual(
        (await store.pending()).map(({ owner }) => owner),
        odd,
      );
    },
  },
  {
    name: "keeps large facts whole",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      const facts = [dataFact(2, "x".repeat(4 * 1024 * 1024)), dataFact(3, "漢".repeat(300_000)), dataFact(4, 1)];
      await store.append(write("ses_1", epoch, facts), { sync: true });
      assert.deepEqual(await store.read("ses_1", { after: 1 }), facts);
    },
  },
  {
    name: "does not share what it was given or gives with later writes",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      const facts: Fact[] = [dataFact(2, 1)];
      const done = store.append(write("ses_1", epoch, facts), { sync: false });
      facts.push(dataFact(3, 1));
      await done;
      const page = await store.read("ses_1", { after: 0 });
      await store.append(write("ses_1", epoch, [dataFact(3, 2)]), { sync: false });
      assert.equal(page.length, 2);
      assert.deepEqual(await seqs(store, "ses_1"), [1, 2, 3]);
    },
  },
  {
    name: "G8 takes the calls of one tick in order; one that is refused leaves the others alone",
    async run(store) {
      const { epoch } = await held(store, "ses_1");
      const results = await Promise.allSettled([
        store.append(write("ses_1", epoch, [dataFact(2, 1)]), { sync: true }),
        store.submit(sendMail("ses_1", "a", "hi")),
        store.append(write("ses_1", epoch + 9, [dataFact(3, "stale")]), { sync: true }),
        store.append(write("ses_1", epoch, [dataFact(3, "undone")], { consumes: [9] }), { sync: false }),
        store.submit(sendMail("ses_1", "a", "other")),
        store.append(write("ses_1", epoch, [dataFact(3, 1)], { consumes: [1] }), { sync: false }),
        store.submit(sendMail("ses_0", "a", "hi")),
        store.read("ses_1", { after: 0 }),
        store.create(newSession("ses_2")),
        store.submit(sendMail("ses_2", "b", "ho")),
      ]);
      const outcome = results.map((result) =>
        result.status === "fulfilled" ? "ok" : (result.reason as { code: string }).code,
      );
      const refused = ["lost-ownership", "store-conflict", "idempotency-conflict"];
      assert.deepEqual(outcome, ["ok", "ok", ...refused, "ok", "session-not-found", "ok", "ok", "ok"]);
      assert.deepEqual(await store.read("ses_1", { after: 1 }), [dataFact(2, 1), dataFact(3, 1)]);
      assert.deepEqual(await store.mail("ses_1"), []);
      assert.equal((await store.mail("ses_2")).length, 1);
    },
  },
  {
    name: "G8 a fact that is no JSON, which no type allows, hurts no other write of its tick",
    async run(store) {
      const other = await held(store, "ses_0");
      const cyclic: { self?: unknown } = {};
      cyclic.self = cyclic;
      for (const [index, value] of [10n, cyclic, { deep: [1n] }].entries()) {
        const bad = `ses_bad_${index}`;
        const { epoch } = await held(store, bad);
        const [before, odd, after] = await Promise.allSettled([
          store.append(write("ses_0", other.epoch, [dataFact(2 + 2 * index, "before")]), { sync: true }),
          store.append(write(bad, epoch, [dataFact(2, value as Json)]), { sync: true }), // as a careless author would
          store.append(write("ses_0", other.epoch, [dataFact(3 + 2 * index, "after")]), { sync: false }),
        ]);
        assert.deepEqual([before.status, after.status], ["fulfilled", "fulfilled"]);
        if (odd.status === "rejected") assert.deepEqual(await seqs(store, bad), [1]);
      }
      assert.deepEqual(await seqs(store, "ses_0"), [1, 2, 3, 4, 5, 6, 7]);
    },
  },
  {
    name: "G5 numbers facts without gap when many sessions write at once",
    async run(store) {
      const ids = Array.from({ length: 8 }, (_, index) => `ses_${index}`);
      await Promise.all(
        ids.map(async (id) => {
          const { epoch } = await held(store, id);
          for (let seq = 2; seq <= 20; seq += 1) {
            await store.append(write(id, epoch, [dataFact(seq, id)]), { sync: seq % 5 === 0 });
          }
        }),
      );
      for (const id of ids) {
        assert.deepEqual(
          await seqs(store, id),
          Array.from({ length: 20 }, (_, index) => index + 1),
        );
      }
    },
  },
];
