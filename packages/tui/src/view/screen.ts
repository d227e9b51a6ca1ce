/** The terminal as a place for lines and a source of keys. The one file that starts, stops and draws through the library below. */

import {
  type Component,
  type Editor,
  isKeyRelease,
  parseKey,
  ProcessTerminal,
  type Terminal,
  TuiMainScreen,
} from "@earendil-works/pi-tui";
import { toAscii } from "./glyphs.ts";
import { fit, widthOf } from "./text-width.ts";

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  start(): void;
  /** The terminal as it was before. May be called at any time, also twice. */
  stop(): void;
  /** Asks for a frame: several asks make one. */
  draw(): void;
  drawNow(): void;
  /** Everything anew, whatever stands there. */
  redraw(): void;
  /** For the parts of the library that want to know where they are drawn. */
  readonly host: ConstructorParameters<typeof Editor>[0];
}

/** A key: `name` such as `ctrl+c`, `enter`, `a`; `data` as the terminal sent it, a pasted text with its brackets. */
export type Key = { readonly name: string | undefined; readonly data: string };

export type ScreenOptions = {
  /** All lines of a frame; the last of them are seen. */
  readonly lines: (width: number, rows: number) => readonly string[];
  readonly onKey: (key: Key) => void;
  readonly isUnicode: boolean;
  readonly terminal?: Terminal;
};

const FRESH = {
  previousLines: [],
  previousWidth: 0,
  previousHeight: 0,
  cursorRow: 0,
  hardwareCursorRow: 0,
  maxLinesRendered: 0,
  previousViewportTop: 0,
};
/** What the terminal answers to a question of the library, which it takes up itself. */
const ANSWER = /^\[(?:6;\d+;\d+t|\?[\d;]+[uc])$/;

export function screen({ lines, onKey, isUnicode, terminal = new ProcessTerminal() }: ScreenOptions): Screen {
  const tui = new TuiMainScreen(terminal);
  const root: Component = {
    render: (width) => {
      const all = lines(width, terminal.rows);
      return all.map((line) => {
        const whole = isUnicode ? line : toAscii(line, widthOf);
        return widthOf(whole) <= width ? whole : fit(whole, width); // one line that is too long ends the library
      });
    },
    invalidate: () => undefined,
  };
  tui.addChild(root);
  tui.addInputListener((data) => {
    if (data.startsWith("\u001b") && ANSWER.test(data.slice(1))) return undefined;
    if (!isKeyRelease(data)) onKey({ name: data.startsWith("\x1b[200~") ? "paste" : parseKey(data), data });
    tui.requestRender();
    return { consume: true };
  });
  let running = false;
  return {
    get columns() {
      return terminal.columns;
    },
    get rows() {
      return terminal.rows;
    },
    start() {
      if (running) return;
      running = true;
      tui.restoreRenderState(FRESH); // what stands above belongs to the shell, and stays
      tui.start();
      tui.renderNow(); // a frame that was asked for before the last stop is never drawn
    },
    stop() {
      if (!running) return;
      running = false;
      tui.stop();
    },
    draw: () => tui.requestRender(),
    drawNow: () => tui.renderNow(),
    redraw: () => tui.requestRender(true),
    host: tui,
  };
}
