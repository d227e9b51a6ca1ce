/** capstan/stdio: NDJSON over two pipes. */

export { serveStdio, type StdioOptions } from "@capstan/server/stdio";
