// Gives a page input through playwright, and prints the events that the page noted.
//
//     node input.mjs PORT URL < steps.json
//
// PORT is Chromium's debugging port. The steps are a JSON list of [METHOD, ARGUMENT...], where METHOD is a method of
// playwright's page, such as `click`, or `keyboard.press`.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [port, url] = process.argv.slice(2);
const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
const context = await browser.newContext();
const page = await context.newPage();
await page.goto(url);
for (const [method, ...rest] of JSON.parse(readFileSync(0))) {
  const path = method.split(".");
  const name = path.pop();
  const owner = path.reduce((object, member) => object[member], page);
  await owner[name](...rest);
}
process.stdout.write(await page.textContent("#log"));
await context.close();
await browser.close();
