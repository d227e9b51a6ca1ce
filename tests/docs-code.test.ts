import { execFile, type ExecFileOptions } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
/** Names that samples leave to the reader, such as `model`. */
const GIVEN = join(root, "docs/given.ts");
const PAGES = ["README.md", "AGENTS.md", "CONTRIBUTING.md", "docs/**/*.md", "packages/*/README.md"];

type Block = { readonly page: string; readonly line: number; readonly language: string; readonly code: string };

const pages = globSync(PAGES, { cwd: root }).toSorted();
const blocks = pages.flatMap((page) => blocksOf(page, readFileSync(join(root, page), "utf8")));
const examples = globSync("examples/*/main.ts", { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));

function blocksOf(page: string, text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ index, 1: language = "", 2: code = "" }) => {
    return { page, line: text.slice(0, index).split("\n").length + 1, language, code };
  });
}

const samples = blocks.filter(({ language }) => language === "ts");
/** What stands word for word in a program that CI runs is proved there. */
const loose = samples.filter(({ code }) => !examples.some((source) => source.includes(code)));

/** What a program says on both outputs, however it ends. */
function run(file: string, args: readonly string[], options: ExecFileOptions): Promise<string> {
  return new Promise((resolve) => {
    execFile(file, args, { encoding: "utf8", ...options }, (_error, out, err) =>
      resolve(`${String(out)}${String(err)}`),
    );
  });
}

