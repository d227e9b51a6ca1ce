/** capstan/tools/code-mode: programs that a model writes and that call tools. */

export { codeMode, type CodeModeOptions } from "@capstan/tools/code-mode";
