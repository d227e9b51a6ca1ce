/** The console in a real Chromium against a real server: what a person sees, does and gets. */

import { existsSync } from "node:fs";
import { memoryStore, type Store } from "@capstan/core";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsoleWorld, consoleWorld, PROSE, TOKEN } from "../harness/console-world.ts";

const CHROMIUM = process.env["CAPSTAN_CHROMIUM"] ?? "/usr/bin/chromium";
const there = existsSync(CHROMIUM);
if (!there) console.log(`the console is not tested in a browser: there is no ${CHROMIUM}`);
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let browser: Browser | undefined;
beforeAll(async () => {
  if (there) browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
});
afterAll(() => browser?.close());

type Opened = AsyncDisposable & {
  readonly world: ConsoleWorld;
  readonly page: Page;
  /** Errors of the page, and what its policy refused. */
  readonly errors: readonly string[];
  /** Every address that the page asked for. */
  readonly asked: readonly string[];
  readonly open: (sessionId: string, page?: "session" | "inspect") => Promise<void>;
};

async function opened(size = { width: 1280, height: 800 }, store: Store = memoryStore()): Promise<Opened> {
  const world = await consoleWorld(store);
  const context = await browser?.newContext({ viewport: size });
  if (context === undefined) throw new Error("no browser");
  const page = await context.newPage();
  const errors: string[] = [];
  const asked: string[] = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${world.url}/`, { waitUntil: "domcontentloaded" });
  await page.getByLabel("Access token").fill(TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Sessions" }).waitFor({ state: "attached" });
  return {
    world,
    page,
    errors,
    asked,
    async open(sessionId, kind = "session") {
      await page.goto(`${world.url}/console/#/${kind}/${sessionId}`);
      await page.getByRole("region", { name: "Session", exact: true }).waitFor();
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

const conversation = (page: Page): ReturnType<Page["getByRole"]> => page.getByRole("region", { name: "Conversation" });

describe.skipIf(!there)("the console", () => {
  it("WEB-01 asks for the token, keeps it out of every address, and forgets it", async () => {
    await using console = await opened();
    const { page, world, asked } = console;
    expect(asked.filter((url) => url.includes(TOKEN))).toEqual([]);
    expect(page.url()).toBe(`${world.url}/console/`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Access token").fill("not-the-token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The server does not know this token.").waitFor();
    expect(await page.evaluate(() => Object.values(sessionStorage))).toEqual([]);
  });

  it("WEB-01 begins a session and shows the answer as it comes", async () => {
    await using console = await opened();
    const { page, world, errors } = console;
    await page.getByLabel("First message").fill("slow, please");
    await page.getByRole("button", { name: "Begin" }).click();
    await conversation(page).getByText("The retry loop").waitFor();
    expect(await conversation(page).getByText("Keep the jitter").count()).toBe(0);
    await page.getByRole("button", { name: "Stop" }).waitFor();
    world.letGo();
    await conversation(page).getByText("Keep the jitter").waitFor();
    await conversation(page)
      .getByText(/1 turn · /)
      .waitFor();
    expect(await conversation(page).getByRole("heading", { name: "What changes" }).count()).toBe(1);
    expect(errors).toEqual([]);
  });

  it("WEB-01 queues, steers, takes back and interrupts while a run goes on", async () => {
    await using console = await opened();
    const { page, world } = console;
    const run = await world.runtime.send("guide", "slow one");
    await console.open(run.session.id);
    const message = page.getByLabel("Message");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await message.fill("first in the queue");
    await message.press("Enter");
    await page.getByRole("list", { name: "Queued" }).getByText("first in the queue").waitFor();
    await page.getByRole("radio", { name: "Steer" }).check({ force: true });
    await message.fill("another way");
    await page.getByRole("button", { name: "Steer" }).click();
    await page.getByRole("list", { name: "Queued" }).getByText("another way").waitFor();
    await page
      .getByRole("listitem")
      .filter({ hasText: "first in the queue" })
      .getByRole("button", { name: "Take back" })
      .click();
    await expect.poll(() => page.getByRole("list", { name: "Queued" }).getByRole("listitem").count()).toBe(1);
    world.letGo();
    await conversation(page).getByText("You said: another way").waitFor();
    await conversation(page).getByText("You, while it worked").waitFor();
    await message.fill("slow again");
    await message.press("Enter");
    await page.getByRole("button", { name: "Stop" }).click();
    await conversation(page).getByText("interrupted").first().waitFor();
    expect(await conversation(page).getByText("first in the queue").count()).toBe(0);
  });

  it("WEB-01 reads on after a cut and after a restart of the server, without gaps or repeats", async () => {
    await using console = await opened();
    const { page, world } = console;
    const run = await world.runtime.send("guide", "slow one");
    await console.open(run.session.id);
    await conversation(page).getByText("The retry loop").waitFor();
    world.cut();
    await page.getByText("connection lost").waitFor();
    await page.getByText("connection lost").waitFor({ state: "detached" });
    await world.down();
    await page.getByText("connection lost").waitFor();
    world.letGo();
    await run.result();
    const second = await run.session.send("hello there");
    await second.result();
    await world.up();
    await conversation(page).getByText("You said: hello there").waitFor();
    const text = await conversation(page).innerText();
    for (const once of ["The retry loop", "Keep the jitter", "You said: hello there", "slow one"])
      expect([once, text.split(once).length - 1]).toEqual([once, 1]);
    const said = (await run.session.messages()).flatMap(({ parts }) =>
      parts.map((part) => (part.type === "text" ? part.text : "")),
    );
    expect(said).toContain(PROSE);
  });

  it("WEB-01 answers every kind of request", async () => {
    await using console = await opened();
    const { page, world } = console;
    const dock = page.getByRole("region", { name: "Open requests" });
    const begin = async (said: string): Promise<void> => {
      const run = await world.runtime.send("guide", said);
      await console.open(run.session.id);
    };
    await begin("deploy");
    await dock.getByRole("button", { name: "Edit input" }).click();
    await dock.getByLabel("Input as JSON").fill('{ "service": "search" }');
    await dock.getByRole("button", { name: "Allow as changed" }).click();
    await conversation(page)
      .getByText(/The result: .*deployed.*search/)
      .waitFor();
    await begin("deploy for good");
    const often = dock.getByLabel("For how long");
    expect(await often.getByRole("option").allTextContents()).toContain("always in this session");
    await often.selectOption("session");
    await dock.getByRole("button", { name: "Allow" }).click();
    await conversation(page).getByText("remembered for this session").waitFor();
    await page.getByLabel("Message").fill("deploy again");
    await page.getByLabel("Message").press("Enter");
    await expect
      .poll(() =>
        conversation(page)
          .getByText(/The result: .*deployed/)
          .count(),
      )
      .toBe(2);
    await begin("deploy once more");
    await dock.getByLabel("Reason for refusing").fill("not on a Friday");
    await dock.getByRole("button", { name: "Refuse" }).click();
    await conversation(page)
      .getByText(/The result: .*not on a Friday/)
      .waitFor();
    await begin("question");
    await dock.getByText("The module").click();
    await dock.getByText("Types").click();
    await dock.getByLabel("Checks: own words").fill("docs");
    await dock.getByRole("button", { name: "Answer" }).click();
    await conversation(page)
      .getByText(/The result: .*The module.*Types.*docs/)
      .waitFor();
    await begin("plan");
    await dock.getByRole("heading", { name: "Plan" }).waitFor();
    await dock.getByLabel("What to change").fill("leap first");
    await dock.getByRole("button", { name: "Send it back" }).click();
    await conversation(page)
      .getByText(/The result: .*leap first/)
      .waitFor();
    await begin("form");
    await dock.getByLabel("Name of the release").fill("2.4");
    await dock.getByLabel(/^Level/).selectOption("minor");
    await dock.getByLabel("Machines").fill("3");
    await dock.getByRole("button", { name: "Send" }).click();
    await conversation(page)
      .getByText(/The result: .*2\.4.*minor.*3.*true/)
      .waitFor();
    await begin("screen");
    await dock.getByLabel("Result", { exact: true }).fill("a cat");
    await dock.getByRole("button", { name: "Give the result" }).click();
    await conversation(page)
      .getByText(/The result: .*a cat/)
      .waitFor();
    expect(console.errors).toEqual([]);
  });

  it("WEB-01 asks whether a call that a restart cut short did happen", async () => {
    const store = memoryStore();
    const before = await consoleWorld(store);
    const run = await before.runtime.send("guide", "pay it");
    for await (const { event } of run.events()) if (event.type === "tool.started") break;
    await before[Symbol.asyncDispose]();
    await using console = await opened({ width: 1000, height: 700 }, store);
    const { page } = console;
    await console.open(run.session.id);
    const dock = page.getByRole("region", { name: "Open requests" });
    await dock.getByText("nobody saw how it ended").waitFor();
    await dock.getByRole("button", { name: /Leave it out/ }).click();
    await conversation(page)
      .getByText(/The result:/)
      .waitFor();
    await conversation(page).getByText("Left out").waitFor();
  });

  it("WEB-01 shows what sub-agents ask where their parent is looked at, and the tree of them", async () => {
    await using console = await opened({ width: 1500, height: 900 });
    const { page, world } = console;
    const run = await world.runtime.send("guide", "team", { title: "Team work" });
    await console.open(run.session.id);
    const dock = page.getByRole("region", { name: "Open requests" });
    await dock.getByRole("button", { name: "Allow" }).click({ timeout: 15_000 });
    await conversation(page)
      .getByText(/The result:/)
      .waitFor();
    const tree = page.getByRole("region", { name: "Agents (3)" });
    await tree
      .getByRole("link", { name: /worker/ })
      .first()
      .click();
    await conversation(page).getByText("You said: read the logs").waitFor();
    await page.getByRole("link", { name: "parent" }).click();
    await page.getByRole("heading", { name: "Team work" }).waitFor();
  });

  it("WEB-01 shows text of a model as text: nothing runs, loads or leads astray", async () => {
    await using console = await opened();
    const { page, world, asked, errors } = console;
    const run = await world.runtime.send("guide", "inert");
    await run.result();
    await console.open(run.session.id);
    await conversation(page).getByText("window.hacked = 1").waitFor();
    const said = conversation(page).locator("[data-kind=text]");
    expect(await said.locator("script, img, iframe, style, form, object, embed, svg").count()).toBe(0);
    const links = await said
      .locator("a")
      .evaluateAll((found) => found.map((link) => [link.getAttribute("href"), link.getAttribute("rel")]));
    expect(links).toEqual([
      ["https://example.com/page", "noopener noreferrer nofollow"],
      ["https://tracker.example/pixel.png", "noopener noreferrer nofollow"],
    ]);
    expect(await page.evaluate(() => Reflect.get(globalThis, "hacked") as unknown)).toBeUndefined();
    expect(asked.filter((url) => !url.startsWith(`${world.url}/`) && !url.startsWith("data:"))).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("WEB-01 shows calls with what they changed, line by line", async () => {
    await using console = await opened();
    const { page, world } = console;
    const run = await world.runtime.send("guide", "fix it");
    await run.result();
    await console.open(run.session.id);
    const diff = page.getByRole("region", { name: "Change of src/net/retry.ts" });
    await diff.waitFor();
    expect(await diff.getByText("let attempt = 0;", { exact: true }).count()).toBe(1);
    await conversation(page).getByRole("button", { name: /^grep/ }).click();
    await conversation(page).getByText("src/net/retry.ts:10: attempt += 1;").first().waitFor();
    await (await run.session.send("a picture, please")).result();
    await conversation(page)
      .getByRole("button", { name: /^photograph/ })
      .click();
    await conversation(page).getByRole("button", { name: "Show" }).click();
    const picture = conversation(page).getByRole("img", { name: "cat.png" });
    expect(await picture.getAttribute("src")).toMatch(/^blob:/);
  });

  it("WEB-02 shows the log by seq, what was live, what a fact came of, and what the model was asked", async () => {
    await using console = await opened({ width: 1500, height: 900 });
    const { page, world, errors } = console;
    const run = await world.runtime.send("guide", "slow one");
    await console.open(run.session.id, "inspect");
    const log = page.getByRole("listbox", { name: "Events" });
    await page.getByLabel("Live events").check();
    world.letGo();
    await log.getByText("text.delta").first().waitFor();
    await log.getByText("run.finished").waitFor();
    await page.getByLabel("Filter").fill("turn.finished");
    await expect.poll(() => log.getByRole("option").count()).toBe(1);
    await log.getByRole("option").click();
    const event = page.getByRole("region", { name: "Event" });
    await event.getByText('"reason": "stop"').waitFor();
    await event.getByRole("button", { name: "Model request" }).click();
    await event.getByText("scripted/guide").waitFor();
    await event.getByText("System", { exact: true }).click();
    await event.getByText("Be brief and exact.").waitFor();
    await event.getByText("slow one").waitFor({ state: "attached" });
    await event.getByRole("button", { name: /cause turn\.started/ }).click();
    await event.getByRole("heading", { name: /turn\.started/ }).waitFor();
    await event.getByRole("link", { name: "In the conversation" }).click();
    await conversation(page).getByText("Keep the jitter").waitFor();
    expect(errors).toEqual([]);
  });

  it("WEB-01 stays quick with 200 sessions and with a session of 10,000 messages", async () => {
    await using console = await opened();
    const { page, world } = console;
    for (let index = 0; index < 200; index++)
      await world.runtime.session({ agent: "guide", title: `Session ${index}` });
    const messages = Array.from({ length: 10_000 }, (_, index) => ({
      id: `m${index}`,
      role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
      parts: [{ type: "text" as const, text: `Message ${index} of **many**` }],
    }));
    const long = await world.runtime.session({ agent: "guide", title: "Long", messages });
    await page.getByRole("link", { name: /Long/ }).waitFor({ timeout: 20_000 });
    expect(await page.locator("[data-row]").count()).toBeLessThan(60);
    await page.getByLabel("Search sessions").fill("Session 7");
    await expect.poll(() => page.locator("[data-row]").count()).toBe(11);
    await console.open(long.id);
    await conversation(page).getByText("Message 9999 of many").waitFor();
    const box = conversation(page);
    const first = box.getByText("Message 0 of **many**", { exact: true }); // what people say is no Markdown
    await expect
      .poll(() => box.evaluate((element) => void (element.scrollTop = 0)).then(() => first.count()), {
        timeout: 40_000,
      })
      .toBe(1);
    await first.waitFor();
    expect(await page.locator("[data-kind]").count()).toBeLessThan(1_000);
    await box.evaluate((element) => void (element.scrollTop = element.scrollHeight));
    await box.getByText("Message 9999 of many").waitFor();
  });

  it("WEB-01 is used with the keyboard alone, and has a name for everything that can be pressed", async () => {
    await using console = await opened({ width: 360, height: 740 });
    const { page, world } = console;
    const run = await world.runtime.send("guide", "deploy");
    await page.keyboard.press("Alt+i");
    await page.getByRole("heading", { name: /Requests/ }).waitFor();
    await console.open(run.session.id);
    const allow = page.getByRole("button", { name: "Allow" });
    await allow.waitFor();
    const pressed = await page
      .locator("button:visible, a:visible, input:visible, textarea:visible, select:visible")
      .all();
    const nameless: string[] = [];
    for (const one of pressed)
      if (/^- \w+(:| \[|$)/.test((await one.ariaSnapshot()).split("\n")[0] ?? ""))
        nameless.push(await one.ariaSnapshot());
    expect(pressed.length).toBeGreaterThan(8);
    expect(nameless).toEqual([]);
    expect(Number(await page.evaluate("document.documentElement.scrollWidth"))).toBeLessThanOrEqual(360);
    for (let tabs = 0; tabs < 30; tabs++) {
      await page.keyboard.press("Tab");
      if ((await page.locator("button:focus", { hasText: "Allow" }).count()) === 1) break;
    }
    await page.keyboard.press("Enter");
    await conversation(page)
      .getByText(/The result: .*deployed/)
      .waitFor();
  });
});
