/** Colours and attributes as SGR sequences, reduced to what the terminal can show. */

export type Color = string;
/** How one role looks. A colour is `#rrggbb`, or one of the sixteen by name such as `cyan` or `bright-black`. */
export type Style = {
  readonly color?: Color;
  readonly background?: Color;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly inverse?: boolean;
};
/** How many colours: none, 16, 256 or all of them. */
export type ColorDepth = 1 | 4 | 8 | 24;

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
/** The sixteen colours as most terminals have them, to find the nearest. */
const SIXTEEN: readonly (readonly [number, number, number])[] = [
  [0, 0, 0],
  [205, 49, 49],
  [13, 188, 121],
  [229, 229, 16],
  [36, 114, 200],
  [188, 63, 188],
  [17, 168, 205],
  [229, 229, 229],
  [102, 102, 102],
  [241, 76, 76],
  [35, 209, 139],
  [245, 245, 67],
  [59, 142, 234],
  [214, 112, 214],
  [41, 184, 219],
  [255, 255, 255],
];
/** The six steps of each channel in the colour cube of 256. */
const CUBE = [0, 95, 135, 175, 215, 255] as const;

export function isColor(text: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(text) || sixteenOf(text) !== undefined;
}

/** Puts the style around a text; an empty text stays empty. Without colours only attributes are left. */
export function styled(text: string, style: Style, depth: ColorDepth): string {
  if (text === "") return text;
  const on: string[] = [];
  const off: string[] = [];
  const add = (given: boolean | undefined, start: string, end: string): void => {
    if (given !== true) return;
    on.push(start);
    off.unshift(end);
  };
  add(style.bold, "1", "22");
  add(style.dim === true && depth > 1, "2", "22");
  add(style.italic, "3", "23");
  add(style.underline, "4", "24");
  add(style.inverse, "7", "27");
  for (const [color, base] of [
    [style.color, 30],
    [style.background, 40],
  ] as const) {
    const code = color === undefined ? undefined : codeOf(color, base, depth);
    if (code !== undefined) add(true, code, String(base + 9));
  }
  if (on.length === 0) return text;
  const [open, close] = [`\x1b[${on.join(";")}m`, `\x1b[${off.join(";")}m`];
  return text.includes("\n")
    ? text
        .split("\n")
        .map((line) => (line === "" ? line : open + line + close))
        .join("\n")
    : open + text + close; // a line stands by itself
}

function codeOf(color: Color, base: number, depth: ColorDepth): string | undefined {
  if (depth === 1) return undefined;
  const named = sixteenOf(color);
  if (named !== undefined) return sixteenCode(named, base);
  const value = Number.parseInt(color.slice(1), 16);
  const rgb = [(value >> 16) & 255, (value >> 8) & 255, value & 255] as const;
  if (depth === 24) return `${base + 8};2;${rgb.join(";")}`;
  if (depth === 8) return `${base + 8};5;${cubeIndex(rgb)}`;
  return sixteenCode(nearest(rgb), base);
}

function sixteenOf(color: Color): number | undefined {
  const bright = color.startsWith("bright-");
  const at = NAMES.indexOf((bright ? color.slice(7) : color) as (typeof NAMES)[number]); // -1 for others
  return at === -1 ? undefined : at + (bright ? 8 : 0);
}

function sixteenCode(index: number, base: number): string {
  return String(index < 8 ? base + index : base + 52 + index);
}

type Rgb = readonly [number, number, number];

function distance(a: Rgb, b: Rgb): number {
  return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2;
}

function nearest(rgb: Rgb): number {
  let best = 0;
  for (const [at, candidate] of SIXTEEN.entries())
    if (distance(rgb, candidate) < distance(rgb, SIXTEEN[best] ?? candidate)) best = at;
  return best;
}

function cubeIndex(rgb: Rgb): number {
  const step = (value: number): number =>
    CUBE.reduce<number>(
      (best, level, at) => (Math.abs(level - value) < Math.abs((CUBE[best] ?? 0) - value) ? at : best),
      0,
    );
  const [r, g, b] = [step(rgb[0]), step(rgb[1]), step(rgb[2])];
  const cube: Rgb = [CUBE[r] ?? 0, CUBE[g] ?? 0, CUBE[b] ?? 0];
  const grey = Math.max(0, Math.min(23, Math.round(((rgb[0] + rgb[1] + rgb[2]) / 3 - 8) / 10)));
  const level = 8 + grey * 10;
  return distance(rgb, [level, level, level]) < distance(rgb, cube) ? 232 + grey : 16 + 36 * r + 6 * g + b;
}
