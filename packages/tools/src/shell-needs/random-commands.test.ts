import assert from "node:assert/strict";
import { callFacts, evaluate, type ExecuteNeed, parseRule } from "@capstan/core";
import fc from "fast-check";
import { describe, it, vi } from "vitest";
import { shellTools } from "../shell.ts";
import { shellNeeds } from "./shell-needs.ts";
import { observeAll } from "./shell-oracle.ts";

vi.setConfig({ testTimeout: 240_000 }); // many processes on a busy machine

const RANDOM_COMMANDS = 1_000;
const SEED = 20_261;

/** Rules under which a good part of them is allowed. */
const RANDOM_RULES: readonly string[] =
  "a b c ls cat grep wc head git xargs find timeout nice env nohup sort uniq cut tail make npm npx echo printf"
    .split(" ")
    .map((program) => `shell(${program} *)`);

const program = fc.constantFrom(
  "a",
  "b",
  "c",
  "ls",
  "cat",
  "git status",
  "git log",
  "wc -l",
  "sort",
  "npm test",
  "canary",
);
const word = fc.constantFrom(
  ..."x -n -- -rf x=1 a#b {} {a,b} src/*.ts *.x a~b HEAD^ HEAD~1 @{0} ! = + , % : [ ] ~ ~/x canary \\; \\x x\\ y".split(
    " ",
  ),
  ..."'x y' \"x y\" 'canary;' \"a'b\" 'a\"b' $'x\\ny' $'\\'' \"\\\"\" \"\\$x\" '$(canary)' '`canary`' '\\' \"\\\\\" a'b'\"c\"".split(
    " ",
  ),
  ...'$x "$x" ${x} "${x}y" $1 $? $(a) "$(b)" `c` "`a x`" $(canary) <(a) $((1+2)) ${x:-canary} ${x:-$(canary)} $@ "$@"'.split(
    " ",
  ),
  "'é'",
  "é",
  "\u00a0",
  "\\\n",
);
const redirect = fc.constantFrom(
  ..."> out/x;>> out/x;2>&1;>/dev/null;< src/a.ts;> CANARY;> 'CANARY';2> CANARY;&> CANARY;>| CANARY;<> CANARY;> out/../CANARY;> $x;3>&-;<<< x;<<< \"$(canary)\"".split(
    ";",
  ),
  "<<EOF\nx $x\nEOF\n",
  "<<'EOF'\n$(canary)\nEOF\n",
  "<<EOF\n$(canary)\nEOF\n",
  "<<EOF\nx\\\nEOF\nEOF\n",
  "<<-E\n\tx\n\tE\n",
);
const wrapper = fc.constantFrom(
  "",
  "",
  "",
  "timeout 5 ",
  "nice -n 1 ",
  "nohup ",
  "env ",
  "env CI=1 ",
  "env X=1 ",
  "CI=1 ",
  "X=1 ",
  "command ",
  "exec ",
  "! ",
  "time ",
  "echo x | xargs ",
  "x=y ",
  "\\",
);
const simple = fc
  .tuple(
    wrapper,
    program,
    fc.array(fc.oneof({ weight: 4, arbitrary: word }, { weight: 1, arbitrary: redirect }), { maxLength: 4 }),
  )
  .map(([before, name, rest]) => `${before}${[name, ...rest].join(" ")}`);
const separator = fc.constantFrom(" && ", " || ", "; ", " | ", " & ", "\n", " |& ", ";", "&&", " # x\n", " \\\n && ");
const { command } = fc.letrec<{ command: string }>((tie) => ({
  command: fc.oneof(
    { maxDepth: 3, withCrossShrink: false },
    simple,
    fc.tuple(tie("command"), separator, tie("command")).map((parts) => parts.join("")),
    fc
      .tuple(
        fc.constantFrom(
          ["( ", " )"],
          ["{ ", "; }"],
          ["if ", "; then a; fi"],
          ["if a; then ", "; else b; fi"],
          ["for x in 1 $(a); do ", "; done"],
          ["while ", "; do break; done"],
          ["case x in x) ", " ;; esac"],
          ["f() { ", "; }; f"],
          ["cd src && ", ""],
          ["cd out; ", ""],
          ["echo $(", ")"],
          ['echo "`', '`"'],
          ["bash -c '", "'"],
          ["find . -maxdepth 0 -exec ", " \\;"],
          ["x=$(", "); a $x"],
          ["[ -f x ] || ", ""],
          ["cat <(", ")"],
        ),
        tie("command"),
      )
      .map(([[before = "", after = ""], inner]) => before + inner + after),
  ),
}));

/** A command, sometimes with a character put in, left out or changed somewhere. */
const commands: fc.Arbitrary<string> = fc
  .tuple(
    command,
    fc.option(fc.tuple(fc.nat(), fc.constantFrom(...Array.from("'\"\\$`(){};&|<>#! \n*[]~="), ""), fc.nat(1)), {
      freq: 3,
    }),
  )
  .map(([text, change]) => {
    if (change === null) return text;
    const [where, character, length] = change;
    const at = where % (text.length + 1);
    return text.slice(0, at) + character + text.slice(at + length);
  });

const [shell] = shellTools();

describe("shellNeeds of random commands", () => {
  it("PERM-19 reads any text without a fault", () => {
    fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), commands), (text) => void shellNeeds(text)));
    shellNeeds("$(".repeat(8_000));
    shellNeeds("{ ".repeat(8_000));
    shellNeeds("cd a; ".repeat(2_500));
    shellNeeds("if a; then ".repeat(1_400));
  });

  it("PERM-19 G14 random commands that are allowed run exactly the words that were judged", async () => {
    const rules = [...RANDOM_RULES, "shell(bash -c *)", "Edit(./out/**)"];
    const tiers = [{ tier: "agent" as const, allow: rules.map(parseRule), ask: [], deny: [] }];
    const isAllowed = (command: string): boolean =>
      shell !== undefined &&
      evaluate(callFacts(shell, { command }, "/work/project"), { mode: "ask", tiers }).verdict === "allow";
    const random = fc.sample(commands, { numRuns: RANDOM_COMMANDS, seed: SEED });
    const allowed = [...new Set(random.filter(isAllowed))];
    assert.ok(allowed.length >= RANDOM_COMMANDS / 20);
    for (const [command, { canary, argv }] of await observeAll(allowed, true)) {
      assert.equal(canary, false, command);
      const judgedWords = shellNeeds(command).flatMap((need) => (need.type === "execute" ? [need.words ?? []] : []));
      for (const ran of argv) {
        assert.ok(
          judgedWords.some((words) => fits(ran, words)),
          `${command} ran ${JSON.stringify(ran)}`,
        );
      }
    }
  });
});

/** Whether an argument vector is what was judged; `null` stands for any number of words. */
function fits(argv: readonly string[], words: ExecuteNeed["words"] & object): boolean {
  const [word, ...rest] = words;
  if (word === undefined) return argv.length === 0;
  if (word !== null) return argv[0] === word && fits(argv.slice(1), rest);
  return [...argv, ""].some((_, at) => fits(argv.slice(at), rest));
}
