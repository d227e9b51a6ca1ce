import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { memoryStore } from "../../core/src/memory-store.ts";
import { sqliteStore } from "../src/sqlite-store.ts";
const folder = mkdtempSync("/tmp/cbench-");
const fact = (seq: number, size: number) => ({ type: "data", name: "note", data: "x".repeat(size), key: `run_0193aabbccddeeff/turn/${seq}/message`, seq, at: 1, runId: "run_0193aabbccddeeff" }) as const;
const fin = (seq: number) => ({ type: "run.finished", reason: "end-turn", usage: { inputTokens: 0, outputTokens: 0 }, turns: 1, key: `end/${seq}`, seq, at: 1 }) as const;
const summary = (id: string) => ({ sessionId: id, agent: "a", status: "running", queued: 0, openRequests: [], usage: { inputTokens: 0, outputTokens: 0 }, createdAt: 1, updatedAt: 1, head: 1 }) as const;
const pct = (a: number[], p: number) => a.toSorted((x, y) => x - y)[Math.min(a.length - 1, Math.floor(a.length * p))]!;
const id = "ses_0193aabbccddeeff01";
async function prep(store: any) { await store.create({ sessionId: id, facts: [fact(1, 10)], summary: summary(id) }); return { store, epoch: (await store.claim(id, "o"))!.epoch, seq: 1 }; }
const full = await prep(await sqliteStore({ path: join(folder, "a.db") })); const mem = await prep(memoryStore());
// raw
const d = new DatabaseSync(join(folder, "raw.db")); d.exec("pragma journal_mode=wal; pragma synchronous=normal; create table s(number integer primary key, id text unique, owner text, epoch int, head int, summary text); create table f(id integer primary key, session int, key text, type text, crc int, body text); create unique index fk on f(session,key)");
d.exec("pragma wal_autocheckpoint=4000"); d.exec(`insert into s values(1,'${id}','o',1,1,'')`);
const q = d.prepare("select number,owner,epoch,head from s where id=?"), b = d.prepare("begin immediate"), c = d.prepare("commit"), u = d.prepare("update s set head=? where number=?"), ins = d.prepare("insert into f values(?,?,?,?,?,?)");
let rs = 1; const raw = (size: number, sync: boolean) => { if (sync) d.exec("pragma synchronous=full"); rs++; b.run(); q.get(id); const f = fact(rs, size); ins.run(rs, 1, f.key, f.type, 1, JSON.stringify(f)); u.run(rs, 1); c.run(); if (sync) d.exec("pragma synchronous=normal"); };
async function go(name: string, n: number, one: () => unknown) { const t: number[] = []; const k = process.cpuUsage(); for (let i = 0; i < n; i++) { const s = performance.now(); await one(); t.push((performance.now() - s) * 1000); } const cpu = process.cpuUsage(k); return { name, p50: pct(t, .5), p99: pct(t, .99), mean: t.reduce((x, y) => x + y) / n, cpu: (cpu.user + cpu.system) / n }; }
const table: Record<string, any[]> = {};
for (let r = 0; r < 7; r++) for (const [name, n, one] of [
  ["raw 300B", 2000, () => raw(300, false)], ["store 300B", 2000, () => full.store.append({ sessionId: id, epoch: full.epoch, facts: [fact(++full.seq, 300)] }, { sync: false })],
  ["store 300B+summary", 2000, () => full.store.append({ sessionId: id, epoch: full.epoch, facts: [fact(++full.seq, 300)], summary: summary(id) }, { sync: false })],
  ["store 4 facts in one append", 1000, () => full.store.append({ sessionId: id, epoch: full.epoch, facts: [fact(++full.seq, 300), fact(++full.seq, 300), fact(++full.seq, 300), fact(++full.seq, 300)] }, { sync: false })],
  ["raw 300B sync", 500, () => raw(300, true)], ["store 300B sync", 500, () => full.store.append({ sessionId: id, epoch: full.epoch, facts: [fact(++full.seq, 300)] }, { sync: true })],
  ["store run.finished sync+anchor", 500, () => full.store.append({ sessionId: id, epoch: full.epoch, facts: [fin(++full.seq)] }, { sync: true })],
  ["store read 10", 1000, () => full.store.read(id, { after: full.seq - 10 })],
  ["memory 300B", 2000, () => mem.store.append({ sessionId: id, epoch: mem.epoch, facts: [fact(++mem.seq, 300)] }, { sync: true })],
] as const) (table[name] ??= []).push(await go(name, n, one));
for (const [name, rows] of Object.entries(table)) { const m = (f: string) => pct(rows.map((x) => x[f]), .5).toFixed(0); console.log(name.padEnd(32), "p50", m("p50"), "mean", m("mean"), "p99", m("p99"), "cpu", m("cpu"), "us"); }
await full.store.close(); d.close(); rmSync(folder, { recursive: true });
