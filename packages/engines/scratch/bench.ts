import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "../src/sqlite-store.ts";
const folder = mkdtempSync("/tmp/cbench-"); const path = join(folder, "s.db");
const pct = (a: number[], p: number) => a.toSorted((x, y) => x - y)[Math.min(a.length - 1, Math.floor(a.length * p))]!;
const fact = (seq: number, size: number, runId = "run_0193aabbccddeeff") => ({ type: "data", name: "note", data: "x".repeat(size), key: `${runId}/turn/${seq}/message`, seq, at: 1, runId }) as const;
const summary = (id: string) => ({ sessionId: id, agent: "a", status: "running", queued: 0, openRequests: [], usage: { inputTokens: 0, outputTokens: 0 }, createdAt: 1, updatedAt: 1, head: 1 }) as const;
const store = await sqliteStore({ path });
const made = async (id: string) => { await store.create({ sessionId: id, facts: [fact(1, 10)], summary: summary(id) }); return (await store.claim(id, "o"))!.epoch; };
const epoch = await made("ses_0193aabbccddeeff01");
let seq = 1;
async function series(name: string, n: number, size: number, sync: boolean, withSummary = false) {
  const t: number[] = []; const c = process.cpuUsage(); const t0 = performance.now();
  for (let i = 0; i < n; i++) { const s = performance.now(); seq++; await store.append({ sessionId: "ses_0193aabbccddeeff01", epoch, facts: [fact(seq, size)], ...(withSummary && { summary: summary("ses_0193aabbccddeeff01") }) }, { sync }); t.push((performance.now() - s) * 1000); }
  const cpu = process.cpuUsage(c);
  console.log(name.padEnd(34), "mean", ((performance.now() - t0) / n * 1000).toFixed(0), "p50", pct(t, .5).toFixed(0), "p99", pct(t, .99).toFixed(0), "max", pct(t, 1).toFixed(0), "us  cpu", ((cpu.user + cpu.system) / n).toFixed(0));
}
await series("warm", 3000, 300, false);
for (let r = 0; r < 3; r++) {
await series("append 300B no sync", 5000, 300, false);
await series("append 300B no sync + summary", 5000, 300, false, true);
await series("append 2KB no sync", 5000, 2000, false);
await series("append 300B sync", 3000, 300, true);
await series("alternating sync/no", 1, 300, true);
}
// concurrency: 50 sessions in groups
const ids = Array.from({ length: 50 }, (_, i) => `ses_c${i}`); const eps = await Promise.all(ids.map(made));
{ const t0 = performance.now(); const N = 200; const lat: number[] = []; await Promise.all(ids.map(async (id, k) => { for (let s = 2; s < N + 2; s++) { const a = performance.now(); await store.append({ sessionId: id, epoch: eps[k]!, facts: [fact(s, 300)] }, { sync: true }); lat.push(performance.now() - a); } }));
  console.log("50 writers synced:", (50 * N / (performance.now() - t0) * 1000).toFixed(0), "appends/s p50", pct(lat, .5).toFixed(2), "p99", pct(lat, .99).toFixed(2), "ms"); }
// open cost
async function fill(id: string, n: number) { const e = await made(id); for (let s = 2; s <= n; s += 500) { const fs = []; for (let k = s; k < Math.min(s + 500, n + 1); k++) fs.push(fact(k, 300)); await store.append({ sessionId: id, epoch: e, facts: fs, ...(s + 500 > n && { snapshot: { seq: n - 20, version: 1, data: { a: "x".repeat(2000) } } }) }, { sync: false }); } return e; }
await fill("ses_small", 100); let t1 = performance.now(); await fill("ses_big", 100_000); console.log("100k facts written in", (performance.now() - t1).toFixed(0), "ms");
for (let r = 0; r < 3; r++) for (const [id, n] of [["ses_small", 100], ["ses_big", 100_000]] as const) {
  const t: number[] = []; for (let i = 0; i < 300; i++) { const s = performance.now(); const c = await store.claim(id, "o"); const snap = await store.snapshot(id); const tail = await store.read(id, { after: snap!.seq }); await store.mail(id); t.push((performance.now() - s) * 1000); if (tail.length !== 20) throw new Error(String(tail.length)); void c; }
  console.log("open", id, "p50", pct(t, .5).toFixed(0), "p99", pct(t, .99).toFixed(0), "us");
}
t1 = performance.now(); { let after = 0, n = 0; for (;;) { const p = await store.read("ses_big", { after }); n += p.length; if (p.length < 512) break; after = p.at(-1)!.seq; } console.log("read all 100k:", (performance.now() - t1).toFixed(0), "ms", n); }
t1 = performance.now(); console.log("typed read of 100k, none found:", (await store.read("ses_big", { after: 0, types: ["run.finished"] })).length, (performance.now() - t1).toFixed(0), "ms");
for (let i = 0; i < 1000; i++) await store.create({ sessionId: `ses_l${i}`, facts: [fact(1, 10)], summary: { ...summary(`ses_l${i}`), status: i % 10 ? "idle" : "running" } });
t1 = performance.now(); await store.list({}); console.log("list 1050:", (performance.now() - t1).toFixed(1), "ms"); t1 = performance.now(); await store.list({ limit: 50 }); console.log("list 50:", (performance.now() - t1).toFixed(2), "ms"); t1 = performance.now(); const p = await store.pending(); console.log("pending:", p.length, (performance.now() - t1).toFixed(2), "ms");
t1 = performance.now(); await store.submit({ sessionId: "ses_l1", key: "k", digest: "d", actor: { id: "a", door: "d" }, body: { type: "timer", name: "x" }, accepted: { sessionId: "ses_l1" } }); console.log("submit:", ((performance.now() - t1) * 1000).toFixed(0), "us");
t1 = performance.now(); await store.close(); console.log("close", (performance.now() - t1).toFixed(1), "ms; file MB", (statSync(path).size / 1e6).toFixed(1));
t1 = performance.now(); const again = await sqliteStore({ path }); console.log("reopen", (performance.now() - t1).toFixed(1), "ms"); await again.close();
rmSync(folder, { recursive: true });
{ const f2 = mkdtempSync("/tmp/cbench-"); t1 = performance.now(); const a = await sqliteStore({ path: join(f2, "s.db") }); console.log("create new", (performance.now() - t1).toFixed(1), "ms"); const e=(await (async()=>{for(let i=0;i<1000;i++) await a.create({ sessionId: `ses_l${i}`, facts: [fact(1, 2000)], summary: summary(`ses_l${i}`)});})()); await a.close(); t1 = performance.now(); const b = await sqliteStore({ path: join(f2, "s.db") }); console.log("open small file", statSync(join(f2, "s.db")).size, (performance.now() - t1).toFixed(1), "ms"); await b.close(); rmSync(f2, { recursive: true }); }
