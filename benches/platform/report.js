// Report of testharness.js for the runner: the results, as text in an element that nothing shows. It is Base64, because the tool masks
// in its answers what password fields of the page hold, and in parts, because an answer has a limit.
(() => {
  const PART = 20000;
  const create = Document.prototype.createElementNS;
  const put = (id, text) => {
    const element = create.call(document, "http://www.w3.org/1999/xhtml", "script");
    element.setAttribute("type", "text/plain");
    element.setAttribute("id", id);
    element.textContent = text;
    (document.body || document.documentElement).appendChild(element);
  };
  const base64 = (text) => {
    let bytes = "";
    for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
    return btoa(bytes);
  };
  const message = (of) => String(of.message ?? "").slice(0, 300);
  setup({ output: false, timeout_multiplier: TIMES });
  let isDone = false;
  add_completion_callback((tests, harness) => {
    // After an error, a harness can complete more than once.
    if (isDone) return;
    isDone = true;
    const results = tests.map((one) => [one.name, one.status, message(one)]);
    const text = base64(JSON.stringify({ status: harness.status, message: message(harness), tests: results }));
    const parts = Math.ceil(text.length / PART);
    for (let part = 0; part < parts; part++) put(`platform-part-${part}`, text.slice(part * PART, (part + 1) * PART));
    put("platform-parts", String(parts));
  });
})();
