/** What is sent for what was typed: the text, marks of the files that `@` names, and pasted images. */

import { readFile, stat } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import { CapstanError, type FilePart, type Part } from "@capstan/core";
import { fileURLToPath } from "node:url";
import { TERMINAL_LIMITS } from "./limits.ts";

const MEDIA_TYPES: { readonly [ending: string]: string } = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};
const MARK = /\[image #(\d+)\]/g;

/** Path of an image, when the pasted text is nothing else: so terminals give a file that is dropped on them. */
export async function pastedImage(text: string): Promise<string | undefined> {
  const said = text
    .trim()
    .replace(/^'(.*)'$|^"(.*)"$/, "$1$2")
    .replaceAll("\\ ", " ");
  if (said.length > 4_096 || said.includes("\n") || mediaTypeOf(said) === undefined) return undefined;
  try {
    const path = said.startsWith("file://") ? fileURLToPath(said) : said;
    if (!path.startsWith("/") && !/^[A-Za-z]:\\/.test(path)) return undefined;
    return (await stat(path)).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

export type InputPlace = {
  readonly folder: string | undefined;
  readonly attaches: boolean;
  /** Paths by the number in their mark. */
  readonly images: ReadonlyMap<number, string>;
};

/** Throws `input-too-large` for an image that no provider takes. */
export async function inputParts(text: string, { folder, attaches, images }: InputPlace): Promise<readonly Part[]> {
  const named = Array.from(text.matchAll(MARK), ([, number]) => images.get(Number(number))).filter(
    (path) => path !== undefined,
  );
  const paths = [...new Set(named)].slice(0, TERMINAL_LIMITS.images);
  const files = await Promise.all(paths.map(imagePart));
  const marks = attaches && folder !== undefined ? await attachedFiles(text, folder) : [];
  const whole = [text, ...marks.map((path) => `<attachment>${path}</attachment>`)].join("\n");
  return [{ type: "text", text: whole }, ...files];
}

async function imagePart(path: string): Promise<FilePart> {
  const { size } = await stat(path);
  if (size > TERMINAL_LIMITS.imageBytes)
    throw new CapstanError("input-too-large", `${basename(path)} is larger than ${TERMINAL_LIMITS.imageBytes} bytes`);
  const base64 = (await readFile(path)).toString("base64");
  return {
    type: "file",
    mediaType: mediaTypeOf(path) ?? "image/png",
    data: { type: "base64", base64 },
    name: basename(path),
  };
}

/** Words `@path` that name something below the folder. */
async function attachedFiles(text: string, folder: string): Promise<readonly string[]> {
  const words = Array.from(text.matchAll(/(?:^|[\s(])@([^\s@<>]{1,1024})/g), ([, word = ""]) =>
    word.replace(/[.,;:!?)]+$/, ""),
  );
  const found: string[] = [];
  for (const word of new Set(words)) {
    if (found.length >= 16) break;
    const path = resolve(folder, word);
    if (!path.startsWith(folder + sep)) continue;
    if ((await stat(join(folder, word)).catch(() => undefined)) !== undefined) found.push(word);
  }
  return found;
}

function mediaTypeOf(path: string): string | undefined {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(MEDIA_TYPES, ending) ? MEDIA_TYPES[ending] : undefined;
}
