/** Tells people which files a model cannot read: the conversation then holds a text in their place. */

import type { FilePart, Message, Model, ModelCapabilities, ModelEvent } from "@capstan/core";
import { IMAGES, isText, mediaTypeOf } from "./files.ts";

const MAX_NAMED = 10;

/**
 * The model, with a `notice` of code `file-left-out` in front of the first answer to a message whose files it cannot read;
 * each message is told once. `images` are the types that it reads when it reads images at all.
 */
export function tellingLeftOut(model: Model, images: readonly string[] = IMAGES): Model {
  const told = new WeakSet<Message>();
  return {
    id: model.id,
    capabilities: model.capabilities,
    ...(model.price !== undefined && { price: () => model.price?.() }),
    stream(request) {
      const fresh = untold(request.messages, told);
      const files = fresh.flatMap((message) => unread(message, model.capabilities, images));
      const stream = model.stream(request);
      if (files.length > 0)
        return withNotice(stream, noticeOf(model.id, files), () => fresh.forEach((message) => told.add(message)));
      for (const message of fresh) told.add(message);
      return stream;
    },
  };
}

/** What has come since the last request: the history behind it was looked at before. */
function untold(messages: readonly Message[], told: WeakSet<Message>): readonly Message[] {
  const last = messages.findLastIndex((message) => told.has(message));
  return messages.slice(last + 1);
}

function unread(message: Message, capabilities: ModelCapabilities, images: readonly string[]): readonly FilePart[] {
  return message.parts.flatMap((part) => {
    const parts = part.type === "tool-result" ? part.output.content : [part];
    return parts.filter((item): item is FilePart => item.type === "file" && !reads(item, capabilities, images));
  });
}

/** As the encoders of all providers decide it. Texts are sent as text; what a model does not say it cannot read is sent. */
function reads(part: FilePart, capabilities: ModelCapabilities, images: readonly string[]): boolean {
  const mediaType = mediaTypeOf(part);
  if (images.includes(mediaType)) return capabilities.images !== false;
  if (isText(mediaType) && part.data.type !== "url") return true;
  return capabilities.files?.includes(mediaType) ?? true;
}

function noticeOf(id: string, files: readonly FilePart[]): ModelEvent {
  const names = files.map((part) =>
    part.name === undefined ? mediaTypeOf(part) : `${part.name} (${mediaTypeOf(part)})`,
  );
  const more = names.length > MAX_NAMED ? [`and ${names.length - MAX_NAMED} more`] : [];
  const count = files.length === 1 ? "A file was" : `${files.length} files were`;
  const title = `${count} left out: ${id} cannot read ${files.length === 1 ? "it" : "them"}`;
  return { type: "notice", code: "file-left-out", title, detail: [...names.slice(0, MAX_NAMED), ...more].join(", ") };
}

/** Said with the first sign of an answer: a call that failed before will be asked again. */
async function* withNotice(
  stream: AsyncIterable<readonly ModelEvent[]>,
  notice: ModelEvent,
  said: () => void,
): AsyncGenerator<readonly ModelEvent[]> {
  let first = true;
  for await (const batch of stream) {
    yield first ? [notice, ...batch] : batch;
    if (first) said();
    first = false;
  }
}
