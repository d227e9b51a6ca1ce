/** Files that redirects open, and the text of here-documents. */

import type { HereDoc, Redirect, Redirection } from "unbash";
import { argumentOf, expansion, MEANS_MORE, type OnScript } from "./argument.ts";
import { homePath, type Needs, pathsFrom, type Place, textualPaths } from "./place.ts";

const DESCRIPTOR = /^(?:\d{1,3}-?|-)$/;
/** They open nothing new. */
const NOTHING: ReadonlySet<string> = new Set(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"]);
const NETWORK = /^\/+dev\/+(?:tcp|udp)(?:\/|$)/;

export function redirectNeeds(redirects: readonly Redirection[], place: Place, needs: Needs, onScript: OnScript): void {
  for (const redirect of redirects) {
    if (isProved(redirect, place, needs, onScript)) continue;
    needs.unproved(redirect.type === "HereDoc" ? "<<" : `${redirect.operator} ${redirect.target?.text ?? ""}`);
  }
}

/** Whether a command with these redirects may read something else than the call's own standard input. */
export function feeds(redirects: readonly Redirection[]): boolean {
  return redirects.some(({ operator }) => operator.startsWith("<"));
}

function isProved(redirect: Redirection, place: Place, needs: Needs, onScript: OnScript): boolean {
  if (redirect.descriptor?.type === "FileDescriptorVariable") return false;
  if (redirect.type === "HereDoc") return isHereDoc(redirect, onScript);
  if (redirect.target === undefined) return false;
  const target = argumentOf(redirect.target, onScript);
  if (redirect.type === "HereString") return target !== undefined;
  if (target?.text !== undefined) return fileNeeds(redirect, target.text, place, needs);
  const home = homePath(target?.source ?? "");
  if (home !== undefined && redirect.operator !== "<") needs.add({ type: "write", path: home }); // rules that forbid see it
  return false;
}

function fileNeeds({ operator }: Redirect, path: string, place: Place, needs: Needs): boolean {
  if ((operator === ">&" || operator === "<&") && DESCRIPTOR.test(path)) return true;
  if (operator === "<&" || path === "" || NETWORK.test(path)) return false;
  if (NOTHING.has(path)) return true;
  const paths = pathsFrom(place, path);
  for (const found of paths ?? textualPaths(place, path)) {
    if (operator === "<" || operator === "<>") needs.add({ type: "read", path: found });
    if (operator !== "<") needs.add({ type: "write", path: found });
  }
  return paths !== undefined;
}

/** The end of a here-document must be where the parser saw it: a plain delimiter, alone on its line. */
function isHereDoc({ delimiter, body, closing }: HereDoc, onScript: OnScript): boolean {
  if (delimiter === undefined || closing === undefined) return false;
  if (!/^(?:\w+|'\w+'|"\w+")$/.test(delimiter.text)) return false;
  if (body.text.split("\n").some((line) => line.replace(/^\t+/, "") === delimiter.value)) return false;
  if (delimiter.quoted) return true;
  if (/\\(?:\n|$)/.test(body.text)) return false;
  return (
    (body.parts ?? []).every((part) =>
      part.type === "Literal" ? !MEANS_MORE.test(part.text) : expansion(part, onScript),
    ) &&
    (body.parts !== undefined || !MEANS_MORE.test(body.text))
  );
}
