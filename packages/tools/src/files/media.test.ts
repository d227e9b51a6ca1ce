import assert from "node:assert/strict";
import { crc32, deflateSync } from "node:zlib";
import { afterEach, beforeEach, describe, it } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { readFileTool } from "./read-file.ts";

let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(() => fixture.close());
const read = readFileTool();

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

function png(width: number, height: number, filling = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0], 8);
  const rows = deflateSync(Buffer.alloc((width + 1) * Math.min(height, 4)));
  const chunks = [chunk("IHDR", header), chunk("tEXt", Buffer.alloc(filling)), chunk("IDAT", rows)];
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...chunks, chunk("IEND", Buffer.alloc(0))]);
}

const JPEG = Buffer.from(
  "\xff\xd8\xff\xe0\x00\x04JF\xff\xc0\x00\x0b\x08\x00\x20\x00\x10\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x2a\xff\xd9",
  "latin1",
);
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
const WEBP = Buffer.from("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", "base64");
const PDF = Buffer.from("%PDF-1.7\n1 0 obj<</Type/Page>>endobj\ntrailer<<>>\nstartxref\n0\n%%EOF\n", "latin1");

describe("read_file, of what is to be looked at", () => {
  const files = [
    ["a.png", png(3, 2), "image/png", ", 3 x 2 pixels"],
    ["b.jpg", JPEG, "image/jpeg", ", 16 x 32 pixels"],
    ["c.gif", GIF, "image/gif", ", 1 x 1 pixels"],
    ["d.webp", WEBP, "image/webp", ", 1 x 1 pixels"],
    ["e.pdf", PDF, "application/pdf", ""],
  ] as const;
  for (const [path, bytes, mediaType, size] of files) {
    it(`TOOL-25 shows ${mediaType}, whatever its name, and says what it is`, async () => {
      fixture.write(`${path}.bin`, bytes);
      const name = `${path}.bin`;
      assert.deepEqual(await fixture.call(read, { path: name }), {
        content: [
          { type: "text", text: `${name}: ${mediaType}, ${bytes.length} bytes${size}.` },
          { type: "file", mediaType, name, data: { type: "base64", base64: bytes.toString("base64") } },
        ],
      });
    });

    it(`TOOL-25 does not show ${mediaType} that is cut off anywhere`, async () => {
      for (let length = 6; length < bytes.length - 1; length++) {
        fixture.write(path, bytes.subarray(0, length));
        assert.match(await fixture.say(read, { path }), /^ERROR /, `${length} bytes`);
      }
    });
  }

  it("TOOL-25 does not show an image one bit of which is another, where its format can tell", async () => {
    const bytes = png(3, 2);
    for (let at = 8; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      fixture.write("a.png", flipped);
      assert.match(
        await fixture.say(read, { path: "a.png" }),
        /^ERROR a\.png begins as image\/png, but is cut off or damaged/,
      );
    }
  });

  it("TOOL-25 refuses what no provider takes: too large, too many pixels, encrypted", async () => {
    const { imageBytes, imagePixels, pdfBytes } = TOOL_LIMITS;
    fixture.write("large.png", png(1, 1, imageBytes));
    assert.match(await fixture.say(read, { path: "large.png" }), /^ERROR .*at most 5,242,880 are read/);
    fixture.write("wide.png", png(imagePixels + 1, 1));
    assert.match(await fixture.say(read, { path: "wide.png" }), /8001 x 1 pixels; at most 8000 a side/);
    fixture.write("most.png", png(imagePixels, 1));
    assert.match(await fixture.say(read, { path: "most.png" }), /^most\.png: image\/png/);
    fixture.write("large.pdf", Buffer.concat([PDF, Buffer.alloc(pdfBytes)]));
    assert.match(await fixture.say(read, { path: "large.pdf" }), /^ERROR .*at most 33,554,432 are read/);
    fixture.write("locked.pdf", PDF.toString("latin1").replace("trailer<<>>", "trailer<</Encrypt 5 0 R>>"));
    assert.match(await fixture.say(read, { path: "locked.pdf" }), /is encrypted\. Ask the user/);
  });
});
