/** Lines that stand for code somebody left out: "// ... rest of the code unchanged" and its kind. */

/** Longer lines are no placeholders. UTF-16 units. */
const LONGEST = 200;

/** How a line begins that is a remark and not code, up to its first word: comments of most languages, or dots in brackets. */
const REMARK =
  /^(?:\/\/+|\/\*+|\*+(?=[\s/.…])|#+(?=[\s(.…])|--+(?=[\s(.…])|;+(?=\s)|%+(?=\s)|<!--+|\{\s*\/\*+|"""|'''|[[(]?\s?(?=(?:\.\.\.|…)(?:\s|\()))[\s(["]*/;
const DOTS_FIRST = /^(?:\.\.\.|…)/;
/** At the end, before what closes a comment. */
const DOTS_LAST = /(?:\.\.\.|…)[\s)\]}>*/"'-]*$/;

/** What is left out. */
const THING =
  "(?:code|files?|functions?|methods?|class(?:es)?|contents?|implementations?|logic|body|lines|imports|exports|text|document|sections?|modules?|components?|configuration|definitions?)";
const LEFT = "(?:existing|remaining|previous|original|other|same|unchanged|your)";
const REST = `(?:rest|remainder) of (?:the |this |your )?(?:\\w+ )?${THING}`;
const STAYS =
  "(?:unchanged|omitted|left out|elided|(?:remains?|stays?|is|are) (?:unchanged|the same|as (?:is|before)))";
const words = (...patterns: readonly string[]): RegExp => new RegExp(`\\b(?:${patterns.join("|")})\\b`, "i");

/** Right behind dots a word is enough. */
const AFTER_DOTS = words(
  "rest|remainder|remaining|unchanged|omitted|existing|previous|snip|truncated|continued",
  "same|as (?:before|above|is)",
  `(?:other|more|your|original) ${THING}`,
  "(?:keep|leave) (?:the |all |your )?(?:rest|existing|remaining|original|same)",
);
const BEFORE_DOTS = words(REST, STAYS);
/** Only at the beginning: behind a verb such as "load" it is what the code does. */
const LEFT_FIRST = new RegExp(
  `^(?:(?:keep|leave|insert|include|add|plus|and|the|all|any|your|my) )*${LEFT} ${THING}\\b`,
  "i",
);
/** Said so plainly that no dots are needed. */
const PLAIN = words(
  `${REST} (?:here|goes here|${STAYS})`,
  `rest (?:of it )?(?:remains?|stays?|is) (?:unchanged|the same)`,
  `${LEFT} ${THING} (?:here|goes here|${STAYS})`,
  `${THING} (?:omitted|unchanged|elided|(?:remains?|stays?) (?:unchanged|the same))`,
  "(?:omitted|elided|shortened|truncated) for (?:brevity|clarity|length)",
);

/** The placeholder lines of a text, without the white space around them. */
export function placeholdersIn(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const said = line.trim();
    return isPlaceholder(said) ? [said] : [];
  });
}

function isPlaceholder(line: string): boolean {
  if (line.length > LONGEST) return false;
  const begin = REMARK.exec(line)?.[0];
  if (begin === undefined) return false;
  const said = line.slice(begin.length);
  if (DOTS_FIRST.test(said)) return AFTER_DOTS.test(said);
  return PLAIN.test(said) || (DOTS_LAST.test(said) && (BEFORE_DOTS.test(said) || LEFT_FIRST.test(said)));
}
