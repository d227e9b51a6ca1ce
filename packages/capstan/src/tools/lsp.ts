/** capstan/tools/lsp: what language servers say of files. */

export { languageServers, LSP_LIMITS } from "@capstan/tools/lsp";
export type { LanguageServerOptions, LanguageServersOptions } from "@capstan/tools/lsp";
