import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "../src/sqlite-store.ts";
const folder = mkdtempSync("/tmp/cbench-"); const path = join(folder, "s.db");
const fact = (seq: number, size: number, runId = "run_0193aabbccddeeff") => ({ type: "data", name: "note", data: "x".repeat(size), key: `${runId}/turn/${seq}/message`, seq, at: 1, runId }) as const;
const summary = (id: string) => ({ sessionId: id, agent: "a", status: "running", queued: 0, openRequests: [], usage: { inputTokens: 0, outputTokens: 0 }, createdAt: 1, updatedAt: 1, head: 1 }) as const;
const store = await sqliteStore({ path });
const id="ses_0193aabbccddeeff01";
await store.create({ sessionId: id, facts: [fact(1, 10)], summary: summary(id) }); const epoch = (await store.claim(id, "o"))!.epoch;
let seq=1;
for (let r=0;r<4;r++){ const N=8000; const t0=performance.now(), c=process.cpuUsage(); for(let i=0;i<N;i++){ seq++; await store.append({sessionId:id,epoch,facts:[fact(seq,300)]},{sync:false}); } const cpu=process.cpuUsage(c); console.log(((performance.now()-t0)/N*1000).toFixed(1), "us cpu user", (cpu.user/N).toFixed(1), "sys", (cpu.system/N).toFixed(1)); }
await store.close(); rmSync(folder,{recursive:true});
