/** What a child process gets of this process's environment: an allow-list, never a key or a token. */

/** Values that programs need to run and that carry no secret. `SSH_AUTH_SOCK`, proxies and session buses are left out. */
const ALLOWED = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "COLORTERM",
  "NO_COLOR",
  "TZ",
  "TMPDIR",
  "LANG",
  "LANGUAGE",
  "LC_ALL",
  "LC_COLLATE",
  "LC_CTYPE",
  "LC_MESSAGES",
  "LC_MONETARY",
  "LC_NUMERIC",
  "LC_TIME",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];
const ALLOWED_ON_WINDOWS = ["SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA"];

/** The environment of a child: allow-listed values of `parent`, then `given`, then `fixed`, the last winning. */
export function childEnv(
  parent: NodeJS.ProcessEnv,
  given: { readonly [name: string]: string },
  fixed: { readonly [name: string]: string },
): Record<string, string> {
  const names = process.platform === "win32" ? [...ALLOWED, ...ALLOWED_ON_WINDOWS] : ALLOWED;
  const env: Record<string, string> = {};
  for (const name of names) {
    const value = parent[name];
    if (value !== undefined) env[name] = value;
  }
  return Object.assign(env, given, fixed);
}
