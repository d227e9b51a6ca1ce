/** Slash commands: `/name arguments` at the start of an input, from files or code. */

export type {
  Command,
  CommandCall,
  CommandDiagnostic,
  CommandResult,
  CommandSource,
  InlineCommand,
} from "./command.ts";
export { commands, type CommandsOptions } from "./commands-plugin.ts";
export { expandTemplate } from "./expand-template.ts";
export { type CommandFolder, type CommandSet, loadCommands, type LoadCommandsOptions } from "./load-commands.ts";
