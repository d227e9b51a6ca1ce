/** One line of text that is typed, and the editor of several. Files that know the library below. */

import { Editor, type EditorTheme, Input } from "@earendil-works/pi-tui";
import { inert } from "../inert.ts";
import type { ThemeContext } from "../theme-context.ts";
import type { Key, Screen } from "./screen.ts";

export interface TextField {
  readonly value: string;
  lines(width: number): readonly string[];
  key(key: Key): void;
}

export type TextFieldOptions = {
  readonly prompt: string;
  readonly value?: string;
  readonly onSubmit: (value: string) => void;
  readonly onCancel: () => void;
  readonly onChange?: () => void;
};

export function textField({ prompt, value = "", onSubmit, onCancel, onChange }: TextFieldOptions): TextField {
  const input = new Input({ prompt });
  input.setValue(inert(value).replaceAll("\n", " "));
  input.onSubmit = onSubmit;
  input.onEscape = onCancel;
  input.handleInput("\x05"); // to its end
  input.focused = true;
  return {
    get value() {
      return input.getValue();
    },
    lines: (width) => input.render(width),
    key({ data }) {
      const before = input.getValue();
      input.handleInput(data);
      if (input.getValue() !== before) onChange?.();
    },
  };
}

/** Several lines: enter ends it. */
export function textArea(
  screen: Screen,
  context: ThemeContext,
  { value = "", onSubmit, onCancel }: Omit<TextFieldOptions, "prompt">,
): TextField {
  const editor = new Editor(screen.host, editorTheme(context));
  editor.setText(inert(value));
  editor.onSubmit = onSubmit;
  editor.focused = true;
  return {
    get value() {
      return editor.getExpandedText();
    },
    lines: (width) => editor.render(width),
    key(key) {
      if (key.name === "escape") onCancel();
      else editor.handleInput(key.data);
    },
  };
}

export function editorTheme(context: ThemeContext): EditorTheme {
  return {
    borderColor: (text) => context.style("border", text),
    selectList: {
      selectedPrefix: (text) => context.style("selected", text),
      selectedText: (text) => context.style("selected", text),
      description: (text) => context.style("dim", text),
      scrollInfo: (text) => context.style("dim", text),
      noMatch: (text) => context.style("dim", text),
    },
  };
}
