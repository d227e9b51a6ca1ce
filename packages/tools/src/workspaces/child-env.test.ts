import assert from "node:assert/strict";
import { describe, it } from "vitest";
import { childEnv } from "./child-env.ts";

describe.runIf(process.platform !== "win32")("childEnv", () => {
  it("G23 hands on only what is on the list", () => {
    const parent = {
      PATH: "/bin",
      HOME: "/home/u",
      LC_ALL: "C",
      ANTHROPIC_API_KEY: "k",
      GITHUB_TOKEN: "t",
      LC_SECRET_TOKEN: "t",
      SSH_AUTH_SOCK: "/s",
      BASH_ENV: "/evil",
      "BASH_FUNC_ls%%": "() { :; }",
      NODE_OPTIONS: "--require /evil",
      LD_PRELOAD: "/evil",
      GIT_SSH_COMMAND: "evil",
      RIPGREP_CONFIG_PATH: "/evil",
      HTTPS_PROXY: "http://user:password@host",
      path: "/lower",
    };
    assert.deepEqual(childEnv(parent, {}, {}), { PATH: "/bin", HOME: "/home/u", LC_ALL: "C" });
  });

  it("lets given values win over the parent's, and fixed ones over given", () => {
    assert.deepEqual(childEnv({ PATH: "/bin" }, { PATH: "/x", A: "1", CAPSTAN_RUN: "fake" }, { CAPSTAN_RUN: "tag" }), {
      PATH: "/x",
      A: "1",
      CAPSTAN_RUN: "tag",
    });
  });
});
