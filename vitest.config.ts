/** Unit tests beside the source and journeys in `tests/`; the slow ones have their own configuration. */

import type { ViteUserConfig } from "vitest/config";

const conditions = ["capstan-source", "node"];

const config: ViteUserConfig = {
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "tests/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "tests/slow/**"],
    globalSetup: ["scripts/hermetic.ts", "scripts/test-programs.ts"],
    passWithNoTests: true,
    pool: "forks",
    // Files share a worker: ten times faster. Tests patch no globals, so a file cannot disturb the next one.
    isolate: false,
    // One a core: much of the time goes into waiting for child processes and the disk.
    maxWorkers: "100%",
    // Generous: the machine may be busy, and no test waits for time to pass.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
};

export default config;
