import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bwrap } from "./bwrap.ts";
import type { Confiner } from "./confiner.ts";
import { localWorkspace } from "./local.ts";
import { missingHere, suiteName } from "./sandbox-here.ts";

const isMissing = process.platform === "linux" ? await missingHere(bwrap()) : "not Linux";
const options = { timeoutMs: 20_000, maxOutputBytes: 10_000, signal: new AbortController().signal };

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-input-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe(suiteName("a program that is written to while it runs", isMissing), () => {
  it.each(["none", "bwrap"])("answers each line before the next is written (%s)", async (name) => {
    if (name === "bwrap" && isMissing !== undefined) return;
    const confine = name === "bwrap" ? (root: string) => bwrap().open(root) : undefined;
    const workspace = await localWorkspace(folder, { ...(confine && { confine }) });
    let input: NodeJS.WritableStream | undefined;
    let said = "";
    const { exitCode } = await workspace.run(["/bin/cat"], {
      ...options,
      onInput(stream) {
        input = stream;
        stream.write("1\n");
      },
      onOutput(_stream, piece) {
        said += piece;
        const lines = said.split("\n").length - 1;
        if (said.endsWith("\n") && lines < 3) input?.write(`${lines + 1}\n`);
        else if (lines === 3) input?.end();
      },
    });
    expect([exitCode, said]).toEqual([0, "1\n2\n3\n"]);
    await workspace.close();
  });

  it("is refused where its input holds it to this process", async () => {
    const confiner: Confiner = {
      confinement: "other",
      begin: async (argv) => ({
        argv,
        env: {},
        shim: false,
        lifeline: true,
        problem: () => undefined,
        end: async () => undefined,
      }),
      close: async () => undefined,
    };
    const workspace = await localWorkspace(folder, { confine: async () => confiner });
    const running = workspace.run(["/bin/cat"], { ...options, onInput: () => undefined });
    await expect(running).rejects.toMatchObject({ code: "process-failed" });
    await workspace.close();
  });
});
