// Runs tool calls through the official TypeScript clients and prints the results.
//
//     node client.mjs MODE stdio PROGRAM < calls.json
//     node client.mjs MODE URL           < calls.json
//
// MODE: `v1` is the first generation of the client, which most programs use. `legacy`
// and `auto` are the second generation, with the initialize handshake or with the newest
// protocol version that the server supports. The calls are a JSON list of tool arguments,
// with the tool's name as `tool` if it is not `browser-shell`. The environment variable
// AUTHORIZATION is sent as a header. The output is one JSON document, which the Rust test
// checks. A failure of the client is an error of this script and never part of the output.
import { readFileSync } from "node:fs";
import { connect } from "./connect.mjs";

const [mode, target, program] = process.argv.slice(2);
const credentials = process.env.AUTHORIZATION;
const over = { requestInit: { headers: credentials ? { Authorization: credentials } : {} } };
const transport =
  target === "stdio" ? { stdio: { command: program, args: ["mcp"], env: process.env } } : { http: [new URL(target), over] };
const wait = { timeout: 90_000 };
const calls = JSON.parse(readFileSync(0, "utf8"));
const { client, call, protocol } = await connect(mode, transport);
const server = client.getServerVersion()?.name ?? null;
const tools = await client.listTools();
const answers = [];
for (const { tool = "browser-shell", ...argument } of calls) {
  answers.push(await call({ name: tool, arguments: argument }, wait));
}
const unknown = await call({ name: "no-such-tool", arguments: {} }, wait).then(
  (answer) => ({ answer }),
  (error) => ({ code: error.code ?? null }),
);
await client.close();

console.log(JSON.stringify({
  protocol,
  server,
  tools: tools.tools.map((tool) => tool.name),
  answers,
  unknown,
}));
