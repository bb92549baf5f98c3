"""Lists and calls MCP tools by agent libraries, each of which converts a tool to a form of its own.

    agent_libraries.py < tools.json

The input is a JSON list of tools as `tools/list` returns them. Each library gets them from a server over stdio, which is
this script too, and calls each with a value for every argument. The output has for each library and tool the names of the
arguments that a model is told, the arguments that were sent, those that the server received, and the answer that a model is
shown; or the error of the library. There is no model, and nothing is sent anywhere.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

# Without usage statistics and downloads, for which there is no network.
os.environ |= {"MCP_USE_ANONYMIZED_TELEMETRY": "false", "SCARF_NO_ANALYTICS": "true", "HF_HUB_OFFLINE": "1"}

import mcp.types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def sample(schema: dict):
    """Returns a value of a schema: of an object every property, of an array one item of each kind."""
    kinds = schema.get("anyOf", [schema])
    kind = kinds[0]
    match kind.get("type"):
        case "object":
            return {name: sample(part) for name, part in kind.get("properties", {}).items()}
        case "array":
            items = kind.get("items", {"type": "string"})
            return [sample(one) for one in items.get("anyOf", [items])]
        case "integer" | "number":
            return kind.get("minimum", 0) + 2
        case "boolean":
            return True
        case _:
            return "text"


async def serve(tools_file: str, log: str) -> None:
    """Serves the tools of a file, and writes the arguments of each call to another."""
    tools = {tool["name"]: tool for tool in json.loads(Path(tools_file).read_text())}
    server = Server("tools")

    @server.list_tools()
    async def list_tools() -> list[mcp.types.Tool]:
        return [mcp.types.Tool.model_validate(tool) for tool in tools.values()]

    # The server of the library refuses arguments that do not have the schema.
    @server.call_tool()
    async def call_tool(name: str, arguments: dict):
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, arguments]) + "\n")
        text = [mcp.types.TextContent(type="text", text="done")]
        return (text, sample(tools[name]["outputSchema"])) if tools[name].get("outputSchema") else text

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def langchain(command: list[str], tools: list[dict]) -> tuple[list[dict], list]:
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    client = MultiServerMCPClient({"tools": {"transport": "stdio", "command": command[0], "args": command[1:]}})
    async with client.session("tools") as session:
        loaded = await load_mcp_tools(session)
        answers = [await made.ainvoke(sample(tool["inputSchema"])) for tool, made in zip(tools, loaded, strict=True)]
        return [convert_to_openai_tool(tool)["function"]["parameters"] for tool in loaded], answers


async def mcp_use(command: list[str], tools: list[dict]) -> tuple[list[dict], list]:
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from mcp_use import MCPClient
    from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter

    client = MCPClient.from_dict({"mcpServers": {"tools": {"command": command[0], "args": command[1:]}}})
    try:
        loaded = await LangChainAdapter().create_tools(client)
        answers = [await made.ainvoke(sample(tool["inputSchema"])) for tool, made in zip(tools, loaded, strict=True)]
        return [convert_to_openai_tool(tool)["function"]["parameters"] for tool in loaded], answers
    finally:
        await client.close_all_sessions()


async def pydantic_ai(command: list[str], tools: list[dict]) -> tuple[list[dict], list]:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

    shown, answers = [], []

    # In place of a model: calls each tool, then ends.
    def model(messages, info):
        if shown:
            answers.extend(part.content for part in messages[-1].parts)
            return ModelResponse(parts=[TextPart("done")])
        shown.extend(tool.parameters_json_schema for tool in info.function_tools)
        return ModelResponse(parts=[ToolCallPart(tool["name"], sample(tool["inputSchema"])) for tool in tools])

    profile = ModelProfile(json_schema_transformer=OpenAIJsonSchemaTransformer)
    agent = Agent(FunctionModel(model, profile=profile), toolsets=[MCPToolset(StdioTransport(command[0], command[1:]))])
    async with agent:
        await agent.run("use the tools")
    return shown, answers


def smolagents(command: list[str], tools: list[dict]) -> tuple[list[dict], list]:
    from mcp import StdioServerParameters
    from smolagents import ToolCollection
    from smolagents.models import get_tool_json_schema

    parameters = StdioServerParameters(command=command[0], args=command[1:])
    with ToolCollection.from_mcp(parameters, trust_remote_code=True, structured_output=True) as collection:
        answers = [made(**sample(tool["inputSchema"])) for tool, made in zip(tools, collection.tools, strict=True)]
        return [get_tool_json_schema(tool)["function"]["parameters"] for tool in collection.tools], answers


LIBRARIES = {"langchain": langchain, "pydantic-ai": pydantic_ai, "smolagents": smolagents, "mcp-use": mcp_use}


def report(library, tools: list[dict], folder: Path) -> dict:
    """Returns what a library made of the tools."""
    (folder / "tools.json").write_text(json.dumps(tools))
    log = folder / "calls"
    log.write_text("")
    command = [sys.executable, __file__, "serve", str(folder / "tools.json"), str(log)]
    try:
        # Some write what they do to standard output.
        with contextlib.redirect_stdout(sys.stderr):
            result = library(command, tools)
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    received = dict(json.loads(line) for line in log.read_text().splitlines())
    return {
        tool["name"]: {
            "arguments": sorted(schema.get("properties", {})),
            "sent": sample(tool["inputSchema"]),
            "received": received.get(tool["name"]),
            "answer": str(answer),
        }
        for tool, schema, answer in zip(tools, *result, strict=True)
    }


def main() -> None:
    tools = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({name: report(library, tools, Path(folder)) for name, library in LIBRARIES.items()}))


if sys.argv[1:2] == ["serve"]:
    asyncio.run(serve(*sys.argv[2:]))
else:
    main()
