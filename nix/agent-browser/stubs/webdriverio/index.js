// Stub of webdriverio, which agent-browser imports to control mobile devices.
export async function remote() {
  throw new Error('webdriverio is not part of the browser-shell image: mobile devices are not supported');
}
