/** What one scope remembers: entries, their passages, the words and vectors of these, in one SQLite database. */

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { CapstanError } from "@capstan/core";
import { joinedLabels } from "./labels.ts";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";
import { IN_MEMORY, openFile, toMemoryError } from "./open-file.ts";
import { type Cosine, defineCosine, toBytes } from "./vectors.ts";
import { wordsOf } from "./words.ts";

export type Entry = {
  readonly id: string;
  readonly origin: string;
  readonly sessionId: string;
  readonly labels: readonly string[];
  readonly at: number;
  /** Makes room for others when the scope is full. */
  readonly evictable: boolean;
};
export type Passage = Pick<Entry, "id" | "origin" | "sessionId" | "labels" | "at"> & {
  /** Of this passage: what `passages` takes. */
  readonly n: number;
  readonly text: string;
};
export type Pending = { readonly n: number; readonly text: string };
type Row = { readonly [column: string]: unknown };

export class MemoryFile {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly cosine: Cosine;

  constructor(
    path: string,
    scope: { readonly tenant: string; readonly project: string },
    extension: string | undefined,
  ) {
    this.#path = path;
    this.#db = openFile(path, scope);
    this.cosine = defineCosine(this.#db, extension);
  }

  /** Adds the entry once: of one that is there its labels are joined. False when it was there. Throws `store-full`. */
  add(entry: Entry, chunks: readonly string[]): boolean {
    return this.#write(() => {
      const [known] = this.#all("SELECT labels FROM entry WHERE id = ?", entry.id);
      if (known !== undefined) {
        const labels = joinedLabels(labelsOf(known), entry.labels);
        this.#run("UPDATE entry SET labels = ? WHERE id = ?", JSON.stringify(labels), entry.id);
        return false;
      }
      this.#makeRoom(chunks.length);
      const { lastInsertRowid } = this.#db
        .prepare("INSERT INTO entry (id, origin, session, labels, at, evictable) VALUES (?, ?, ?, ?, ?, ?)")
        .run(entry.id, entry.origin, entry.sessionId, JSON.stringify(entry.labels), entry.at, entry.evictable ? 1 : 0);
      for (const [place, chunk] of chunks.entries()) {
        const made = this.#db
          .prepare("INSERT INTO chunk (entry, place, text) VALUES (?, ?, ?)")
          .run(lastInsertRowid, place, chunk);
        this.#run("INSERT INTO words (rowid, body) VALUES (?, ?)", made.lastInsertRowid, wordsOf(chunk));
      }
      return true;
    });
  }

  #makeRoom(wanted: number): void {
    for (;;) {
      const [row] = this.#all("SELECT count(*) AS size FROM chunk");
      if (Number(row?.["size"]) + wanted <= LIMITS.chunks) return;
      const [oldest] = this.#all("SELECT n FROM entry WHERE evictable = 1 ORDER BY at, n LIMIT 1");
      if (oldest === undefined)
        throw new CapstanError(
          "store-full",
          `This memory holds its ${LIMITS.chunks} passages; forget some of them first`,
        );
      this.#drop(Number(oldest["n"]));
    }
  }

  #drop(entry: number): void {
    this.#run("DELETE FROM words WHERE rowid IN (SELECT n FROM chunk WHERE entry = ?)", entry);
    this.#run("DELETE FROM chunk WHERE entry = ?", entry);
    this.#run("DELETE FROM entry WHERE n = ?", entry);
  }

  /** Overwrites what it deletes, also in the write-ahead log. Answers how many entries there were. */
  forget(which: { readonly id: string } | { readonly sessionId: string } | "all"): number {
    const [clause, ...values] =
      which === "all" ? ["1"] : "id" in which ? ["id = ?", which.id] : ["session = ?", which.sessionId];
    const dropped = this.#write(() => {
      const found = this.#all(`SELECT n FROM entry WHERE ${clause}`, ...values);
      for (const { n } of found) this.#drop(Number(n));
      if (which === "all") this.#run("DELETE FROM space");
      return found.length;
    });
    // the log keeps old pages until it is emptied; a reader elsewhere may put that off until the file is closed
    if (dropped > 0) this.#checked(() => this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
    return dropped;
  }

  /** Passages with these words, the best first. */
  byWords(query: string, limit: number): readonly number[] {
    const sql = "SELECT rowid AS n FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?";
    return this.#all(sql, query, limit).map(({ n }) => Number(n));
  }

  /** Passages near this vector, the nearest first. */
  byVector(vector: Float32Array, least: number, limit: number): readonly number[] {
    const cosine = this.cosine === "sqlite-vec" ? "1 - vec_distance_cosine(vector, ?)" : "cosine(vector, ?)";
    // without a condition on the score, which SQLite would have computed twice
    const sql = `SELECT n, ${cosine} AS score FROM chunk WHERE vector IS NOT NULL ORDER BY score DESC, n LIMIT ?`;
    const rows = this.#all(sql, toBytes(vector), limit);
    return rows.filter(({ score }) => Number(score) >= least).map(({ n }) => Number(n));
  }

  /** In the order asked for; those that are gone are left out. */
  passages(numbers: readonly number[]): readonly Passage[] {
    return numbers.flatMap((n) => {
      const sql =
        "SELECT chunk.n, id, origin, session, labels, at, text FROM chunk JOIN entry ON entry.n = chunk.entry WHERE chunk.n = ?";
      return this.#all(sql, n).map(toPassage);
    });
  }

  /** The newest entries, by their first passages. */
  newest(limit: number): readonly Passage[] {
    const sql =
      "SELECT chunk.n FROM chunk JOIN entry ON entry.n = chunk.entry WHERE place = 0 ORDER BY at DESC, entry.n DESC LIMIT ?";
    return this.passages(this.#all(sql, limit).map(({ n }) => Number(n)));
  }

  /** The model that all vectors here are of. */
  space(): { readonly model: string; readonly dimensions: number } | undefined {
    const [row] = this.#all("SELECT model, dimensions FROM space");
    return row === undefined ? undefined : { model: String(row["model"]), dimensions: Number(row["dimensions"]) };
  }

  /** Passages that have no vector yet, the oldest first. */
  pending(limit: number): readonly Pending[] {
    return this.#all("SELECT n, text FROM chunk WHERE vector IS NULL ORDER BY n LIMIT ?", limit).map(({ n, text }) => ({
      n: Number(n),
      text: String(text),
    }));
  }

  /** Throws `config-invalid` for vectors of another model or length than those that are here. */
  setVectors(model: string, chunks: readonly Pending[], vectors: readonly Float32Array[]): void {
    this.#write(() => {
      const dimensions = vectors[0]?.length ?? 0;
      this.#run("INSERT OR IGNORE INTO space VALUES (1, ?, ?)", model, dimensions);
      checkSpace(this.space(), model, dimensions);
      for (const [index, { n, text }] of chunks.entries()) {
        const vector = vectors[index];
        if (vector === undefined) continue;
        // another passage may have this number by now
        const sql = "UPDATE chunk SET vector = ?, model = ?, dimensions = ? WHERE n = ? AND text = ?";
        this.#run(sql, toBytes(vector), model, dimensions, n, text);
      }
    });
  }

  /** Every passage waits for a vector again. */
  dropVectors(): void {
    this.#write(() => {
      this.#run("UPDATE chunk SET vector = NULL, model = NULL, dimensions = NULL");
      this.#run("DELETE FROM space");
    });
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #write<T>(work: () => T): T {
    return this.#checked(() => {
      this.#db.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        this.#db.exec("COMMIT");
        return result;
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
        throw error;
      }
    });
  }

  #all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#checked(() => this.#db.prepare(sql).all(...values));
  }

  #run(sql: string, ...values: readonly SQLInputValue[]): void {
    this.#db.prepare(sql).run(...values);
  }

  #checked<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toMemoryError(error, this.#path === IN_MEMORY ? "the memory" : this.#path);
    }
  }
}

/** Refuses to compare what cannot be compared. */
export function checkSpace(
  space: { readonly model: string; readonly dimensions: number } | undefined,
  model: string,
  dimensions?: number,
): void {
  if (space === undefined || (space.model === model && (dimensions ?? space.dimensions) === space.dimensions)) return;
  const now = dimensions === undefined ? model : `${model} with ${dimensions} dimensions`;
  throw new CapstanError(
    "config-invalid",
    `This memory has vectors of ${space.model} with ${space.dimensions} dimensions, and the embedder is ${now}; ` +
      "go back to that model, or call embedAgain(scope)",
  );
}

function labelsOf(row: Row): readonly string[] {
  return JSON.parse(String(row["labels"])) as readonly string[]; // written by `add`
}

function toPassage(row: Row): Passage {
  return {
    n: Number(row["n"]),
    id: String(row["id"]),
    origin: String(row["origin"]),
    sessionId: String(row["session"]),
    labels: labelsOf(row),
    at: Number(row["at"]),
    text: String(row["text"]),
  };
}
