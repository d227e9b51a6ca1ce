/** Packages that bring several parts of an agent under one manifest, and tools from a folder of modules. */

export { type LoadedPackage, loadPackage, lookAtPackage, packageFolder, type SeenPackage } from "./load-package.ts";
export { type LoadedTools, loadTools, type ToolDiagnostic } from "./load-tools.ts";
export { MANIFEST, type PackageManifest } from "./package-manifest.ts";
