// Waits until the server says that its tools have changed, with the official client.
//
//     node changes.mjs PROGRAM POLICY_FILE < NEW_POLICY
//
// Lists the tools, replaces the policy file, waits for the notification, and lists them
// again. The output is one JSON document with both descriptions.
import { readFileSync, writeFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [program, file] = process.argv.slice(2);
const client = new Client({ name: "end-to-end test", version: "1" });
const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
await client.connect(new StdioClientTransport({ command: program, args: ["mcp"], env: process.env }));
const describe = async () => (await client.listTools()).tools[0].description;
const before = await describe();
writeFileSync(file, readFileSync(0));
await changed;
console.log(JSON.stringify({ before, after: await describe() }));
await client.close();
