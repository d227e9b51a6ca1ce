import assert from "node:assert/strict";
import type { Need } from "@capstan/core";
import fc from "fast-check";
import { parse } from "unbash";
import { describe, it } from "vitest";
import { isPlainLiteral, literalText } from "./literal-text.ts";
import { shellNeeds } from "./shell-needs.ts";

const COMMANDS = `ls x
cat <x
git status
git log -n 1 >out/x
CI=1 npm test
x=y ls
tee out/y
cp a b
cd sub
cd ..
exit 1
rm $x
echo $(cat x)
bash -c 'ls x; ls x'
timeout 5 ls x
find . -exec ls x {} +
ls>x
true`;
const command = fc.constantFrom(...COMMANDS.split("\n"));
const joint = fc.constantFrom("; ", " && ", " || ", "\n", " | ", " & ");
const around = fc.constantFrom(
  (script: string) => script,
  (script: string) => `(${script})`,
  (script: string) => `{ ${script}\n}`,
  (script: string) => `if ls x; then ${script}\nfi; ls x`,
  (script: string) => `for f in a b; do ${script}\ndone`,
  (script: string) => `cd sub && ls x > y; ${script}`,
  (script: string) => `f() { ${script}\n}; ls x`,
  (script: string) => `echo "$(${script}\n)"; ${script}`,
);

function writes(needs: readonly Need[]): readonly string[] {
  return needs.flatMap((need) => (need.type === "write" ? [need.path] : []));
}

/** Without the text that people are shown. */
function unshown(needs: readonly Need[]): readonly unknown[] {
  return needs.map((need) => ({ ...need, command: undefined }));
}

describe("shellNeeds", () => {
  it("PERM-19 reads what stands several times in a script as if each were written differently", () => {
    const scripts = fc.tuple(around, fc.array(fc.tuple(command, joint), { minLength: 1, maxLength: 12 }));
    fc.assert(
      fc.property(scripts, ([wrap, pieces]) => {
        const written = (piece: (text: string, at: number) => string): string =>
          wrap(pieces.map(([text, end], at) => piece(text, at) + (at + 1 < pieces.length ? end : "")).join(""));
        const same = written((text) => text);
        const differently = written((text, at) => text.replace(/(?<=^\S+) /, " ".repeat(at + 2)));
        assert.deepEqual(unshown(shellNeeds(same)), unshown(shellNeeds(differently)));
      }),
      { numRuns: 1_000, seed: 20_261 },
    );
  });

  it("PERM-19 reads a command again where it stands in another folder", () => {
    assert.deepEqual(writes(shellNeeds("ls > y; ls > y; cd sub && ls > y")), ["y", "sub/y"]);
    assert.deepEqual(
      shellNeeds("git status; cd sub && git status").flatMap((need) => ("folder" in need ? [need.folder] : [])),
      ["sub"],
    );
  });

  it("PERM-19 reads each here-document, though the commands before them are the same", () => {
    const needs = shellNeeds("cat <<E\nplain\nE\ncat <<E\n$(canary x)\nE\n");
    assert.ok(needs.some((need) => need.type === "execute" && need.words?.[0] === "canary"));
  });

  it("counts a command as often as it stands", () => {
    assert.deepEqual(shellNeeds("ls; ".repeat(192)).at(-1), {
      type: "execute",
      command: "ls",
      words: ["ls"],
      named: 1,
    });
    assert.equal(shellNeeds("ls; ".repeat(193)).length, 2);
  });

  it("answers the same for the same text, whatever was asked in between", () => {
    const first = structuredClone(shellNeeds("cat a > b"));
    for (let at = 0; at < 40; at++) shellNeeds(`cat a > b${at}`);
    assert.deepEqual(shellNeeds("cat a > b"), first);
    assert.deepEqual(writes(shellNeeds("cat a > b1")), ["b1"]);
  });

  it("tells plain variables, names and globs as their parts would", () => {
    const last = (word: string): unknown => {
      const [need] = shellNeeds(`ls ${word}`);
      return need?.type === "execute" ? need.words?.at(-1) : undefined;
    };
    for (const word of ["$x", '"$x"', "src/*.ts", "*.ts", "a?b", "$1", '"$#"']) assert.equal(last(word), null, word);
    assert.equal(last("'src/*.ts'"), "src/*.ts");
    // a glob may become an option: what comes of it, no open rule covers
    const named = (words: string): unknown => {
      const [need] = shellNeeds(words);
      return need?.type === "execute" ? need.named : undefined;
    };
    assert.deepEqual(
      ["sort src/*.ts", "sort *.ts", 'sort "$x"', "sort $x"].map((words) => named(words)),
      [1, 2, 2, 2],
    );
  });
});

describe("isPlainLiteral", () => {
  it("PERM-19 means words of which the parser's reading is the same", () => {
    const piece = fc.constantFrom(
      ..."a 1 . / = , : + % @ - ' \" {} {x} # ~ ] ! ^ é \\ $ 'a b' \"a b\" 'a\"b' \"a'b\" '' \"\"".split(" "),
      " ",
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (pieces) => {
        const word = pieces.join("");
        const text = literalText(word);
        if (text === undefined || !isPlainLiteral(word)) return;
        const [statement] = parse(`x ${word}`).commands;
        assert.ok(statement?.command.type === "Command");
        assert.deepEqual(
          statement.command.suffix.map((part) => ("value" in part ? part.value : part.type)),
          [text],
        );
      }),
      { numRuns: 3_000, seed: 20_261 },
    );
  });
});
