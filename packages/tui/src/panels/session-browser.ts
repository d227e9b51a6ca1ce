/** The sessions there are: found by words, opened, renamed, forked, deleted. */

import { messageOf, type Runtime, type SessionSummary } from "@capstan/core";
import { inertLine } from "../inert.ts";
import { TERMINAL_LIMITS } from "../limits.ts";
import { shownAge, shownCost, shownCount } from "../shown-values.ts";
import { choiceList, type Choice, type ChoiceList } from "../view/choice-list.ts";
import type { Key } from "../view/screen.ts";
import { type TextField, textField } from "../view/text-field.ts";
import { fit } from "../view/text-width.ts";
import { hintLines, type Panel, type PanelPlace, ruleLine } from "./panel.ts";

export type BrowserPlace = PanelPlace & {
  readonly runtime: Runtime;
  /** Sessions of this folder come alone at first. */
  readonly folder: string | undefined;
  readonly now: () => number;
  readonly redraw: () => void;
  readonly open: (session: SessionSummary) => void;
  readonly fork: (session: SessionSummary) => void;
  /** After one was renamed or deleted. */
  readonly changed: (sessionId: string, removed: boolean) => void;
  readonly close: () => void;
};

const HINT = "enter opens, ctrl+r renames, ctrl+f forks, ctrl+d deletes, tab all folders, esc closes";
const MOVES: ReadonlySet<string | undefined> = new Set([
  "up",
  "down",
  "pageUp",
  "pageDown",
  "enter",
  "ctrl+n",
  "ctrl+p",
]);

export function sessionBrowser(place: BrowserPlace): Panel {
  return new Browser(place);
}

class Browser implements Panel {
  readonly #place: BrowserPlace;
  #sessions: readonly SessionSummary[] | undefined;
  #list: ChoiceList;
  #shown: readonly SessionSummary[] = [];
  #at = 0;
  #filter: TextField;
  #rename: TextField | undefined;
  #deleting: SessionSummary | undefined;
  #isEverywhere: boolean;
  #said = "";

