/** For tests: random commands of separators, quotes, substitutions, redirects and wrappers, most of them well formed. */

import fc from "fast-check";

/** Rules under which a good part of them is allowed. */
export const RANDOM_RULES: readonly string[] = [
  ..."a b c ls cat grep wc head git xargs find timeout nice env nohup sort uniq cut tail make npm npx echo printf".split(
    " ",
  ),
].map((program) => `shell(${program} *)`);

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
export const commands: fc.Arbitrary<string> = fc
  .tuple(
    command,
    fc.option(fc.tuple(fc.nat(), fc.constantFrom(..."'\"\\$`(){};&|<>#! \n*[]~=", ""), fc.nat(1)), { freq: 3 }),
  )
  .map(([text, change]) => {
    if (change === null) return text;
    const [where, character, length] = change;
    const at = where % (text.length + 1);
    return text.slice(0, at) + character + text.slice(at + length);
  });
