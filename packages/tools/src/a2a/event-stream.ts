/** The `data` of server-sent events (WHATWG HTML, section 9.2); other fields mean nothing to A2A. */

import { RemoteFailure } from "./http.ts";

/** An event without its empty line at the end is never delivered. Throws when one is longer than `maxCharacters`. */
export async function* eventData(chunks: AsyncIterable<Uint8Array>, maxCharacters: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    const whole = rest.endsWith("\r") ? rest.slice(0, -1) : rest; // its line feed may come yet
    const lines = whole.split(/\r\n|\r|\n/);
    rest = `${lines.pop() ?? ""}${rest.slice(whole.length)}`;
    for (const line of lines) {
      if (line === "" && data.length > 0) {
        yield data.join("\n");
        data = [];
        size = 0;
      } else if (line === "data" || line.startsWith("data:")) {
        data.push(line.slice(5).replace(/^ /, ""));
        size += line.length;
      }
    }
    if (size + rest.length > maxCharacters) throw new RemoteFailure("An event of the stream is too long");
  }
}
