// A small stand-in for testharness.js, for our own pages where there is no checkout. It has the functions that those pages use, with the same
// meaning, and runs one test after another.
(() => {
  const tests = [], completed = [];
  const PASS = 0, FAIL = 1, TIMEOUT = 2;
  let timeout = 10000, runs = Promise.resolve(), isOver = false;

  const finish = (status) => {
    if (isOver) return;
    isOver = true;
    for (const one of tests) if (one.status === undefined) Object.assign(one, { status: 3, message: null });
    for (const report of completed) report(tests, { status, message: null });
  };
  const add = (name, run) => {
    const one = { name, status: undefined, message: null };
    tests.push(one);
    runs = runs.then(async () => {
      const late = new Promise((_, reject) => setTimeout(() => reject("late"), timeout));
      try {
        await Promise.race([run(one), late]);
        one.status = PASS;
      } catch (error) {
        one.status = error === "late" ? TIMEOUT : FAIL;
        one.message = String(error?.message ?? error);
      }
      for (const clean of one.cleanups ?? []) await clean();
    });
  };
  const fail = (message) => { throw new Error(message); };
  const context = (one) => ({ add_cleanup: (clean) => (one.cleanups ??= []).push(clean) });

  Object.assign(self, {
    setup: (properties) => { timeout *= properties?.timeout_multiplier ?? 1; },
    add_completion_callback: (report) => completed.push(report),
    test: (run, name) => add(name, (one) => run(context(one))),
    promise_test: (run, name) => add(name, (one) => run(context(one))),
    assert_true: (value, message = "") => value === true || fail(`${message}: ${value} is not true`),
    assert_false: (value, message = "") => value === false || fail(`${message}: ${value} is not false`),
    assert_equals: (value, expected, message = "") => Object.is(value, expected) || fail(`${message}: ${value} is not ${expected}`),
  });
  // A test may add another one.
  const wait = async () => {
    let known;
    do await (known = runs); while (known !== runs);
    finish(0);
  };
  addEventListener("load", () => setTimeout(wait, 0));
})();
