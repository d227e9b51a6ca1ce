import { describe, expect, it } from "vitest";
import { diffText } from "./diff-text.ts";

describe("diffText", () => {
  it("shows the lines from the first change to the last", () => {
    const diff = { type: "diff", path: "a.ts", before: "1\n2\n3\n4\n5", after: "1\nx\n3\n5" } as const;
    expect(diffText(diff)).toBe("a.ts @@ -2,3 +2,2 @@\n-2\n-3\n-4\n+x\n+3");
  });

  it("shows a new file, an unchanged one and repeated lines", () => {
    expect(diffText({ type: "diff", path: "a", after: "1\n2" })).toBe("a @@ -1,0 +1,2 @@\n+1\n+2");
    expect(diffText({ type: "diff", path: "a", before: "1", after: "1" })).toBe("a @@ -2,0 +2,0 @@");
    expect(diffText({ type: "diff", path: "a", before: "1\n1", after: "1\n1\n1" })).toBe("a @@ -3,0 +3,1 @@\n+1");
  });
});
