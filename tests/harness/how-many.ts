/** How much of a long proof runs here: all of it with `LONG_TESTS=1`, else a tenth, so that CI stays short. */
export function howMany(all: number): number {
  return process.env["LONG_TESTS"] === "1" ? all : Math.ceil(all / 10);
}
