/** Slow journeys and crash sweeps: `tests/slow`, with a minute for each test. */

import type { ViteUserConfig } from "vitest/config";
import base from "./vitest.config.ts";

const config: ViteUserConfig = {
  ...base,
  test: {
    ...base.test,
    include: ["tests/slow/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    isolate: true,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

export default config;
