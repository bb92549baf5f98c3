"""Runs tool calls through the official Python client and prints the results.

    client.py MODE stdio PROGRAM < calls.json
    client.py MODE URL           < calls.json

MODE is the client's protocol mode: `legacy` for the initialize handshake, `auto`
for the newest version that the server supports. The calls are a JSON list of tool
arguments, with the tool's name as `tool` if it is not `browser-shell`. The
environment variable AUTHORIZATION is sent as a header. If OAUTH is set, the client
signs in as MCP's authorization chapter says: it finds the authorization server by the
answer 401, registers, and opens the page where a person would consent. The output is one JSON
document, which the Rust test checks. A failure of the client is an error of this
script and never part of the output.
"""

import asyncio
import json
import os
import sys
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)


class Person(TokenStorage):
    """A person who consents at once, and a client that remembers nothing after it ends."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        self.answer: dict[str, str] = {}

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info

    async def open_page(self, url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            page = await browser.get(url, follow_redirects=False)
        self.answer = dict(parse_qsl(urlsplit(page.headers["location"]).query))

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self.answer["code"], state=self.answer.get("state"), iss=self.answer.get("iss")
        )


def sign_in(target: str) -> OAuthClientProvider:
    person = Person()
    metadata = OAuthClientMetadata(redirect_uris=["http://127.0.0.1:1/back"], client_name="end-to-end test")
    return OAuthClientProvider(target, metadata, person, person.open_page, person.come_back)


async def main() -> None:
    mode, target = sys.argv[1], sys.argv[2]
    if target == "stdio":
        server = StdioServerParameters(command=sys.argv[3], args=["mcp"], env=dict(os.environ))
    elif credentials := os.environ.get("AUTHORIZATION"):
        http = httpx2.AsyncClient(headers={"Authorization": credentials}, timeout=90)
        server = streamable_http_client(target, http_client=http)
    elif os.environ.get("OAUTH"):
        server = streamable_http_client(target, http_client=httpx2.AsyncClient(auth=sign_in(target), timeout=90))
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
