/** The floor of the other wire formats: one text read by hand with `fetch`. */

import type { Subject } from "./subject.ts";
import { type OtherFormat, TEXT_FORMATS } from "./wire-formats.ts";

export function floorText(baseUrl: string, format: OtherFormat, script: string): Subject {
  const { path, headers, body, textOf } = TEXT_FORMATS[format];
  const url = `${baseUrl}/${script}/${format}${path}`;
  const sent = { "content-type": "application/json", ...headers };
  return {
    async converse(onText) {
      const response = await fetch(url, { method: "POST", headers: sent, body: JSON.stringify(body) });
      if (!response.ok || response.body === null) throw new Error(`the model answered ${response.status}`);
      const decoder = new TextDecoder();
      const end = format === "gemini" ? "\r\n\r\n" : "\n\n";
      let rest = "";
      let said = "";
      for await (const chunk of response.body) {
        const events = (rest + decoder.decode(chunk, { stream: true })).split(end);
        rest = events.pop() ?? "";
        for (const text of events) {
          const at = text.indexOf("data: ");
          if (at === -1 || text.startsWith("[DONE]", at + 6)) continue;
          const delta = textOf(JSON.parse(text.slice(at + 6)) as never); // each format reads its own
          if (delta === undefined || delta === "") continue;
          said += delta;
          onText(delta);
        }
      }
      if (said === "") throw new Error("the model said nothing");
    },
    close: async () => {},
  };
}
