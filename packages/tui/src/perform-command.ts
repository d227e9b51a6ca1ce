/** What the terminal's own commands do. */

import { messageOf, PERMISSION_MODES } from "@capstan/core";
import { type CommandName, helpText } from "./commands.ts";
import { inertLine } from "./inert.ts";
import { listPanel } from "./panels/panel.ts";
import { sessionBrowser } from "./panels/session-browser.ts";
import { statsPanel } from "./panels/stats-panel.ts";
import type { Terminal } from "./terminal.ts";

export function performCommand(terminal: Terminal, name: CommandName, argument: string): void {
  const { link } = terminal;
  switch (name) {
    case "help":
      return terminal.say("info", helpText(terminal.options.commands ?? []));
    case "sessions":
      return browse(terminal);
    case "stats":
      return stats(terminal);
    case "new":
      return terminal.startNew();
    case "fork":
      if (link === undefined) return terminal.say("warning", "There is nothing to fork yet.");
      return terminal.attempt(fork(terminal, link.session.id));
    case "rename":
      if (link === undefined || argument === "")
        return terminal.say("warning", "Write /rename and the new name, in a session.");
      return terminal.attempt(link.session.update({ title: argument }));
    case "model":
      return argument === "" ? void chooseModel(terminal) : terminal.attempt(useModel(terminal, argument));
    case "mode":
      return argument === "" ? chooseMode(terminal) : useMode(terminal, argument);
    case "theme":
      return argument === "" ? chooseTheme(terminal) : useTheme(terminal, argument);
    case "queue":
      return argument === ""
        ? terminal.say("warning", "Write /queue and what is to be done after this run.")
        : terminal.send(argument, "queue");
    case "quit":
      return terminal.leave(0);
    default:
      return name satisfies never;
  }
}

function close(terminal: Terminal): () => void {
  return () => {
    terminal.panel = undefined;
    terminal.draw();
  };
}

function stats(terminal: Terminal): void {
  const { context, screen, runtime, link, clock } = terminal;
  terminal.panel = statsPanel({
    context,
    screen,
    runtime,
    sessionId: link?.session.id,
    now: clock.now(),
    redraw: () => terminal.draw(),
    close: close(terminal),
  });
  terminal.draw();
}

function browse(terminal: Terminal): void {
  const { context, screen, runtime, clock, options } = terminal;
  terminal.panel = sessionBrowser({
    context,
    screen,
    runtime,
    folder: options.folder,
    now: () => clock.now(),
    redraw: () => terminal.draw(),
    open: (session) => terminal.attempt(terminal.openSummary(session)),
    fork: ({ sessionId }) => {
      close(terminal)();
      terminal.attempt(fork(terminal, sessionId));
    },
    changed: (sessionId, removed) => {
      if (removed && terminal.link?.session.id === sessionId) terminal.startNew();
    },
    close: close(terminal),
  });
  terminal.draw();
}

async function fork(terminal: Terminal, sessionId: string): Promise<void> {
  const copy = await (await terminal.runtime.session(sessionId)).fork();
  const [summary] = (await terminal.runtime.sessions({ limit: 1 })).filter((one) => one.sessionId === copy.id);
  if (summary === undefined) await terminal.open(copy.id);
  else await terminal.openSummary(summary);
  terminal.say("info", `This is a copy; the session it was made of stays as it is: ${sessionId}`);
}

async function chooseModel(terminal: Terminal): Promise<void> {
  try {
    const models = (await terminal.options.host?.models?.()) ?? [];
    if (models.length === 0)
      return terminal.say("warning", "Write /model and its name, such as anthropic/claude-sonnet-5.");
    terminal.panel = listPanel(terminal, {
      title: "Model of this session",
      choices: models.map(({ name, description }) => ({
        value: name,
        label: inertLine(name, 60),
        hint: inertLine(description, 100),
      })),
      onChoose: (name) => {
        close(terminal)();
        terminal.attempt(useModel(terminal, name));
      },
      onCancel: close(terminal),
    });
    terminal.draw();
  } catch (error) {
    terminal.say("error", messageOf(error));
  }
}

async function useModel(terminal: Terminal, name: string): Promise<void> {
  await terminal.options.host?.checkModel?.(name);
  await terminal.link?.session.update({ model: name });
  terminal.model = name;
  terminal.draw();
}

function chooseMode(terminal: Terminal): void {
  const modes = PERMISSION_MODES.filter((mode) => mode !== "never-ask");
  terminal.panel = listPanel(terminal, {
    title: "How calls are permitted in this session",
    choices: modes.map((mode) => ({ value: mode, label: mode, hint: MEANS[mode] })),
    first: Math.max(
      0,
      modes.findIndex((mode) => mode === terminal.mode),
    ),
    onChoose: (mode) => {
      close(terminal)();
      useMode(terminal, mode);
    },
    onCancel: close(terminal),
  });
  terminal.draw();
}

const MEANS = {
  ask: "what no rule allows is asked",
  "accept-edits": "changes below the folder are allowed",
  plan: "only reading, until a plan is agreed on",
  bypass: "what no rule forbids or asks about is allowed",
} as const;

function useMode(terminal: Terminal, mode: string): void {
  if (PERMISSION_MODES.some((known) => known === mode)) terminal.attempt(terminal.setMode(mode));
  else terminal.say("warning", `There is no mode ${inertLine(mode, 40)}; there are: ${PERMISSION_MODES.join(", ")}`);
}

/** Seen at once while the list is gone through. */
function chooseTheme(terminal: Terminal): void {
  const { context } = terminal;
  const before = context.theme.name;
  terminal.panel = listPanel(terminal, {
    title: "Theme",
    choices: context.themes.map(({ name }) => ({ value: name, label: name })),
    first: context.themes.findIndex(({ name }) => name === before),
    onChoose: (name) => {
      close(terminal)();
      useTheme(terminal, name);
    },
    onCancel: close(terminal),
  });
  terminal.draw();
}

function useTheme(terminal: Terminal, name: string): void {
  if (!terminal.context.use(name))
    return terminal.say(
      "warning",
      `There is no theme ${inertLine(name, 40)}; there are: ${terminal.context.themes.map((theme) => theme.name).join(", ")}`,
    );
  terminal.attempt(terminal.options.host?.keepTheme?.(name) ?? Promise.resolve());
  terminal.draw();
}
