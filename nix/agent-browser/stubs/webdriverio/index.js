// What agent-browser imports of webdriverio to drive phones. This image has no phones.
export async function remote() {
  throw new Error('browser-shell has no webdriverio: phones cannot be driven here');
}
