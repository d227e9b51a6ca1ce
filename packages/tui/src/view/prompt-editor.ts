/** The editor at the bottom: several lines, history, completion, long pastes as a mark. A file that knows the library below. */

import { type AutocompleteProvider, Editor, fuzzyFilter } from "@earendil-works/pi-tui";
import { inert, inertLine } from "../inert.ts";
import type { ThemeContext } from "../theme-context.ts";
import { TERMINAL_LIMITS } from "../limits.ts";
import type { Key, Screen } from "./screen.ts";
import { editorTheme } from "./text-field.ts";

export type Completion = { readonly value: string; readonly label: string; readonly description?: string };
export type Completions = {
  readonly commands: () => readonly Completion[];
  /** What may stand behind a command, if it takes something that can be listed. */
  readonly argumentsOf: (command: string) => Promise<readonly Completion[]>;
  /** Paths below the folder. */
  readonly files: (signal: AbortSignal) => Promise<readonly string[]>;
};

export interface PromptEditor {
  readonly text: string;
  readonly isCompleting: boolean;
  setText(text: string): void;
  insert(text: string): void;
  addToHistory(text: string): void;
  lines(width: number, focused: boolean): readonly string[];
  key(key: Key): void;
}

export function promptEditor(
  screen: Screen,
  context: ThemeContext,
  { completions, onSubmit }: { readonly completions: Completions; readonly onSubmit: (text: string) => void },
): PromptEditor {
  const editor = new Editor(screen.host, editorTheme(context), { paddingX: 1, autocompleteMaxVisible: 7 });
  editor.onSubmit = onSubmit;
  editor.setAutocompleteProvider(provider(completions));
  return {
    get text() {
      return editor.getExpandedText();
    },
    get isCompleting() {
      return editor.isShowingAutocomplete();
    },
    setText: (text) => editor.setText(inert(text)),
    insert: (text) => editor.insertTextAtCursor(inert(text)),
    addToHistory: (text) => editor.addToHistory(inert(text)),
    lines(width, focused) {
      editor.focused = focused;
      return editor.render(width);
    },
    key: ({ data }) => editor.handleInput(data),
  };
}

function provider({ commands, argumentsOf, files }: Completions): AutocompleteProvider {
  return {
    triggerCharacters: ["@"],
    async getSuggestions(lines, cursorLine, cursorColumn, { signal, force = false }) {
      const before = (lines[cursorLine] ?? "").slice(0, cursorColumn);
      const [, command, argument] = /^\/([\w:-]+) (\S*)$/.exec(before) ?? [];
      if (cursorLine === 0 && command !== undefined && argument !== undefined)
        return found(
          fuzzyFilter([...(await argumentsOf(command))], argument, ({ label }) => label),
          argument,
        );
      const [, name] = /^\/([\w:-]*)$/.exec(before) ?? [];
      if (cursorLine === 0 && name !== undefined)
        return found(
          fuzzyFilter([...commands()], name, ({ value }) => value),
          before,
        );
      const [, at] = /(?:^|[\s(])(@[^\s@]*)$/.exec(before) ?? [];
      const word = at ?? (force ? (/(\S+)$/.exec(before)?.[1] ?? "") : undefined);
      if (word === undefined) return null;
      const paths = fuzzyFilter([...(await files(signal))], word.replace(/^@/, ""), (path) => path);
      const mark = at === undefined ? "" : "@";
      return found(
        paths.map((path) => ({ value: mark + path, label: path })),
        word,
      );
    },
    applyCompletion(lines, cursorLine, cursorColumn, item, prefix) {
      const line = lines[cursorLine] ?? "";
      const typed = /\S*$/.exec(line.slice(0, cursorColumn))?.[0] ?? "";
      // the list is of what was typed before: what was typed since counts
      if (typed !== prefix && !typed.endsWith(`(${prefix}`)) return { lines, cursorLine, cursorCol: cursorColumn };
      const start = line.slice(0, cursorColumn - prefix.length);
      const value = prefix.startsWith("/") && start === "" ? `/${item.value}` : item.value;
      const inserted = value.endsWith("/") ? value : `${value} `;
      return {
        lines: lines.with(cursorLine, start + inserted + line.slice(cursorColumn)),
        cursorLine,
        cursorCol: start.length + inserted.length,
      };
    },
  };
}

function found(items: Completion[], prefix: string): { items: Completion[]; prefix: string } | null {
  const shown = items
    .slice(0, TERMINAL_LIMITS.completions)
    .map(({ value, label, description }) => ({
      value,
      label: inertLine(label),
      ...(description !== undefined && { description: inertLine(description) }),
    }));
  return shown.length === 0 ? null : { items: shown, prefix };
}
