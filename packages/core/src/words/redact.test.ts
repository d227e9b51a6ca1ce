import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { REDACTED, redactor } from "./redact.ts";

const KEY = "sk-ant/+api03 x=Zz9";

/** Texts of few letters, so that secrets, their beginnings and their overlaps are frequent. No brackets: the mark has them. */
const letters = (min: number, max: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom("a", "b"), minLength: min, maxLength: max });

describe("redactor", () => {
  const forms: readonly (readonly [string, string])[] = [
    ["itself", KEY],
    ["URL-encoded", encodeURIComponent(KEY)],
    ["URL-encoded in lower case", encodeURIComponent(KEY).replace(/%../g, (code) => code.toLowerCase())],
    ["form-encoded", encodeURIComponent(KEY).replaceAll("%20", "+")],
    ["base64", Buffer.from(KEY).toString("base64")],
    ["base64url", Buffer.from(KEY).toString("base64url")],
    ["URL-encoded base64", encodeURIComponent(Buffer.from(KEY).toString("base64"))],
  ];
  for (const [name, form] of forms) {
    it(`SEC-01 EDGE-15 takes a secret out of text: ${name}`, () => {
      assert.equal(redactor([KEY]).text(`a ${form} b ${form}`), `a ${REDACTED} b ${REDACTED}`);
    });
  }

  it("G23 finds a secret in a longer text that is base64, whatever stands before and after it", () => {
    for (const before of ["", "u", "us", "use", "user:"]) {
      for (const after of ["", "a", "ab", "abc"]) {
        const encoded = Buffer.from(before + KEY + after).toString("base64");
        const shown = redactor([KEY]).text(`Basic ${encoded}`);
        assert.ok(shown.includes(REDACTED), `${before}|${after}`);
        assert.ok(
          !Buffer.from(shown.replace("Basic ", "").split(REDACTED).join(""), "base64")
            .toString("latin1")
            .includes("api03"),
        );
      }
    }
  });

  it("finds secrets with quotes, line breaks and letters beyond ASCII inside JSON text", () => {
    const secret = 'p"ss\\w\u00f6rd\n\u{1f511}';
    const shown = redactor([secret]).text(JSON.stringify({ secret }));
    assert.equal(shown, `{"secret":"${REDACTED}"}`);
    assert.equal(redactor([secret]).text(encodeURIComponent(secret)), REDACTED);
  });

  it("finds the lines of a private key", () => {
    const key =
      "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n";
    const shown = redactor([key]).text(
      key
        .split("\n")
        .map((line, at) => `${at}: ${line}`)
        .join("\n"),
    );
    assert.equal(
      shown,
      `0: -----BEGIN PRIVATE KEY-----\n1: ${REDACTED}\n2: ${REDACTED}\n3: -----END PRIVATE KEY-----\n4: `,
    );
  });

  it("finds a secret without the blanks that were read with it", () => {
    assert.equal(redactor(["token-123456\n"]).text("Bearer token-123456 ok"), `Bearer ${REDACTED} ok`);
  });

  it("ignores secrets of fewer than 6 characters and blank ones", () => {
    const some = redactor(["", "abcde", "        "]);
    assert.equal(some.text("abcde          abcde"), "abcde          abcde");
  });

  it("treats a secret as text, not as a pattern", () => {
    assert.equal(redactor(["a.*c$^(|"]).text("abbbc a.*c$^(| x"), `abbbc ${REDACTED} x`);
    assert.equal(redactor(["$&$1$$$`"]).text("x $&$1$$$` y"), `x ${REDACTED} y`);
  });

  it("prefers the longer of two secrets that begin alike", () => {
    assert.equal(redactor(["abcdef", "abcdefgh"]).text("abcdefgh abcdefg"), `${REDACTED} ${REDACTED}g`);
  });

  it("takes a secret added later out of what comes later", () => {
    const some = redactor([]);
    const stream = some.stream();
    assert.equal(stream.push("token-"), "token-");
    some.add("token-123456");
    assert.equal(some.text("token-123456"), REDACTED);
    assert.equal(stream.push("token-123456") + stream.end(), REDACTED);
  });

  it("SEC-01 no secret is left in any text", () => {
    fc.assert(
      fc.property(fc.array(letters(6, 9), { minLength: 1, maxLength: 3 }), letters(0, 60), (secrets, value) => {
        const shown = redactor(secrets).text(value);
        for (const piece of shown.split(REDACTED)) for (const secret of secrets) assert.ok(!piece.includes(secret));
      }),
    );
  });

  it("leaves text without secrets as it is", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 6 })), fc.string({ unit: "binary" }), (secrets, value) => {
        fc.pre(!secrets.some((secret) => value.includes(secret.trim())));
        assert.equal(redactor(secrets.map((secret) => `${secret}\u0001\u0002\u0003`)).text(value), value);
      }),
    );
  });
});

