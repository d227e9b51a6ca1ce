/** What another agent's process gets of this process's environment: an allow-list, never a key or a token. */

/** Values that programs need to run and that carry no secret. What an agent needs beside them is given to it by name. */
const ALLOWED: readonly string[] = (
  "PATH HOME USER LOGNAME SHELL TERM COLORTERM NO_COLOR TZ TMPDIR " +
  "LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES LC_TIME SSL_CERT_FILE SSL_CERT_DIR"
).split(" ");
const ALLOWED_ON_WINDOWS: readonly string[] =
  "SYSTEMROOT WINDIR COMSPEC PATHEXT TEMP TMP USERPROFILE APPDATA LOCALAPPDATA".split(" ");

export type Environment = { readonly [name: string]: string };

/** Allow-listed values of `parent`, then `given`, then `fixed`, the last winning. */
export function agentEnv(parent: NodeJS.ProcessEnv, given: Environment, fixed: Environment): Environment {
  const names = process.platform === "win32" ? [...ALLOWED, ...ALLOWED_ON_WINDOWS] : ALLOWED;
  const kept = names.flatMap((name) => {
    const value = parent[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), ...given, ...fixed };
}
