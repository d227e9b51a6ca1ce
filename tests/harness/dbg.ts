/** debug */
import { mkdtempSync } from "node:fs";
import { judge } from "./judge.ts";
import { killLoop } from "./kill-loop.ts";
const seed = Number(process.argv[2]);
const folder = mkdtempSync("/tmp/dbg-");
const client = await killLoop({
  folder,
  durability: (process.argv[3] ?? "full") as "full",
  kills: Number(process.argv[4] ?? 6),
  seed,
  lies: process.argv[5] === "lies",
});
const verdict = await judge(client);
console.log(folder, JSON.stringify(verdict, null, 1));
const { writeFileSync } = await import("node:fs");
for (const l of await client.logs())
  writeFileSync(`${folder}/${l.sessionId}.ndjson`, l.facts.map((f) => JSON.stringify(f)).join("\n"));
await client.close();
