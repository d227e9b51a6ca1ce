/** For tests: a language server as a program of Node, which misbehaves as its argument says. */

export const SCRIPTED_SERVER = `
const mode = process.argv[1] ?? "push";
if (mode === "dies") { console.error("cannot start"); process.exit(3); }
if (mode === "silent") setInterval(() => {}, 1e6);
let held = Buffer.alloc(0);
const send = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  process.stdout.write("Content-Length: " + body.length + "\\r\\nContent-Type: application/vscode-jsonrpc\\r\\n\\r\\n");
  process.stdout.write(body.subarray(0, 7)); process.stdout.write(body.subarray(7));
};
const found = (text) => text.split("\\n").flatMap((line, at) => line.includes("wrong")
  ? [{ range: { start: { line: at, character: line.indexOf("wrong") }, end: { line: at, character: 99 } }, severity: line.includes("!") ? 1 : 2, source: "scr", code: 7, message: "na\\u00efve \\u202e" + line.trim() }]
  : []);
const texts = new Map();
const publish = (uri, version) => {
  send({ method: "textDocument/publishDiagnostics", params: { uri, version, diagnostics: [] } });
  send({ method: "textDocument/publishDiagnostics", params: { uri, version, diagnostics: found(texts.get(uri)) } });
};
const handle = ({ id, method, params }) => {
  if (mode === "silent") return;
  if (method === "initialize") {
    send({ id: "ask", method: "workspace/configuration", params: { items: [{}, {}] } });
    return send({ id, result: { capabilities: mode === "pull" ? { diagnosticProvider: {} } : {} } });
  }
  if (id === "ask") return void (globalThis.configured = true);
  if (method === "textDocument/didOpen" || method === "textDocument/didChange") {
    const { uri, version } = params.textDocument;
    texts.set(uri, params.textDocument.text ?? params.contentChanges[0].text);
    if (mode === "garbage") return process.stdout.write("hello ".repeat(2000));
    if (mode === "huge") return process.stdout.write("Content-Length: 99999999999\\r\\n\\r\\n");
    if (mode === "exits") return process.exit(5);
    if (mode === "many") { texts.set(uri, "wrong\\n".repeat(200)); }
    if (mode !== "pull") publish(uri, version);
    return;
  }
  if (method === "textDocument/diagnostic") return send({ id, result: { kind: "full", items: found(texts.get(params.textDocument.uri)) } });
  if (method === "shutdown") return mode === "stays" ? undefined : send({ id, result: null });
  if (method === "exit" && mode !== "stays") process.exit(0);
};
if (mode === "stays") setInterval(() => {}, 1e6);
process.stdin.on("data", (chunk) => {
  held = Buffer.concat([held, chunk]);
  for (;;) {
    const end = held.indexOf("\\r\\n\\r\\n");
    if (end < 0) return;
    const length = Number(/Content-Length: (\\d+)/.exec(held.toString("latin1", 0, end))[1]);
    if (held.length < end + 4 + length) return;
    const body = held.toString("utf8", end + 4, end + 4 + length);
    held = held.subarray(end + 4 + length);
    handle(JSON.parse(body));
  }
});
`;
