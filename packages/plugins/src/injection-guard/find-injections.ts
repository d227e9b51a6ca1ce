/** Text that looks as if it wanted to be an instruction: fixed signs, looked for in what tools return. Pure. */

export const INJECTION_CODES = [
  "fake-role",
  "override",
  "fake-approval",
  "concealment",
  "addressed-to-agent",
  "exfiltration",
  "invisible",
  "control-sequence",
] as const;
export type InjectionCode = (typeof INJECTION_CODES)[number];
/** `excerpt` is on one line, at most 80 characters, and holds nothing that a terminal acts on. */
export type Injection = { readonly code: InjectionCode; readonly excerpt: string };

/** Characters that are looked at; of a longer text its beginning and its end. */
const MAX_CHARACTERS = 524_288;
const EXCERPT = 80;
const CONTEXT = 20;
/** Characters without a width that ordinary text may hold: joiners of scripts and of emoji. */
const FEW = 8;

/** Cannot be seen, or turns the order of others around; never needed in data. */
const HIDDEN = /[\u202a-\u202e\u2066-\u2069\u{e0001}-\u{e007f}]/u;
const ZERO_WIDTH = /[\u00ad\u061c\u180e\u200b-\u200f\u2060-\u2065\u206a-\u206f\ufeff]|[\u{e0100}-\u{e01ef}]/gu;
/** Flags of regions are a black flag and tags that end with a cancel tag. */
const BLACK_FLAG = "\u{1f3f4}";
const REGION_FLAG = /\u{1f3f4}[\u{e0020}-\u{e007e}]{1,8}\u{e007f}/gu;
/** All but colours: titles, links and the clipboard, the cursor, the screen. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const CONTROL = /(?:\u001b[\]P^_X]|\u009d|(?:\u001b\[|\u009b)[\d;?<=>]{0,32}[ -/]?[@-ln-~])/;

const OTHERS =
  "(?:all|any|every|the|your|my|these|those|of|other|previous|prior|earlier|above|preceding|former|existing|system|safety|security)";
const ORDERS =
  "(?:instructions?|prompts?|rules|directions|directives|guidelines|commands|context|messages|constraints|policies)";

/** On text in lower case, compatibility forms resolved, invisible characters gone, one space between words. */
const SIGNS: readonly (readonly [InjectionCode, RegExp])[] = [
  [
    "fake-role",
    /<\/?(?:system|assistant|developer|system-reminder|tool_results?|function_results?|tool_use|important_instructions)(?: [^<>]{0,80})?>|<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)[^|<>]{0,20}\|>|\[\/?(?:inst|system|sys)\]|<<\/?sys>>|#{2,6} ?(?:system|new system) (?:prompt|message|instructions?)|(?:^|\n) ?(?:(?:system|developer) (?:prompt|message|override|note|instructions?)|human|assistant) ?: /,
  ],
  [
    "override",
    new RegExp(
      `(?:ignore|disregard|forget|override|bypass|discard|do not follow|don't follow|stop following) (?:${OTHERS} ){0,6}${ORDERS}|(?:new|updated|revised|real|actual|additional) (?:system )?(?:instructions?|prompt|directives?) ?(?::|follow)|you (?:are|will be) now (?:acting |playing |in (?:\\w+ )?mode|(?:an?|the) (?:[\\w-]+ ){0,3}(?:ai|assistant|model|agent|bot|system)\\b)|from now on,? you (?:are|must|will|should)|(?:enable|enter|switch to|activate) (?:developer|debug|god|admin|jailbreak|dan) mode`,
    ),
  ],
  [
    "fake-approval",
    /(?:user|human|owner|admin(?:istrator)?|operator|developer|anthropic|openai|security team) (?:has|have|had)? ?(?:already |now |explicitly |just )?(?:approved|authori[sz]ed|confirmed|consented|allowed|permitted|granted)|(?:permission|approval|consent|authori[sz]ation) (?:has been|was|is|already|now) (?:already |now |hereby )?(?:granted|given|approved|obtained)|you (?:are|have been) (?:hereby |now |fully |already )?(?:authori[sz]ed|permitted|pre-?approved|cleared) to|no (?:further|user|human|additional) (?:confirmation|approval|permission) (?:is |are )?(?:needed|required|necessary)|without (?:asking|confirming with|checking with|waiting for) (?:the )?(?:user|human|anyone|permission|confirmation|approval)/,
  ],
  [
    "concealment",
    /(?:do not|don't|never|without|must not|avoid) (?:ever )?(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|alert|alerting|notify|notifying|show|showing|report|reporting|disclos(?:e|ing))[^.\n]{0,40} (?:user|human|anyone|operator|owner|them|him|her)|keep (?:this|it) (?:a )?(?:secret|hidden|confidential|between us) from|(?:silently|secretly|covertly|quietly) (?:run|execute|send|call|delete|install|upload|copy|forward|add|include)/,
  ],
  [
    "addressed-to-agent",
    /(?:attention|important|urgent|notice)[ :,-]{1,3}(?:to |for )?(?:all |any |the )?(?:ai|llm|language model|chatbot|claude|chatgpt|gemini|copilot)s?\b|(?:note|message|instructions?) (?:to|for) (?:all |any |the )?(?:ai|llm|language model|assistant|agent|chatbot|claude|chatgpt|gemini|copilot)s?\b|(?:if you are|as) (?:an? |the )?(?:ai|llm|language model|ai assistant|ai agent|automated agent|coding agent)\b[^.\n]{0,60}(?:must|should|need|please|have to|you|your)|(?:ai|llm) (?:assistants?|agents?|models?) (?:reading|processing|that reads?|summari[sz]ing|who read) this/,
  ],
  [
    "exfiltration",
    /(?:send|post|upload|forward|e-?mail|transmit|exfiltrate|leak|submit|append|include|put) [^.\n]{0,40}(?:api[ _-]?keys?|passwords?|credentials?|secrets?|tokens?|private keys?|ssh keys?|environment variables|\.env|conversation|chat history|system prompt|contents? of)[^.\n]{0,40}(?:to|at|into|in|as|via) [^.\n]{0,20}(?:https?:|www\.|[\w.-]{1,64}@|url|link|image|query|webhook|server)|(?:repeat|print|reveal|output|show|display) (?:your|the) (?:entire |full |whole |original |initial )?(?:system prompt|instructions above|initial instructions|hidden instructions)/,
  ],
];

