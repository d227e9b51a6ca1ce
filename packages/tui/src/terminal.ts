/** The terminal: one session on the screen, keys in, ops out. All that it knows of the session it has from the log. */

import {
  CapstanError,
  type Clock,
  messageOf,
  type PermissionMode,
  type Runtime,
  type SessionSummary,
  systemClock,
  textOf,
} from "@capstan/core";
import { Asker } from "./asker.ts";
import { allCommands, typed } from "./commands.ts";
import { type ConversationView, conversationView } from "./conversation-view.ts";
import { folderFiles } from "./folder-files.ts";
import { frameLines } from "./frame.ts";
import { inertLine, pastable } from "./inert.ts";
import { inputParts, pastedImage } from "./input-parts.ts";
import { LEAVE_MS, PROGRESS_MS, TERMINAL_LIMITS, TICK_MS } from "./limits.ts";
import type { TerminalEnd, TerminalOptions } from "./options.ts";
import type { Panel } from "./panels/panel.ts";
import { performCommand } from "./perform-command.ts";
import { SessionLink } from "./session-link.ts";
import { themeContext, type ThemeContext } from "./theme-context.ts";
import { Transcript } from "./transcript/transcript.ts";
import { type PromptEditor, promptEditor } from "./view/prompt-editor.ts";
import { type Key, type Screen, screen as newScreen } from "./view/screen.ts";

/** Opens the terminal on standard input and output and resolves when the person leaves it. Throws `usage` where they are none. */
export async function openTerminal(options: TerminalOptions): Promise<TerminalEnd> {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true)
    throw new CapstanError("usage", "A terminal can only be opened where standard input and output are one");
  const terminal = new Terminal(options);
  return terminal.run();
}

const PASTE = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** Longer than any path. */
const LONG_PASTE = 5_000;
/** Signals of one suspension come within this. */
const RESUME_MS = 500;
const MODES: readonly PermissionMode[] = ["ask", "accept-edits", "plan"];

export class Terminal {
  readonly options: TerminalOptions;
  readonly runtime: Runtime;
  readonly context: ThemeContext;
  readonly screen: Screen;
  readonly editor: PromptEditor;
  readonly clock: Clock;
  link: SessionLink | undefined;
  /** Of the session, or of the one that the first input begins. */
  mode: string;
  model: string | undefined;
  /** In place of the editor, until it closes itself. */
  panel: Panel | undefined;
  readonly asker: Asker;
  unfolded = false;
  /** In place of the status, for a moment. */
  flashed: string | undefined;
  /** Raised while something runs, for what moves. */
  tick = 0;
  /** The last frame shows the conversation only. */
  isLeaving = false;
  readonly conversation: ConversationView;
  #blank = new Transcript();
  #leaveUntil = 0;
  #images = new Map<number, string>();
  #sending: Promise<void> = Promise.resolve();
  #isWaitingToDraw = false;
  #isTicking = false;
  #resumedAt = Number.NEGATIVE_INFINITY;
  readonly #end: PromiseWithResolvers<TerminalEnd> = Promise.withResolvers();

  constructor(options: TerminalOptions) {
    const { look, host = {}, commands = [] } = options;
    this.options = options;
    this.runtime = options.runtime;
    this.clock = host.clock ?? systemClock;
    this.mode = options.mode ?? "ask";
    this.context = themeContext({ ...look, name: look.theme });
    this.conversation = conversationView(this.context);
    this.asker = new Asker(this);
    this.screen = newScreen({
      lines: (width, rows) => frameLines(this, width, rows),
      onKey: (key) => this.#key(key),
      isUnicode: look.isUnicode,
    });
    this.editor = promptEditor(this.screen, this.context, {
      completions: {
        commands: () =>
          allCommands(commands).map(({ name, description }) => ({ value: name, label: `/${name}`, description })),
        argumentsOf: (command) => this.#argumentsOf(command),
        files: folderFiles(options.folder, this.clock),
      },
      onSubmit: (text) => this.#submit(text, "steer"),
    });
  }

  get transcript(): Transcript {
    return this.link?.transcript ?? this.#blank;
  }

  async run(): Promise<TerminalEnd> {
    const { sessionId, notes = [] } = this.options;
    if (sessionId !== undefined) await this.open(sessionId);
    for (const [at, note] of notes.entries()) this.transcript.note(`start/${at}`, "info", note);
    const restore = (): void => this.screen.stop();
    const resume = (): void => this.#resume();
    const gone = (): void => this.leave(0);
    process.stdin.once("end", gone);
    process.stdout.once("error", gone);
    process.on("exit", restore);
    process.on("uncaughtExceptionMonitor", restore); // what is said of an error then stands below
    process.on("SIGCONT", resume);
    this.screen.start();
    try {
      return await this.#end.promise;
    } finally {
      this.isLeaving = true;
      this.screen.drawNow();
      this.screen.stop();
      this.link?.close();
      process.off("exit", restore);
      process.off("uncaughtExceptionMonitor", restore);
      process.off("SIGCONT", resume);
      process.stdin.off("end", gone);
      process.stdout.off("error", gone);
    }
  }