  constructor(place: BrowserPlace) {
    this.#place = place;
    this.#isEverywhere = place.folder === undefined;
    this.#filter = textField({
      prompt: "find: ",
      onSubmit: () => undefined,
      onCancel: place.close,
      onChange: () => this.#narrow(),
    });
    this.#list = this.#listOf([]);
    void this.#load();
  }

  lines(width: number, rows: number): readonly string[] {
    const { context } = this.#place;
    const { style } = context;
    const where = this.#isEverywhere ? "everywhere" : "of this folder";
    const count = this.#sessions === undefined ? "" : ` (${this.#shown.length})`;
    const field = this.#rename ?? this.#filter;
    const list =
      this.#shown.length === 0
        ? [style("dim", this.#sessions === undefined ? "looking..." : "  none; tab looks in all folders")]
        : this.#list.lines(width, Math.max(1, rows - 6));
    const said =
      this.#deleting === undefined
        ? this.#said
        : `Delete ${titleOf(this.#deleting)} and all that belongs to it? y deletes, any other key keeps it`;
    return [
      ruleLine(context, `Sessions ${where}${count}`, width),
      ...field.lines(width),
      ...list,
      ...(said === "" ? [] : [style("warning", fit(said, width))]),
      ...hintLines(context, HINT, width),
    ];
  }

  key(key: Key): void {
    const { close, open, fork } = this.#place;
    const session = this.#shown[this.#at];
    if (this.#deleting !== undefined) return this.#confirm(key);
    if (this.#rename !== undefined) return this.#rename.key(key);
    this.#said = "";
    if (key.name === "escape") return close();
    if (key.name === "tab") {
      this.#isEverywhere = !this.#isEverywhere;
      return this.#narrow();
    }
    if (key.name === "ctrl+r" && session !== undefined) return this.#startRename(session);
    if (key.name === "ctrl+d" && session !== undefined) return void (this.#deleting = session);
    if (key.name === "ctrl+f" && session !== undefined) return fork(session);
    if (key.name === "enter") return session === undefined ? undefined : open(session);
    if (MOVES.has(key.name)) return this.#move(key);
    this.#filter.key(key);
  }

  #move(key: Key): void {
    if (this.#shown.length === 0) return;
    const step = { up: -1, "ctrl+p": -1, down: 1, "ctrl+n": 1, pageUp: -10, pageDown: 10 }[key.name ?? ""] ?? 0;
    const next = this.#at + step;
    const last = this.#shown.length - 1;
    this.#at = Math.abs(step) === 1 ? (next + last + 1) % (last + 1) : Math.min(last, Math.max(0, next));
    this.#list = this.#listOf(this.#shown);
  }

  #startRename(session: SessionSummary): void {
    const end = (): void => {
      this.#rename = undefined;
      this.#place.redraw();
    };
    this.#rename = textField({
      prompt: "new name: ",
      value: session.title ?? "",
      onCancel: end,
      onSubmit: (title) => {
        end();
        if (title.trim() !== "")
          this.#do(
            async () => (await this.#place.runtime.session(session.sessionId)).update({ title: title.trim() }),
            session,
            false,
          );
      },
    });
  }

  #confirm({ data }: Key): void {
    const session = this.#deleting;
    this.#deleting = undefined;
    if (session === undefined || data !== "y") return;
    this.#do(async () => (await this.#place.runtime.session(session.sessionId)).remove(), session, true);
  }

  #do(work: () => Promise<void>, { sessionId }: SessionSummary, removed: boolean): void {
    work()
      .then(() => {
        this.#place.changed(sessionId, removed);
        return this.#load();
      })
      .catch((error: unknown) => {
        this.#said = inertLine(messageOf(error), 200);
        this.#place.redraw();
      });
  }

  async #load(): Promise<void> {
    try {
      const all = await this.#place.runtime.sessions({ limit: TERMINAL_LIMITS.sessions });
      this.#sessions = all.filter(({ parent }) => parent === undefined).toSorted((a, b) => b.updatedAt - a.updatedAt);
    } catch (error) {
      this.#sessions = [];
      this.#said = inertLine(messageOf(error), 200);
    }
    this.#narrow();
    this.#place.redraw();
  }

  #narrow(): void {
    const words = this.#filter.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    const before = this.#shown[this.#at]?.sessionId;
    this.#shown = (this.#sessions ?? []).filter((session) => {
      if (!this.#isEverywhere && session.workspace?.root !== this.#place.folder) return false;
      const text = [
        session.title,
        session.sessionId,
        session.agent,
        session.key,
        session.workspace?.root,
        session.status,
      ]
        .join(" ")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.#at = Math.max(
      0,
      this.#shown.findIndex(({ sessionId }) => sessionId === before),
    );
    this.#list = this.#listOf(this.#shown);
  }

  #listOf(sessions: readonly SessionSummary[]): ChoiceList {
    const now = this.#place.now();
    const choices = sessions.map((session): Choice<SessionSummary> => ({
      value: session,
      label: titleOf(session),
      hint: hintOf(session, now, this.#isEverywhere),
    }));
    return choiceList(this.#place.context, { choices, first: this.#at, onChoose: () => undefined });
  }
}

function titleOf({ title, sessionId }: SessionSummary): string {
  return inertLine(title ?? "", 60) || sessionId;
}

function hintOf(
  { updatedAt, status, usage, workspace, agent, openRequests }: SessionSummary,
  now: number,
  everywhere: boolean,
): string {
  const tokens = usage.inputTokens + usage.outputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  return [
    shownAge(now - updatedAt),
    ...(status === "idle" ? [] : [openRequests.length > 0 ? "waits for an answer" : status]),
    ...(tokens === 0 ? [] : [shownCount(tokens)]),
    ...(usage.costMicroUsd === undefined ? [] : [shownCost(usage.costMicroUsd)]),
    ...(everywhere && workspace !== undefined ? [inertLine(workspace.root, 60)] : []),
    inertLine(agent, 20),
  ].join(", ");
}
