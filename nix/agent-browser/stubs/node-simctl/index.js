// What agent-browser imports of node-simctl to drive simulators of phones. This image has none.
export class Simctl {
  constructor() {
    throw new Error('browser-shell has no node-simctl: phones cannot be simulated here');
  }
}
