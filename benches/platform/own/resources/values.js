// Functions for pages that compare what a browser says with what another one says. A value is in the name of its test, because the runner
// compares tests by name and status.
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value)) ?? String(value);
const value = (name, read) => promise_test(async () => {
  let found;
  try {
    found = text(await read());
  } catch (error) {
    found = `${error?.name ?? error}`;
  }
  report(name, found);
}, `${name} can be read`);
// Adds a test whose name has the value.
const report = (name, found) => test(() => {}, `${name}: ${found}`);
const frame = (attributes) => new Promise((loaded) => {
  const element = Object.assign(document.createElement("iframe"), attributes);
  element.onload = () => loaded(element);
  document.body.append(element);
});
const message = (from = self) => new Promise((resolve) => from.addEventListener("message", (event) => resolve(event.data), { once: true }));
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const within = (promise, ms, otherwise) => Promise.race([promise, wait(ms).then(() => otherwise)]);
const OTHER = "http://not-web-platform.test:8000";
