import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { memory, type Found, type Memory } from "./memory.ts";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";
import { scriptedEmbedder } from "./scripted-embedder.ts";

const folders: string[] = [];
const newFolder = (): string => {
  const folder = join(mkdtempSync(join(tmpdir(), "capstan-memory-")), "memory");
  folders.push(join(folder, ".."));
  return folder;
};
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

const textsOf = ({ passages }: Found): readonly string[] => passages.map(({ text }) => text);
const fact = (text: string, more: object = {}) => ({ text, origin: "user", ...more });
const fill = async (kept: Memory, texts: readonly string[], scope = {}): Promise<void> => {
  for (const text of texts) await kept.remember(scope, fact(text));
};
const FACTS = ["Kittens sleep in the office.", "We ship on Tuesdays.", "The espresso machine is broken."];

describe("memory", () => {
  it("SKILL-12 finds by meaning and by words, and by words alone without an embedder", async () => {
    await using both = memory({ embedder: scriptedEmbedder() });
    await fill(both, FACTS);
    expect(textsOf(await both.search({}, "When is the next release?", { limit: 1 }))).toEqual([FACTS[1]]);
    expect((await both.search({}, "feline")).by).toBe("words and vectors");
    expect(textsOf(await both.search({}, "feline"))).toEqual([FACTS[0]]);
    await using words = memory();
    await fill(words, FACTS);
    expect(textsOf(await words.search({}, "what about machines?"))).toEqual([FACTS[2]]);
    expect(await words.search({}, "feline")).toEqual({ passages: [], by: "words" });
    expect(await words.search({}, 'the "AND" (NEAR*) OR: -x ^')).toEqual({ passages: [], by: "words" });
  });

  it("SKILL-12 finds words of languages that put no blanks between them, and of others than English", async () => {
    await using kept = memory();
    await fill(kept, ["東京の天気は晴れです", "Der Hörsaal liegt im Süden"]);
    expect(textsOf(await kept.search({}, "天気"))).toEqual(["東京の天気は晴れです"]);
    expect(textsOf(await kept.search({}, "horsaal"))).toEqual(["Der Hörsaal liegt im Süden"]);
  });

  it("SKILL-12 keeps tenants and projects apart, each in a private file, over restarts", async () => {
    const folder = newFolder();
    const scopes = [{ tenant: "a", project: "x" }, { tenant: "a", project: "y" }, { tenant: "b", project: "x" }, {}];
    {
      await using kept = memory({ folder, embedder: scriptedEmbedder() });
      for (const [index, scope] of scopes.entries()) await kept.remember(scope, fact(`cats of scope ${index}`));
    }
    await using kept = memory({ folder, embedder: scriptedEmbedder() });
    for (const [index, scope] of scopes.entries())
      expect(textsOf(await kept.search(scope, "scope with a kitten"))).toEqual([`cats of scope ${index}`]);
    expect(textsOf(await kept.search({ tenant: "b" }, "scope kitten"))).toEqual([]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const files = readdirSync(folder);
    expect(files.filter((name) => name.endsWith(".sqlite"))).toHaveLength(5);
    expect(files.map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual(files.map(() => 0o600));
  });

  it("SKILL-12 keeps a text once, however often it is told, and joins its labels", async () => {
    await using kept = memory({ embedder: scriptedEmbedder() });
    const first = await kept.remember({}, fact("A cat.", { labels: ["from:web_fetch"] }));
    const again = await kept.remember({}, fact(" A cat. ", { labels: ["pii"] }));
    expect([first.isNew, again.isNew, again.id]).toEqual([true, false, first.id]);
    const { passages } = await kept.search({}, "cat");
    expect(passages.map(({ labels, origin }) => [origin, labels])).toEqual([["user", ["from:web_fetch", "pii"]]]);
    const many = Array.from({ length: LIMITS.labels }, (_, index) => `label ${index}`);
    await kept.remember({}, fact("A cat.", { labels: many }));
    expect((await kept.search({}, "cat")).passages[0]?.labels).toEqual(["*"]);
  });

  it("SKILL-12 forgets for good: no byte of it is left in any file", async () => {
    const folder = newFolder();
    await using kept = memory({ folder, embedder: scriptedEmbedder() });
    const bytes = (): string =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), "latin1"))
        .join("");
    await fill(kept, FACTS);
    const { id } = await kept.remember({}, fact("The passphrase is xylophonequartz."));
    await kept.remember({}, fact("Sunflowers.", { sessionId: "ses_1" }));
    expect(bytes()).toContain("xylophonequartz");
    expect(await kept.forget({}, { id })).toBe(1);
    expect(await kept.forget({}, { id })).toBe(0);
    expect(await kept.forget({}, { sessionId: "ses_1" })).toBe(1);
    expect(bytes()).not.toMatch(/xylophon|sunflower/i);
    expect(textsOf(await kept.search({}, "passphrase xylophonequartz"))).toEqual([]);
    expect(await kept.forget({}, "all")).toBe(3);
    expect(bytes()).not.toMatch(/kitten|espresso/i);
  });

  it("SKILL-12 refuses to mix vectors of two models, until all are made anew", async () => {
    const folder = newFolder();
    {
      await using kept = memory({ folder, embedder: scriptedEmbedder("one") });
      await fill(kept, FACTS);
    }
    await using other = memory({ folder, embedder: scriptedEmbedder("two") });
    await expect(other.search({}, "cat")).rejects.toMatchObject({ code: "config-invalid" });
    await expect(other.remember({}, fact("A cat."))).rejects.toMatchObject({ code: "config-invalid" });
    await using longer = memory({ folder, embedder: scriptedEmbedder("one", 9) });
    await expect(longer.remember({}, fact("A dog."))).rejects.toMatchObject({ code: "config-invalid" });
    await expect(longer.search({}, "cat")).rejects.toMatchObject({ code: "config-invalid" });
    await other.embedAgain({});
    expect(textsOf(await other.search({}, "feline"))).toEqual([FACTS[0]]);
    await using without = memory({ folder });
    expect(textsOf(await without.search({}, "kittens"))).toEqual([FACTS[0]]);
  });

  it("SKILL-12 keeps what it is told while the embedder is away, and makes the vectors good later", async () => {
    let now = 0;
    const embedder = scriptedEmbedder();
    const clock = { now: () => now, monotonic: () => now, after: () => () => undefined };
    await using kept = memory({ embedder, clock });
    embedder.failing = true;
    expect(await kept.remember({}, fact("Kittens."))).toMatchObject({ isNew: true, embedded: false });
    expect(await kept.search({}, "kitten")).toMatchObject({ by: "words", passages: [{ text: "Kittens." }] });
    embedder.failing = false;
    expect((await kept.search({}, "feline")).problem).toMatch(/left alone/);
    now += LIMITS.embedRestMs;
    expect(await kept.search({}, "feline")).toMatchObject({
      by: "words and vectors",
      passages: [{ text: "Kittens." }],
    });
    expect((await kept.remember({}, fact("Kittens."))).embedded).toBe(true);
    expect(embedder.asked.filter((text) => text === "Kittens.")).toHaveLength(1);
  });

  it("SKILL-12 bounds what it keeps: long texts are refused, results make room, facts do not", async () => {
    await using kept = memory();
    await expect(kept.remember({}, fact("x".repeat(LIMITS.textCharacters + 1)))).rejects.toMatchObject({
      code: "input-too-large",
    });
    await expect(kept.remember({}, fact(" "))).rejects.toMatchObject({ code: "input-invalid" });
    const words = Array.from({ length: 8_000 }, (_, index) => `word${index}`)
      .join(" ")
      .slice(0, LIMITS.textCharacters);
    const { id } = await kept.remember({}, fact(words));
    const passages = (await kept.search({}, "word1 word7000", { limit: 50 })).passages;
    expect(passages.every(({ text }) => text.length <= LIMITS.chunkCharacters)).toBe(true);
    expect(passages.map((passage) => passage.id)).toEqual([id, id]);
  });

  it("SKILL-12 is shared by processes: what all of them tell is there once, and nothing is lost", async () => {
    const folder = newFolder();
    const source = JSON.stringify(new URL("./memory.ts", import.meta.url).href);
    const code = `import { memory } from ${source};
      await using kept = memory({ folder: ${JSON.stringify(folder)} });
      for (let n = 0; n < 20; n++) {
        await kept.remember({}, { text: "shared " + n, origin: "user" });
        await kept.remember({}, { text: "of " + process.pid + " " + n, origin: "user" });
      }`;
    const args = ["--conditions=capstan-source", "--input-type=module", "-e", code];
    await Promise.all([1, 2].map(() => promisify(execFile)(process.execPath, args)));
    await using kept = memory({ folder });
    expect((await kept.search({}, "shared", { limit: 50 })).passages).toHaveLength(20);
    expect(await kept.forget({}, "all")).toBe(60);
  });

  it("says what is wrong with a file that is no memory, and after it was closed", async () => {
    const folder = newFolder();
    const kept = memory({ folder });
    await fill(kept, FACTS);
    const [name = ""] = readdirSync(folder);
    await kept.close();
    await expect(kept.search({}, "cat")).rejects.toMatchObject({ code: "closed" });
    writeFileSync(join(folder, name), "no database at all, but long enough to be looked at".repeat(50));
    await using again = memory({ folder });
    await expect(again.search({}, "cat")).rejects.toMatchObject({ code: "store-damaged" });
    await using nowhere = memory({ folder: join(folder, name, "below") });
    await expect(nowhere.search({}, "cat")).rejects.toMatchObject({ code: "store-readonly" });
  });

  it("works with more scopes than files may be open, called at once", async () => {
    await using kept = memory({ folder: newFolder(), embedder: scriptedEmbedder() });
    const projects = Array.from({ length: LIMITS.openFiles * 2 }, (_, index) => `p${index}`);
    await Promise.all(projects.map((project) => kept.remember({ project }, fact(`cat of ${project}`))));
    const found = await Promise.all(projects.map((project) => kept.search({ project }, "kitten")));
    expect(found.map(textsOf)).toEqual(projects.map((project) => [`cat of ${project}`]));
  });
});
