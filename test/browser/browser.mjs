// Drives a headless Chromium for tests: a command a line in, an answer a line out, both JSON.
import { createInterface } from "node:readline";
import chromium from "@sparticuz/chromium";
import { chromium as launcher } from "playwright-core";

const SOFTWARE_RENDERING = [
  "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
];
const browser = await launcher.launch({
  executablePath: await chromium.executablePath(),
  args: [...SOFTWARE_RENDERING, "--no-sandbox", "--lang=en-US"],
});
const errors = [];
const PERIOD = 400; // of pictures [ms]: each takes a processor for as long as a graph has for its ticks
let page;

const commands = {
  async open({ address, width = 1100, height = 700, language = "en-US" }) {
    await page?.close();
    page = await browser.newPage({ locale: "en-US", viewport: { width, height } });
    // Playwright knows no locale that JavaScript does not, but a browser has one where LANG is C.
    await page.addInitScript((name) => {
      Object.defineProperty(Navigator.prototype, "language", { get: () => name });
    }, language);
    await page.addInitScript((period) => {
      const draw = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (call) => draw(() => setTimeout(() => draw(call), period));
    }, PERIOD);
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(address);
  },
  async wait({ text, seconds }) {
    try {
      await page.getByText(text).first().waitFor({ timeout: 1e3 * seconds });
    } catch (error) {
      throw new Error(`${error}\nthe page says: ${await page.innerText("body")}`);
    }
  },
  async drag({ from, to, steps = 10, seconds = 1.0 }) {
    await page.mouse.move(...from);
    await page.mouse.down();
    for (let k = 1; k <= steps; k++) {
      await page.mouse.move(
        from[0] + ((to[0] - from[0]) * k) / steps, from[1] + ((to[1] - from[1]) * k) / steps,
      );
      await page.waitForTimeout((1e3 * seconds) / steps);
    }
  },
  async release() {
    await page.mouse.up();
  },
  async click({ text }) {
    await page.getByText(text, { exact: true }).first().click();
  },
  async fill({ name, text }) {
    await page.getByText(name, { exact: true }).first().locator("xpath=following::input[1]").fill(text);
  },
  async slider({ name = "" }) {
    const tracks = "[contains(@class, 'mantine-Slider-track')]";
    const track = name
      ? page.getByText(name).first().locator(`xpath=following::*${tracks}[1]`)
      : page.locator(".mantine-Slider-track").first();
    await track.scrollIntoViewIfNeeded();
    const box = await track.boundingBox();
    return [box.x, box.x + box.width, box.y + 0.5 * box.height];
  },
  async text() {
    return await page.innerText("body");
  },
  async screenshot({ path }) {
    await page.screenshot({ path, timeout: 300e3 });
  },
  async errors() {
    return errors;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...options } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ answer: (await commands[command](options)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
await browser.close();
