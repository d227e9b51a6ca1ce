import { describe, expect, it } from "vitest";
import { themeContext } from "./theme-context.ts";
import { parseTheme, ROLES, THEMES } from "./themes.ts";
import { glyphsOf, isUnicodeLocale, toAscii } from "./view/glyphs.ts";
import { styled } from "./view/style.ts";
import { widthOf } from "./view/text-width.ts";

describe("parseTheme", () => {
  it("CLI-02 takes what a file says and the rest from the theme it extends", () => {
    const theme = parseTheme({
      name: "mine",
      extends: "light",
      styles: { error: "#ff0000", dim: { color: "bright-black", italic: true } },
    });
    expect(theme.name).toBe("mine");
    expect(theme.styles.error).toEqual({ color: "#ff0000" });
    expect(theme.styles.dim).toEqual({ color: "bright-black", italic: true });
    expect(theme.styles.heading).toEqual(THEMES.find(({ name }) => name === "light")?.styles.heading);
  });

  it.each([
    [undefined, "must be an object"],
    [{}, "needs a name"],
    [{ name: "a b" }, "needs a name"],
    [{ name: "x", extends: "nothing" }, "extends"],
    [{ name: "x", colours: {} }, '"colours"'],
    [{ name: "x", styles: { heading: "reddish" } }, "is no colour"],
    [{ name: "x", styles: { headline: "red" } }, "there is no role"],
    [{ name: "x", styles: { heading: { colour: "red" } } }, "not understood"],
    [{ name: "x", styles: { heading: { color: "\u001b[31m" } } }, "is no colour"],
  ])("CLI-02 says what is wrong with %j", (value, problem) => {
    expect(() => parseTheme(value)).toThrow(problem);
  });

  it("CLI-02 every theme has a style for every role", () => {
    for (const { styles } of THEMES) expect(Object.keys(styles).toSorted()).toEqual([...ROLES].toSorted());
  });
});

describe("themeContext", () => {
  it("CLI-02 changes what every user of it sees, and tells them", () => {
    const context = themeContext({ depth: 24, isUnicode: true, name: "light" });
    const seen: string[] = [];
    const end = context.subscribe(({ name }) => void seen.push(name));
    const before = context.style("heading", "x");
    expect(context.use("high-contrast")).toBe(true);
    expect(context.style("heading", "x")).not.toBe(before);
    expect(context.use("none of these")).toBe(false);
    end();
    context.use("dark");
    expect(seen).toEqual(["high-contrast"]);
    expect(context.version).toBe(2);
  });

  it("CLI-02 uses none where there are no colours", () => {
    const context = themeContext({ depth: 1, isUnicode: true, name: "dark" });
    expect(context.theme.name).toBe("none");
    expect(context.style("error", "x")).toBe("x");
  });
});

describe("styled", () => {
  it.each([
    [24, "\u001b[38;2;255;95;95mx\u001b[39m"],
    [8, "\u001b[38;5;203mx\u001b[39m"],
    [4, "\u001b[91mx\u001b[39m"],
    [1, "x"],
  ] as const)("CLI-02 reduces a colour to what %i bits can show", (depth, expected) => {
    expect(styled("x", { color: "#ff5f5f" }, depth)).toBe(expected);
  });

  it("styles each line by itself and an empty text not at all", () => {
    expect(styled("a\n\nb", { bold: true }, 1)).toBe("\u001b[1ma\u001b[22m\n\n\u001b[1mb\u001b[22m");
    expect(styled("", { bold: true }, 24)).toBe("");
  });
});

describe("glyphs", () => {
  it("knows a locale that is not UTF-8", () => {
    expect(isUnicodeLocale({ LANG: "de_DE.UTF-8" })).toBe(true);
    expect(isUnicodeLocale({})).toBe(true);
    expect(isUnicodeLocale({ LC_ALL: "C", LANG: "de_DE.UTF-8" })).toBe(false);
    expect(isUnicodeLocale({ LANG: "de_DE.ISO-8859-1" })).toBe(false);
  });

  it("turns a line into ASCII of the same width", () => {
    expect(toAscii("│ ü 漢 👍 ─", widthOf)).toBe("| ? ?? ?? -");
    expect(JSON.stringify(glyphsOf(false))).toMatch(/^[\0-\u007f]*$/);
  });
});
