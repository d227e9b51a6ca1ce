import { afterEach, describe, expect, it } from "vitest";
import { fetchPage } from "./fetch-page.ts";
import { pageMarkdown } from "./page-markdown.ts";
import { type ScriptedSite, scriptedSite } from "./scripted-site.ts";

let site: ScriptedSite | undefined;
afterEach(async () => {
  await site?.close();
  site = undefined;
});

describe("fetchPage", () => {
  it.each(["head", "body", "headers", "nothing"])(
    "G11 leaves a server whose %s never ends when it is told to",
    async (where) => {
      const arrived = Promise.withResolvers<void>();
      site = await scriptedSite((response) => {
        const { socket } = response;
        if (where === "nothing") return arrived.resolve();
        if (where === "head") socket?.write("HTTP/1.1 200 OK\r\nx: ");
        else if (where === "headers") socket?.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
        else response.writeHead(200, { "content-type": "text/html" }).write("<p>one");
        return arrived.resolve();
      });
      const stop = new AbortController();
      const url = new URL(site.origin);
      const fetching = fetchPage(url, { privateHosts: new Set([url.host]), judge: undefined, signal: stop.signal });
      await arrived.promise;
      stop.abort(new Error("enough"));
      await expect(fetching).rejects.toThrow("enough");
    },
  );
});

describe("pageMarkdown", () => {
  it("G11 stops reading a page when it is told to", async () => {
    const stop = new AbortController();
    const reading = pageMarkdown(
      { html: "<p>word</p>".repeat(10_000), url: "https://a.test/", whole: false },
      stop.signal,
    );
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});
