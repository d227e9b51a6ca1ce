/** Paths whose change decides what runs or is believed later (G17). Writing them always needs an approval of its own. */

import { isOwnFolder, locate, type Location, trimmedName } from "./path-pattern.ts";

/** Folders, at any depth: version control, tools' configuration, credentials. */
const FOLDERS = new Set(
  (
    ".git .hg .svn .jj .bzr _darcs .capstan .claude .agents .codex .cursor .gemini .windsurf .continue .aider .opencode " +
    ".vscode .idea .fleet .zed .devcontainer .husky .githooks .direnv .mise .ssh .gnupg .aws .azure .kube .docker .config"
  ).split(" "),
);
/** Files, at any depth: instructions of agents, shell start-up files, configuration that names programs. */
const FILES = new Set(
  (
    "agents.md agents.override.md claude.md claude.local.md gemini.md .mcp.json .cursorrules .windsurfrules .clinerules " +
    ".aider.conf.yml opencode.json opencode.jsonc .gitconfig .gitmodules .gitattributes .hgrc " +
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bashenv .profile .zshrc .zshenv .zprofile .zlogin .zlogout " +
    ".kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .xinitrc .xprofile .xsession .xsessionrc .pam_environment " +
    "profile.ps1 microsoft.powershell_profile.ps1 " +
    ".envrc .tool-versions .mise.toml mise.toml .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pypirc .netrc .pgpass " +
    ".pre-commit-config.yaml .lefthook.yml lefthook.yml .lldbinit .gdbinit .vimrc .nvimrc .exrc .viminfo .emacs .wgetrc .curlrc " +
    ".ripgreprc .tmux.conf .screenrc .psqlrc .sqliterc .irbrc .pryrc .pythonrc .rprofile .crontab"
  ).split(" "),
);
const CONFIG = /^capstan\.config\.[a-z]+$|^git~\d+$|^claude~\d+$|^capsta~\d+$/;

/** Names below a folder, in letters that every system reads alike: none of them is `..`, and not all are `.`. */
const ORDINARY = /^(?!\/|[./]*$|.*\.\.)[ -[\]-~]+$/;
const MAX_ORDINARY = 4_096;
/** A name that may be protected, with what some systems drop from its end. */
const MAY_BE_PROTECTED = new RegExp(
  `(?:^|/)(?:${oneOf([...FOLDERS, ...FILES, "capstan.config"])}|(?:git|claude|capsta)~\\d*)(?:[. :]|/|$)`,
  "i",
);

/** A pattern that means these names, letter after letter: it fails at the first that none of them has. */
function oneOf(names: readonly string[]): string {
  const tails = new Map<string, string[]>();
  for (const name of names) {
    const first = name.charAt(0);
    tails.set(first, [...(tails.get(first) ?? []), name.slice(1)]);
  }
  const choices = [...tails].map(([first, rest]) => (first === "" ? "" : `[${first}]${oneOf(rest)}`));
  return choices.length === 1 ? choices.join("") : `(?:${choices.join("|")})`;
}

/** Whether a path below the root surely holds no protected name, seen from its text: so it is with most. */
export function isOrdinary(path: string, root: string | undefined): boolean {
  return path.length <= MAX_ORDINARY && ORDINARY.test(path) && !MAY_BE_PROTECTED.test(path) && isOwnFolder(root);
}

/** The protected name in the path, or undefined. A path outside the root is judged by all of its folders. */
export function protectedName(location: Location): string | undefined {
  if (location.above === true) return "a folder around the workspace";
  const names = location.nearlyInside ?? location.all;
  if (names.length === 0) return "the workspace's own folder";
  if (location.nearlyInside === undefined && location.absolute && names[0] === "etc") return "/etc";
  return names.find((name, at) => {
    const folded = trimmedName(name);
    return (
      FOLDERS.has(folded) ||
      (/^[cg]/.test(folded) && CONFIG.test(folded)) ||
      (at === names.length - 1 && FILES.has(folded))
    );
  });
}

/** Whether writing this path always needs an approval of its own; `root` is the workspace's. */
export function isProtectedPath(path: string, root: string): boolean {
  const location = locate(path, root);
  return location === undefined || protectedName(location) !== undefined;
}