/** One finding a code at most. Misses what is worded otherwise, and finds texts that only speak of injections. */
export function findInjections(text: string): readonly Injection[] {
  const shown =
    text.length <= MAX_CHARACTERS
      ? text
      : `${text.slice(0, MAX_CHARACTERS / 2)}\n${text.slice(-MAX_CHARACTERS / 2)}`.toWellFormed();
  const found: Injection[] = [];
  const plain = shown.replace(REGION_FLAG, "");
  const hidden = HIDDEN.exec(plain);
  const thin = plain.replace(/^\ufeff/, "").match(ZERO_WIDTH)?.length ?? 0;
  if (hidden !== null || thin > Math.max(FEW, plain.length / 50))
    found.push({ code: "invisible", excerpt: excerptOf(plain, hidden?.index ?? plain.search(ZERO_WIDTH)) });
  const control = CONTROL.exec(plain);
  if (control !== null) found.push({ code: "control-sequence", excerpt: excerptOf(plain, control.index) });
  const lines = normalized(plain);
  const words = lines.replace(/(?<=[\w,])\n(?=\w)/g, " "); // what a line end cut in two
  for (const [code, sign] of SIGNS) {
    const searched = code === "fake-role" ? lines : words;
    const match = sign.exec(searched);
    if (match !== null) found.push({ code, excerpt: excerptOf(searched, match.index) });
  }
  const smuggled = tagText(plain);
  if (smuggled !== "" && found.every(({ code }) => code !== "override") && /\w{3}/.test(smuggled))
    found.push({ code: "override", excerpt: excerptOf(smuggled, 0) });
  return found.toSorted((left, right) => INJECTION_CODES.indexOf(left.code) - INJECTION_CODES.indexOf(right.code));
}

/** Characters that hide or turn things around are shown as `\u{...}`; all else stays as it is. */
export function revealed(text: string): string {
  const hidden = new RegExp(`${REGION_FLAG.source}|${HIDDEN.source}`, "gu");
  const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  return text
    .replaceAll(hidden, (found) => (found.startsWith(BLACK_FLAG) ? found : escaped(found)))
    .replaceAll(new RegExp(CONTROL.source, "g"), (sequence) => `${escaped(sequence)}${sequence.slice(1)}`);
}

/** Letters of other scripts that look like Latin ones. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  Array.from("аеорсухіѕјһԁԛԝ").map((letter, index) => [letter, "aeopcyxisjhdqw".charAt(index)]),
);

function normalized(text: string): string {
  return text
    .normalize("NFKC")
    .replace(ZERO_WIDTH, "")
    .replaceAll(new RegExp(HIDDEN.source, "gu"), "")
    .toLowerCase()
    .replace(/[аеорсухіѕјһԁԛԝ]/g, (letter) => LOOK_ALIKES.get(letter) ?? letter)
    .replaceAll("\u2019", "'")
    .replace(/[^\S\n]+/g, " ")
    .replace(/\n[ \n]*/g, "\n");
}

/** What stands in tag characters, which mirror ASCII and cannot be seen. */
function tagText(text: string): string {
  return Array.from(text.match(/[\u{e0020}-\u{e007e}]/gu) ?? [], (tag) =>
    String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000),
  ).join("");
}

function excerptOf(text: string, at: number): string {
  const begin = Math.max(0, at - CONTEXT);
  return text
    .slice(begin, begin + EXCERPT)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\ufffd\s]+/gu, " ")
    .trim();
}
