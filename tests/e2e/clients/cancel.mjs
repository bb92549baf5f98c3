// Makes a call through an official TypeScript client, cancels it, and makes another one.
//
//     node cancel.mjs MODE URL CALL OTHER
//
// MODE is one of those of client.mjs, and the calls are tool arguments in JSON. A line of standard input cancels the first one. The
// output is the answer to the second one.
import { once } from "node:events";
import { connect } from "./connect.mjs";

const [mode, url, call, other] = process.argv.slice(2);
const { client, call: run } = await connect(mode, { http: [new URL(url)] });
const abort = new AbortController();
const timeout = 100_000;
const tool = (text) => ({ name: "browser-shell", arguments: JSON.parse(text) });
const canceled = run(tool(call), { timeout, signal: abort.signal }).then(
  () => process.exit(1),
  () => {},
);
await once(process.stdin, "data");
abort.abort();
await canceled;
console.log(JSON.stringify(await run(tool(other), { timeout })));
await client.close();
process.exit(0);