  draw(): void {
    this.screen.draw();
  }

  /** A line of the terminal's own in the conversation. */
  say(severity: "info" | "warning" | "error", text: string): void {
    this.transcript.note(`own/${this.clock.monotonic()}`, severity, text);
    this.draw();
  }

  /** Shows another session in place of this one. Throws `session-not-found`. */
  async open(sessionId: string): Promise<void> {
    const session = await this.runtime.session<unknown>(sessionId);
    const link = await SessionLink.open({ runtime: this.runtime, session, onChange: () => this.#changed() });
    this.link?.close();
    this.link = link;
    this.#startTicking();
    this.mode = link.state?.mode ?? this.mode;
    this.model = link.state?.model;
    for (const { parts } of (await session.messages({ limit: TERMINAL_LIMITS.history })).filter(
      ({ role }) => role === "user",
    )) {
      const [first] = parts;
      if (first?.type === "text")
        this.editor.addToHistory(first.text.replaceAll(/\n*<attachment>[^<>\n]*<\/attachment>/g, ""));
    }
    this.draw();
  }

  /** An empty conversation: its session begins with the first input. */
  startNew(): void {
    this.link?.close();
    this.link = undefined;
    this.model = undefined;
    this.#blank = new Transcript();
    this.draw();
  }

  /** Here when it can be, else by ending with its id. */
  async openSummary(summary: SessionSummary): Promise<void> {
    const { canOpen = () => true } = this.options.host ?? {};
    this.panel = undefined;
    if (canOpen(summary)) await this.open(summary.sessionId);
    else this.#end.resolve({ type: "open", sessionId: summary.sessionId, from: this.link?.session.id });
  }

  leave(code: 0 | 130): void {
    const sessionId = this.link?.session.id;
    this.#end.resolve({ type: "leave", code, sessionId, isRunning: this.link?.isRunning === true });
  }

  async setMode(mode: string): Promise<void> {
    await this.link?.session.update({ mode });
    this.mode = mode;
    this.draw();
  }

  /** What goes wrong is said in the conversation. */
  attempt(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.say("error", messageOf(error)));
  }

  send(text: string, ifBusy: "steer" | "queue"): void {
    // one after the other: what was typed first is first
    this.#sending = this.#sending.then(() => this.#send(text, ifBusy));
  }

  interrupt(): void {
    const { link } = this;
    if (link === undefined || !link.isRunning) return;
    this.flash("interrupting...");
    this.attempt(link.session.interrupt());
  }

  flash(text: string): void {
    this.flashed = text;
    const end = (): void => {
      if (this.flashed === text) this.flashed = undefined;
      this.draw();
    };
    this.clock.after(LEAVE_MS, end, { background: true });
    this.draw();
  }

  async #send(text: string, ifBusy: "steer" | "queue"): Promise<void> {
    const { agent, folder, host = {} } = this.options;
    try {
      const parts = await inputParts(text, { folder, attaches: host.attaches === true, images: this.#images });
      if (this.link === undefined) {
        const title = (host.title ?? firstLine)(text);
        const session = await this.runtime.session({
          agent,
          title,
          mode: this.mode,
          ...(folder !== undefined && { workspace: folder }),
        });
        if (this.model !== undefined) await session.update({ model: this.model });
        const model = this.model;
        await this.open(session.id);
        this.model = model;
      }
      const { link } = this;
      await link?.session.send(parts, { ifBusy });
      this.#images.clear();
    } catch (error) {
      this.say("error", messageOf(error));
      if (this.editor.text === "") this.editor.setText(text); // nothing that was typed is lost
    }
    this.draw();
  }

  #submit(text: string, ifBusy: "steer" | "queue"): void {
    if (text.trim() === "") return;
    this.editor.addToHistory(text);
    const command = typed(text, this.options.commands ?? []);
    if (command.type === "own") performCommand(this, command.name, command.argument);
    else if (command.type === "send") this.send(command.text, ifBusy);
    else
      this.say("warning", `There is no command /${command.name}; /help lists them. A space in front sends it as text.`);
  }

  #key(key: Key): void {
    if (key.name === "ctrl+c") return this.#controlC();
    this.#leaveUntil = 0;
    if (this.panel === undefined && this.asker.key(key)) return;
    if (this.panel !== undefined) return this.panel.key(key);
    if (!this.#global(key)) this.editor.key(key);
  }

  /** True when the key was taken. */
  #global(key: Key): boolean {
    const isEmpty = this.editor.text === "";
    const taken: { readonly [name: string]: () => boolean } = {
      escape: () => !this.editor.isCompleting && (this.interrupt(), true),
      "ctrl+d": () => isEmpty && (this.leave(0), true),
      "ctrl+z": () => (this.#suspend(), true),
      "ctrl+l": () => (this.screen.redraw(), true),
      "ctrl+o": () => ((this.unfolded = !this.unfolded), true),
      "ctrl+q": () => (this.#queueTyped(), true),
      "shift+tab": () => (this.#nextMode(), true),
      "alt+up": () => (this.attempt(this.#withdraw()), true),
      paste: () => (this.#paste(key), true),
    };
    if (key.data === "?" && isEmpty) {
      performCommand(this, "help", "");
      return true;
    }
    return key.name !== undefined && Object.hasOwn(taken, key.name) && taken[key.name]?.() === true;
  }

  #controlC(): void {
    const now = this.clock.monotonic();
    if (now < this.#leaveUntil) return this.leave(130);
    if (this.panel === undefined && this.editor.text !== "") this.editor.setText("");
    this.#leaveUntil = now + LEAVE_MS;
    this.flash("ctrl+c again leaves; what runs goes on when the session is opened again");
  }

  #queueTyped(): void {
    const { text } = this.editor;
    if (text.trim() === "") return;
    this.editor.setText("");
    this.#submit(text.trim(), "queue");
  }

  #nextMode(): void {
    const next = MODES[(MODES.indexOf(this.mode as PermissionMode) + 1) % MODES.length] ?? "ask"; // -1 for another
    this.attempt(this.setMode(next));
  }

  /** The newest input that waits, back into the editor. */
  async #withdraw(): Promise<void> {
    const last = this.link?.state?.queue.at(-1);
    if (last === undefined || this.link === undefined) return;
    await this.link.session.withdraw(last.inputId);
    if (this.editor.text === "") this.editor.setText(textOf(last.parts));
    await this.link.refresh();
  }

  #paste(key: Key): void {
    const text = pastable(key.data.replace(PASTE, "").replace(PASTE_END, ""));
    const clean = { name: key.name, data: `${PASTE}${text}${PASTE_END}` };
    if (text.length > LONG_PASTE) return this.editor.key(clean);
    pastedImage(text)
      .then((path) => {
        if (path === undefined) return this.editor.key(clean);
        const number = this.#images.size + 1;
        this.#images.set(number, path);
        this.editor.insert(`[image #${number}] `);
        return this.draw();
      })
      .finally(() => this.draw())
      .catch(() => undefined); // what cannot be looked at is no image
  }

  async #argumentsOf(
    command: string,
  ): Promise<readonly { readonly value: string; readonly label: string; readonly description?: string }[]> {
    if (command === "theme") return this.context.themes.map(({ name }) => ({ value: name, label: name }));
    if (command === "mode") return [...MODES, "bypass"].map((name) => ({ value: name, label: name }));
    if (command !== "model") return [];
    const models = (await this.options.host?.models?.()) ?? [];
    return models.map(({ name, description }) => ({ value: name, label: name, description }));
  }

  #suspend(): void {
    if (process.platform === "win32") return;
    this.screen.stop();
    process.kill(0, "SIGTSTP"); // stands still here until fg; without a shell above nothing happens
    this.#resume();
  }

  /** Also when another one stopped it and let it go on. */
  #resume(): void {
    const now = this.clock.monotonic();
    if (now - this.#resumedAt < RESUME_MS) return;
    this.#resumedAt = now;
    this.screen.stop();
    this.conversation.shorten(this.screen.rows);
    this.screen.start();
  }

  #changed(): void {
    const state = this.link?.state;
    if (state !== undefined) this.mode = state.mode;
    this.#startTicking();
    if (state?.model !== undefined) this.model = state.model;
    if (this.#isWaitingToDraw) return;
    // what tools write can come faster than anybody reads
    if (this.link?.isRunning !== true) return this.draw();
    this.#isWaitingToDraw = true;
    this.clock.after(PROGRESS_MS / 2, () => {
      this.#isWaitingToDraw = false;
      this.draw();
    });
  }

  /** As long as something runs. */
  #startTicking(): void {
    if (this.#isTicking || this.isLeaving || this.link?.isRunning !== true) return;
    this.#isTicking = true;
    this.clock.after(TICK_MS, () => {
      this.#isTicking = false;
      this.tick += 1;
      this.draw();
      this.#startTicking();
    });
  }
}

function firstLine(text: string): string {
  return inertLine(text.split("\n", 1)[0] ?? "", 60);
}
