/** Personal data in text by its form: patterns, and check digits where there are some. Pure. */

export const PII_KINDS = ["email", "card", "iban", "us-ssn", "phone", "ip"] as const;
export type PiiKind = (typeof PII_KINDS)[number];
/** A pattern of one's own; its name stands in the mask. */
export type PiiPattern = { readonly name: string; readonly pattern: RegExp };
/** `start` and `end` in UTF-16 units. */
export type Pii = { readonly kind: string; readonly start: number; readonly end: number };

type Detector = { readonly kind: string; readonly pattern: RegExp; readonly holds?: (text: string) => boolean };

/** Earlier ones win where two overlap. Each part of a pattern is bounded, so that none goes back far. */
const DETECTORS: { readonly [Kind in PiiKind]: Detector } = {
  email: {
    kind: "email",
    pattern:
      /(?<![\w.+-])[\p{L}\p{N}_%+-](?:[\p{L}\p{N}._%+'-]{0,62}[\p{L}\p{N}_%+-])?@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}\p{L}{2,24}(?![\p{L}\p{N}_])/gu,
  },
  card: { kind: "card", pattern: /(?<![\w.+-])\d(?:[ -]?\d){11,18}(?![\w]|[.-]\d)/g, holds: isCard },
  iban: { kind: "iban", pattern: /(?<!\w)[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}(?!\w)/g, holds: isIban },
  "us-ssn": {
    kind: "us-ssn",
    pattern: /(?<![\w.-])(?!000|666|9\d\d)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-]|\.\d)/g,
  },
  phone: {
    kind: "phone",
    pattern:
      /(?<![\w.+/-])(?:\+[1-9]|00[1-9]|\(\d)(?:[ ()./-]{0,3}\d){6,15}(?!\w|[.-]\d)|(?<![\w.+/-])0\d{1,4}[ /-](?:[ -]?\d){5,10}(?![\w.-])|(?<![\w.+/-])[2-9]\d{2}[ .-][2-9]\d{2}[ .-]\d{4}(?![\w-])/g,
    holds: isPhone,
  },
  ip: {
    kind: "ip",
    pattern:
      /(?<![\w.:])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w]|\.\d)|(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){2,7}(?::[0-9a-fA-F]{1,4}){0,6}(?:[0-9a-fA-F]{1,4})?(?![\w:])/g,
    holds: isPublicIp,
  },
};

/** In the order of their place, none over another. */
export function findPii(
  text: string,
  kinds: readonly PiiKind[] = PII_KINDS,
  patterns: readonly PiiPattern[] = [],
): readonly Pii[] {
  const detectors: readonly Detector[] = [
    ...patterns.map(({ name, pattern }) => ({ kind: name, pattern: global(pattern) })),
    ...PII_KINDS.filter((kind) => kinds.includes(kind)).map((kind) => DETECTORS[kind]),
  ];
  const found: Pii[] = [];
  const taken = new Uint8Array(text.length);
  for (const { kind, pattern, holds } of detectors) {
    for (const { 0: match, index } of text.matchAll(pattern)) {
      if (match === "" || holds?.(match) === false) continue;
      const end = index + match.length;
      if (taken.subarray(index, end).includes(1)) continue;
      taken.fill(1, index, end);
      found.push({ kind, start: index, end });
    }
  }
  return found.toSorted((left, right) => left.start - right.start);
}

/** Each find replaced by `[kind]`. */
export function maskPii(text: string, kinds?: readonly PiiKind[], patterns?: readonly PiiPattern[]): string {
  let masked = "";
  let at = 0;
  for (const { kind, start, end } of findPii(text, kinds, patterns)) {
    masked += `${text.slice(at, start)}[${kind}]`;
    at = end;
  }
  return at === 0 ? text : masked + text.slice(at);
}

function global(pattern: RegExp): RegExp {
  return pattern.global ? pattern : new RegExp(pattern.source, `${pattern.flags}g`);
}

/** ISO/IEC 7812: a card's number by its issuer's first digits and its check digit. */
function isCard(text: string): boolean {
  const digits = text.replace(/\D/g, "");
  if (
    digits.length < 12 ||
    !/^(?:4|5[1-5]|2[2-7]|3[0-9]|6|1800|2131|50|5[6-9])/.test(digits) ||
    /^(\d)\1+$/.test(digits)
  )
    return false;
  const sum = Array.from(digits, Number)
    .toReversed()
    .reduce((total, digit, index) => total + (index % 2 === 0 ? digit : (digit * 2) % 9 || (digit === 0 ? 0 : 9)), 0);
  return sum % 10 === 0;
}

/** ISO 13616: country, two check digits, the remainder by 97. */
function isIban(text: string): boolean {
  const letters = text.replaceAll(" ", "").toUpperCase();
  if (letters.length < 15 || letters.length > 34) return false;
  let rest = 0;
  for (const character of letters.slice(4) + letters.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}

/** E.164 allows 15 digits. Dates are none. */
function isPhone(text: string): boolean {
  const digits = text.replace(/\D/g, "");
  return digits.length >= 7 && digits.length <= 17 && !/^\d{4}-\d{2}-\d{2}/.test(text);
}

/** Addresses that are the same everywhere say nothing of a person. */
function isPublicIp(text: string): boolean {
  if (text.includes(".")) return !/^(?:0|10|127|255|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./.test(text);
  const groups = text.split(":").filter((group) => group !== "");
  return (
    text.length > 6 &&
    groups.length >= 3 &&
    (text.includes("::") || groups.length === 8) &&
    !/^(?:fe80|f[cd])/i.test(text)
  );
}
