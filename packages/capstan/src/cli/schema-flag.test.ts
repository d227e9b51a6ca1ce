import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError, check, toJsonSchema } from "@capstan/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { readSchema } from "./schema-flag.ts";

const PERSON = {
  type: "object",
  properties: { name: { type: "string", description: "Full name" }, age: { type: ["integer", "null"] } },
  required: ["name"],
  additionalProperties: false,
};

describe("readSchema", () => {
  it("takes a schema itself or a file of it, renders it as it was written and checks values by it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "capstan-schema-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "person.json");
    await writeFile(file, JSON.stringify(PERSON));
    for (const given of [file, ` ${JSON.stringify(PERSON)}`]) {
      const schema = await readSchema(given);
      expect(toJsonSchema(schema, "output")).toEqual(PERSON);
      expect(await check(schema, { name: "Ada", age: null })).toEqual({ ok: true, value: { name: "Ada", age: null } });
      expect(await check(schema, { name: 3 })).toMatchObject({ ok: false, problem: expect.stringMatching(/^name: /) });
      expect(await check(schema, { name: "Ada", more: 1 })).toMatchObject({ ok: false });
    }
  });

  it("takes references, booleans and conditions", async () => {
    const schema = await readSchema(
      '{"type":"array","items":{"$ref":"#/$defs/a~1%62"},"$defs":{"a/b":{"properties":{"next":{"$ref":"#"},"any":true},"if":{"required":["x"]},"then":false}}}',
    );
    expect(await check(schema, [{ next: [], any: 1 }])).toMatchObject({ ok: true });
    expect(await check(schema, { next: [] })).toMatchObject({ ok: false });
  });

  it("says what is wrong with what is no schema", async () => {
    const folder = await mkdtemp(join(tmpdir(), "capstan-schema-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "broken.json");
    await writeFile(file, '{\n "type": "object",,\n "properties": {}\n}');
    for (const [given, why] of [
      [file, /broken\.json: not JSON at line 2/],
      [join(folder, "none.json"), /none\.json: there is no such file/],
      ["{", /not JSON/],
      ["{} {}", /not JSON/],
      ['{"type":"strnig"}', /no JSON Schema: type: there are the types string, /],
      ['{"properties":[]}', /properties: /],
      ['{"required":"name"}', /required: /],
      ['{"properties":{"a":{"items":{"minLength":"x"}}}}', /properties\.a\.items\.minLength: /],
      ['{"properties":{"a":{"$ref":"#/nope"}}}', /properties\.a\.\$ref: it leads to nothing/],
      ['{"properties":{"a":{"$ref":"https://example.com/s.json"}}}', /it leads to nothing/],
      ['{"properties":{"a":{"$ref":"#/%"}}}', /it leads to nothing/],
      ['{"properties":{"a":{"pattern":"("}}}', /properties\.a\.pattern: .*regular expression/],
    ] as const) {
      const error: unknown = await readSchema(given).catch((thrown: unknown) => thrown);
      expect(CapstanError.is(error, "config-invalid"), given).toBe(true);
      expect((error as CapstanError).message).toMatch(why);
    }
  });
});
