"""Runs tool calls through the official Python client and prints the results.

    client.py MODE stdio PROGRAM < calls.json
    client.py MODE URL           < calls.json

MODE is the client's protocol mode: `legacy` for the initialize handshake, `auto`
for the newest version that the server supports. The calls are a JSON list of tool
arguments, with the tool's name as `tool` if it is not `browser-shell`. The
environment variable AUTHORIZATION is sent as a header. The output is one JSON
document, which the Rust test checks. A failure of the client is an error of this
script and never part of the output.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    mode, target = sys.argv[1], sys.argv[2]
    if target == "stdio":
        server = StdioServerParameters(command=sys.argv[3], args=["mcp"], env=dict(os.environ))
    elif credentials := os.environ.get("AUTHORIZATION"):
        http = httpx2.AsyncClient(headers={"Authorization": credentials}, timeout=90)
        server = streamable_http_client(target, http_client=http)
    else:
        server = target
    calls = json.load(sys.stdin)
    async with Client(server, mode=mode, read_timeout_seconds=90) as client:
        tools = await client.list_tools()
        answers = []
        for call in calls:
            answer = await client.call_tool(call.pop("tool", "browser-shell"), call)
            answers.append(answer.model_dump(mode="json", by_alias=True, exclude_none=True))
        try:
            answer = await client.call_tool("no-such-tool", {})
            unknown = {"answer": answer.model_dump(mode="json", by_alias=True, exclude_none=True)}
        except MCPError as error:
            unknown = {"code": error.error.code}
        print(json.dumps({
            "protocol": client.protocol_version,
            "server": client.server_info.name if client.server_info else None,
            "tools": [tool.name for tool in tools.tools],
            "answers": answers,
            "unknown": unknown,
        }))


asyncio.run(main())