describe("redactor.json", () => {
  it("EDGE-15 redacts texts at any depth, and keys", () => {
    const found = redactor([KEY]).json({ a: [1, { b: `x${KEY}` }], [KEY]: null, c: true });
    assert.deepEqual(found, { a: [1, { b: `x${REDACTED}` }], [REDACTED]: null, c: true });
  });

  it("keeps the identity of what did not change", () => {
    const clean = { list: [1, "two", null], deep: { text: "x" } };
    const value = { clean, dirty: { text: KEY } };
    const some = redactor([KEY]);
    assert.equal(some.json(clean), clean);
    const found = some.json(value);
    assert.equal(found.clean, clean);
    assert.notEqual(found.dirty, value.dirty);
    assert.equal(value.dirty.text, KEY);
    const any = { text: KEY };
    assert.equal(redactor([]).json(any), any);
  });

  it("keeps a key named __proto__ a key", () => {
    const value = JSON.parse(`{"__proto__":{"a":"${KEY}"}}`) as { readonly [name: string]: string };
    assert.equal(JSON.stringify(redactor([KEY]).json(value)), `{"__proto__":{"a":"${REDACTED}"}}`);
  });

  it("SEC-01 is the same as redacting each text, for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), letters(6, 6), (value, secret) => {
        const json = value as string; // any JSON value: the type is only passed through
        assert.ok(!JSON.stringify(redactor([secret]).json(json)).includes(secret));
        const plain = redactor(["not in there \u0001"]).json(json);
        assert.equal(plain, json);
      }),
    );
  });
});

describe("redactor.stream", () => {
  it("SEC-01 EDGE-15 cut anywhere, gives what `text` gives for the whole", () => {
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 8 });
    fc.assert(
      fc.property(
        fc.array(letters(6, 9), { minLength: 1, maxLength: 3 }),
        letters(0, 60),
        cuts,
        (secrets, value, places) => {
          const some = redactor(secrets);
          const stream = some.stream();
          let shown = "";
          let from = 0;
          for (const to of [...places.toSorted((left, right) => left - right), value.length]) {
            shown += stream.push(value.slice(from, to));
            from = Math.max(from, to);
            for (const piece of shown.split(REDACTED)) for (const secret of secrets) assert.ok(!piece.includes(secret));
          }
          assert.equal(shown + stream.end(), some.text(value));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("G23 cut between any two characters of every form", () => {
    const some = redactor([KEY]);
    for (const form of [
      KEY,
      encodeURIComponent(KEY),
      Buffer.from(KEY).toString("base64"),
      Buffer.from(`u:${KEY}`).toString("base64url"),
    ]) {
      for (let cut = 0; cut <= form.length; cut++) {
        const stream = some.stream();
        const shown = stream.push(`a ${form.slice(0, cut)}`) + stream.push(`${form.slice(cut)} b`) + stream.end();
        assert.equal(shown, some.text(`a ${form} b`));
      }
      const stream = some.stream();
      let shown = "";
      for (const character of form) shown += stream.push(character);
      assert.equal(shown + stream.end(), some.text(form));
    }
  });

  it("holds back only what could begin a secret", () => {
    const stream = redactor(["token-123456"]).stream();
    assert.equal(stream.push("hello to"), "hello ");
    assert.equal(stream.push("day"), "today");
    assert.equal(stream.push(" token-12345"), " ");
    assert.equal(stream.end(), "token-12345");
    assert.equal(stream.end(), "");
  });

  it("passes every piece through when there are no secrets", () => {
    const stream = redactor([]).stream();
    assert.equal(stream.push("abc"), "abc");
    assert.equal(stream.end(), "");
  });
});