/** Every line of the compiler about them, with the place on the page. */
async function complaints(checked: readonly Block[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "capstan-docs-"));
  try {
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    await copyFile(GIVEN, join(folder, "given.ts"));
    const config = { extends: join(root, "tsconfig.json"), compilerOptions: { rootDir: "/" }, include: ["*.ts"] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    for (const [index, { code }] of checked.entries()) {
      await writeFile(join(folder, `${index}.ts`), `${code}\nexport {};\n`);
    }
    await writeFile(join(folder, "wrong.ts"), "export const text: string = 1;\n");
    const said = (await run(join(root, "node_modules/.bin/tsc"), ["-p", "."], { cwd: folder })).split("\n");
    if (!said.some((line) => line.startsWith("wrong.ts("))) throw new Error(`tsc did not check: ${said.join(" ")}`);
    return said.flatMap((line) => {
      const [, file = "", row = "", what = ""] = /^(\w+)\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? []; // not in the sources themselves
      const block = checked[Number(file)];
      if (block !== undefined && file !== "") return [`${block.page}:${block.line - 1 + Number(row)} ${what}`];
      return file === "given" ? [line] : [];
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Command lines of fenced blocks and of `code` between words, without comments. */
const lines = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), "utf8");
  const fenced = blocksOf(page, text).flatMap(({ language, code }) =>
    /^(sh)?$/.test(language) ? code.split("\n") : [],
  );
  const inline = [...text.replaceAll(/^```.*?^```$/gms, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  return [...fenced, ...inline].map((line) => ({ page, line: line.replace(/ # .*/, "").trim() }));
});

/** As a shell would: quotes keep a word together. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/'[^']*'|"[^"]*"|[^\s'"]+/g)].map(([word]) => word);
}

/** The words of every call of the command that a page shows; the page of the command leaves its name out. */
const calls = lines.flatMap(({ page, line }) => {
  const named = page === "docs/command.md" && /^(run|sessions|requests|policy|trust) /.test(line);
  const [first, ...rest] = wordsOf(named ? `capstan ${line}` : line.replace(/^npx /, ""));
  return first === "capstan" && rest.length > 0 && !/^(<|\.\.\.)/.test(rest[0] ?? "")
    ? [{ page, line, words: rest }]
    : [];
});
const GROUPS = new Set(["sessions", "requests", "policy"]);

/** The subcommand that words begin with. */
function pathOf(words: readonly string[]): readonly string[] {
  const [first = "", second = ""] = words;
  if (first.startsWith("-")) return [];
  return GROUPS.has(first) && !second.startsWith("-") && second !== "" ? [first, second] : [first];
}

/** The help of each subcommand, by its path, from one process. */
async function helpOf(paths: readonly (readonly string[])[]): Promise<ReadonlyMap<string, string>> {
  const program = `
    import { command } from "capstan/command";
    for (const path of JSON.parse(process.argv[1])) {
      process.stdout.write("\\0" + path.join(" ") + "\\0");
      await command(undefined, { name: "capstan", arguments: [...path, "--help"] });
    }`;
  const argv = ["--conditions=capstan-source", "--input-type=module", "-e", program, JSON.stringify(paths)];
  const said = await run(process.execPath, argv, { cwd: root });
  const [, ...pieces] = said.split("\0");
  return new Map(
    pieces.flatMap((piece, index) => (index % 2 === 0 ? [[piece, pieces[index + 1] ?? ""] as const] : [])),
  );
}

/** What `capstan doctor` says where these are the settings. */
async function doctorOf(settings: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "capstan-docs-"));
  try {
    await writeFile(join(home, "settings.json"), settings);
    const env = { PATH: process.env["PATH"] ?? "", HOME: home, CAPSTAN_HOME: home };
    return await run(process.execPath, [join(root, "packages/capstan/bin/capstan.js"), "doctor"], { env });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

describe("the code in README and docs", { timeout: 120_000 }, () => {
  it("type-checks as it stands, or stands in an example", async () => {
    expect(samples.length).toBeGreaterThan(30);
    expect(await complaints(loose)).toEqual([]);
  });

  it("calls the command by subcommands and options that it has", async () => {
    expect(calls.length).toBeGreaterThan(20);
    const paths = [...new Map(calls.map(({ words }) => [pathOf(words).join(" "), pathOf(words)])).values()];
    const help = await helpOf(paths);
    const wrong = calls.flatMap(({ page, line, words }) => {
      const path = pathOf(words).join(" ");
      const shown = help.get(path) ?? "";
      if (!shown.includes(`Usage: ${`capstan ${path}`.trim()} `)) return [`${page}: ${line}: no such command`];
      const options = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split("=")[0] ?? "");
      const known = new Set(shown.match(/(?<![\w-])--?[a-z][\w-]*/g));
      return options.filter((option) => !known.has(option)).map((option) => `${page}: ${line}: no option ${option}`);
    });
    expect(wrong).toEqual([]);
  });

  it("calls scripts of npm that are there", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly scripts: object };
    const called = lines.flatMap(({ page, line }) =>
      [...line.matchAll(/(?:^|&& )npm run ([\w:-]+)/g)].map(([, script = ""]) => ({ page, script })),
    );
    expect(called.length).toBeGreaterThan(5);
    expect(called.filter(({ script }) => !Object.hasOwn(scripts, script))).toEqual([]);
  });

  it("sets in settings.json what doctor takes", async () => {
    const settings = blocks.filter(({ language, code }) => language === "json" && code.startsWith("{"));
    expect(settings.length).toBeGreaterThan(1);
    const said = await Promise.all(settings.map(({ code }) => doctorOf(code)));
    for (const text of said) expect(text).toMatch(/^ok +settings .* sets /m);
  });
});

describe("the links in README and docs", () => {
  it("lead to files that are there, and to their headings", () => {
    const links = pages.flatMap((page) =>
      [...readFileSync(join(root, page), "utf8").matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = ""]) => ({ page, to })),
    );
    const broken = links.filter(({ page, to }) => {
      if (/^https?:/.test(to)) return false;
      const [path = "", heading] = to.split("#");
      const file = path === "" ? join(root, page) : join(root, dirname(page), path);
      if (!existsSync(file)) return true;
      return heading !== undefined && !headingsOf(readFileSync(file, "utf8")).includes(heading);
    });
    expect(links.length).toBeGreaterThan(40);
    expect(broken).toEqual([]);
  });

  it("lead from README to every page", () => {
    const linksOf = (page: string): readonly string[] =>
      [...readFileSync(join(root, page), "utf8").matchAll(/\]\(([^)\s#:]+)/g)].map(([, to = ""]) =>
        join(dirname(page), to),
      );
    const reached = new Set<string>();
    for (const todo = ["README.md"]; todo.length > 0;) {
      const page = todo.pop() ?? "";
      if (reached.has(page)) continue;
      reached.add(page);
      todo.push(...(page.endsWith(".md") ? linksOf(page) : pages.filter((one) => dirname(one) === page)));
    }
    expect(pages.filter((page) => page.startsWith("docs/") && !reached.has(page))).toEqual([]);
  });

  it("name sources that are there", () => {
    const named = lines.flatMap(({ page, line }) =>
      [
        ...line.matchAll(/(?<![\w/.@-])(?:packages|tests|scripts|bench|docs|examples)\/[\w./-]+\.(?:ts|md|json)\b/g),
      ].map(([file]) => ({ page, file })),
    );
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter(({ file }) => !existsSync(join(root, file)))).toEqual([]);
  });
});

/** As they are linked to. */
function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
