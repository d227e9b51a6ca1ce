/** The small broken project of `capstan demo`, as texts: files beside the code would not be in every build. */

import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const FILES: Readonly<Record<string, string>> = {
  "README.md": `# A shopping cart

Adds up what is in a cart, and takes ten percent off from 100.00 on. Made by \`capstan demo\`, with two mistakes in it.
Run its tests with \`node --test\`.
`,
  "package.json": `{
  "name": "capstan-demo-cart",
  "version": "1.0.0",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
`,
  "src/cart.js": `import { discountOf } from "./discount.js";

/** What the items cost together, in cents. */
export function total(items) {
  const cents = items.reduce((sum, item) => sum + item.cents, 0);
  return cents - discountOf(cents);
}
`,
  "src/discount.js": `const FROM_CENTS = 10_000;

/** Ten percent from 100.00 on, in whole cents. */
export function discountOf(cents) {
  return cents > FROM_CENTS ? Math.round(cents / 10) : 0;
}
`,
  "test/cart.test.js": `import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "../src/cart.js";

test("an empty cart costs nothing", () => {
  assert.equal(total([]), 0);
});

test("one item costs its price", () => {
  assert.equal(total([{ cents: 250, quantity: 1 }]), 250);
});

test("two of a kind cost twice the price", () => {
  assert.equal(total([{ cents: 250, quantity: 2 }]), 500);
});

test("above 100.00 there are ten percent off", () => {
  assert.equal(total([{ cents: 20_000, quantity: 1 }]), 18_000);
});

test("at 100.00 there are ten percent off", () => {
  assert.equal(total([{ cents: 10_000, quantity: 1 }]), 9_000);
});
`,
};

/** Writes the project into a new temporary folder and returns its real path. It is the user's from then on. */
export async function makeDemoProject(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "capstan-demo-")));
  for (const [name, text] of Object.entries(FILES)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return folder;
}
