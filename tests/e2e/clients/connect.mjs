// Connects an official TypeScript client of MCP to a server.
//
// connect(MODE, TRANSPORT) with one of the modes of client.mjs, and `stdio: {command, args, env}` or `http: [URL, options]`. Returns the
// client, `call(params, options)`, and the version of the protocol where the client tells it.
const self = { name: "end-to-end test", version: "1" };

async function first({ stdio, http }) {
  const sdk = "@modelcontextprotocol/sdk/client";
  const { Client } = await import(`${sdk}/index.js`);
  const { StdioClientTransport } = await import(`${sdk}/stdio.js`);
  const { StreamableHTTPClientTransport } = await import(`${sdk}/streamableHttp.js`);
  const client = new Client(self);
  const transport = stdio ? new StdioClientTransport(stdio) : new StreamableHTTPClientTransport(...http);
  await client.connect(transport);
  // Over stdio, this client does not expose the negotiated version.
  const protocol = transport.protocolVersion ?? null;
  return { client, call: (params, options) => client.callTool(params, undefined, options), protocol };
}

async function second(mode, { stdio, http }) {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const client = new Client(self, { versionNegotiation: { mode } });
  await client.connect(stdio ? new StdioClientTransport(stdio) : new StreamableHTTPClientTransport(...http));
  const protocol = client.getNegotiatedProtocolVersion() ?? null;
  return { client, call: (params, options) => client.callTool(params, options), protocol };
}

export const connect = (mode, transport) => (mode === "v1" ? first(transport) : second(mode, transport));
