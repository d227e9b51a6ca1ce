/** Start to first delta of the floor: one fetch, read until the first text. */

const [url] = process.argv.slice(2);
const response = await fetch(`${url}/text/4/4096/v1/messages`, {
  method: "POST",
  headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "key" },
  body: JSON.stringify({
    model: "claude-bench",
    max_tokens: 32_000,
    stream: true,
    system: "You are a careful assistant.",
    messages: [{ role: "user", content: "Hello" }],
  }),
});
const decoder = new TextDecoder();
let rest = "";
let seen = false;
for await (const chunk of response.body) {
  const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
  rest = events.pop() ?? "";
  for (const text of events) {
    const event = JSON.parse(text.slice(text.indexOf("data: ") + 6));
    if (event.type !== "content_block_delta" || seen) continue;
    seen = true;
    process.stdout.write(event.delta.text);
  }
}
