/** Reads text deltas without the JSON parser when they are written exactly as the API writes them. */

export type PlainDelta = { readonly outputIndex: number; readonly contentIndex: number; readonly delta: string };

const HEAD = String.raw`^\{"type":"response\.output_text\.delta",`;
/** No escape and no control character: what the JSON parser would read as it stands. */
const TEXT = String.raw`"delta":"([^"\\\u0000-\u001f]*)"`;
const PAD = String.raw`(?:"obfuscation":"\w*",)?`;

/** The orders of members that the API has used, with the groups of output index, content index and delta. */
const FORMS: readonly (readonly [form: RegExp, groups: readonly [number, number, number]])[] = [
  [
    new RegExp(
      String.raw`${HEAD}"content_index":(\d+),${TEXT},"item_id":"\w*","logprobs":\[\],${PAD}"output_index":(\d+),"sequence_number":\d+\}$`,
    ),
    [3, 1, 2],
  ],
  [
    new RegExp(
      String.raw`${HEAD}"sequence_number":\d+,"item_id":"\w*","output_index":(\d+),"content_index":(\d+),${TEXT},"logprobs":\[\](?:,"obfuscation":"\w*")?\}$`,
    ),
    [1, 2, 3],
  ],
];

/** One reader a response: it remembers the order that the server uses. Anything else is left to the JSON parser. */
export function plainDeltas(): (data: string) => PlainDelta | undefined {
  let [form, groups] = FORMS[0] as (typeof FORMS)[number]; // there is one
  return (data) => {
    if (data.charCodeAt(18) !== 111 /* response.o */ || data.charCodeAt(25) !== 116 /* output_t */) return undefined;
    let found = form.exec(data);
    for (let at = 0; found === null && at < FORMS.length; at++) {
      const other = FORMS[at];
      found = other?.[0].exec(data) ?? null;
      if (found !== null && other !== undefined) [form, groups] = other;
    }
    if (found === null) return undefined;
    const [output, content, text] = groups;
    return { outputIndex: Number(found[output]), contentIndex: Number(found[content]), delta: found[text] ?? "" };
  };
}
