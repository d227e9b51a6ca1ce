/** For tests: folders of skills on the disk, gone after the test. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export type TemporaryFolder = Disposable & { readonly path: string; put(name: string, text: string): void };

export function temporaryFolder(files: { readonly [name: string]: string } = {}): TemporaryFolder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "capstan-definitions-")));
  const put = (name: string, text: string): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text, { mode: 0o755 });
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  return { path, put, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** The text of a SKILL.md. `head` is further lines of its head. */
export function skillFile(name: string, body = "Do it well.", head = ""): string {
  return `---\nname: ${name}\ndescription: Handles ${name}.\n${head}---\n\n${body}\n`;
}
