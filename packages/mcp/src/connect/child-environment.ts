/** What a server's process gets of this process's environment: an allow-list, never a key or a token (G23). */

const ALLOWED = (
  "PATH HOME USER LOGNAME SHELL TERM NO_COLOR TZ TMPDIR LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES " +
  "LC_MONETARY LC_NUMERIC LC_TIME SSL_CERT_FILE SSL_CERT_DIR"
).split(" ");
const ALLOWED_ON_WINDOWS = (
  "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES SYSTEMDRIVE " +
  "SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR"
).split(" ");

type Texts = { readonly [name: string]: string };

/** `strict`: `given` and nothing of this process. */
export function childEnvironment(parent: NodeJS.ProcessEnv, given: Texts, strict: boolean): Record<string, string> {
  const names = strict ? [] : process.platform === "win32" ? [...ALLOWED, ...ALLOWED_ON_WINDOWS] : ALLOWED;
  const kept = names.flatMap((name) => {
    const value = parent[name];
    return value === undefined || value.startsWith("()") ? [] : [[name, value] as const]; // no functions of a shell
  });
  return { ...Object.fromEntries(kept), ...given };
}
