/** The floor of the AI SDK: the stream of its language model read by hand. */

import { aiSdkSource } from "./ai-sdk-source.ts";
import type { Subject } from "./subject.ts";

export function floorAiSdk(baseUrl: string, script: string): Subject {
  const source = aiSdkSource(`${baseUrl}/${script}`);
  return {
    async converse(onText) {
      const { stream } = await source.doStream({});
      let said = "";
      for await (const part of stream as ReadableStream<{ readonly type: string; readonly delta?: string }>) {
        if (part.type !== "text-delta" || part.delta === undefined) continue;
        said += part.delta;
        onText(part.delta);
      }
      if (said === "") throw new Error("the model said nothing");
    },
    close: async () => {},
  };
}
