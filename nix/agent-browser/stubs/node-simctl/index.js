// Stub of node-simctl, which agent-browser imports to control iOS simulators.
export class Simctl {
  constructor() {
    throw new Error('node-simctl is not part of the browser-shell image: iOS simulators are not supported');
  }
}
