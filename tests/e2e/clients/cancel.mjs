// Makes a call through an official TypeScript client, cancels it, and makes another one.
//
//     node cancel.mjs MODE URL CALL OTHER
//
// MODE is one of those of client.mjs, and the calls are tool arguments in JSON. A line of standard input cancels the first one. The
// output is the answer to the second one.
import { once } from "node:events";

const [mode, url, call, other] = process.argv.slice(2);
const self = { name: "end-to-end test", version: "1" };
const abort = new AbortController();
const wait = { timeout: 100_000 };
let client;
let run;
if (mode === "v1") {
  const sdk = "@modelcontextprotocol/sdk/client";
  const { Client } = await import(`${sdk}/index.js`);
  const { StreamableHTTPClientTransport } = await import(`${sdk}/streamableHttp.js`);
  client = new Client(self);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  run = (params, options) => client.callTool(params, undefined, { ...wait, ...options });
} else {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  client = new Client(self, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  run = (params, options) => client.callTool(params, { ...wait, ...options });
}
const tool = (text) => ({ name: "browser-shell", arguments: JSON.parse(text) });
const canceled = run(tool(call), { signal: abort.signal }).then(
  () => process.exit(1),
  () => {},
);
await once(process.stdin, "data");
abort.abort();
await canceled;
console.log(JSON.stringify(await run(tool(other))));
await client.close();
process.exit(0);
