"""Converts MCP tools to the forms of model vendors, with the vendors' own libraries.

    converters.py < tools.json

The input is a JSON list of tools as `tools/list` returns them. The output has for each library
and tool the names of the arguments after the conversion, or the error. Nothing is sent anywhere.
"""

import copy
import json
import sys

from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from anthropic import transform_schema
from google.genai._mcp_utils import mcp_to_gemini_tool
from mcp.types import Tool

# Never connected: openai-agents asks a server only for its settings.
SERVER = MCPServerStdio({"command": "unused"})


def google(tool: Tool) -> list[str]:
    return list(mcp_to_gemini_tool(tool).function_declarations[0].parameters.properties)


def anthropic(tool: Tool) -> list[str]:
    return list(transform_schema(copy.deepcopy(tool.input_schema))["properties"])


def openai(tool: Tool) -> list[str]:
    function = MCPUtil.to_function_tool(tool, SERVER, convert_schemas_to_strict=True)
    # The library goes on without the strict mode if it cannot convert a schema.
    if not function.strict_json_schema:
        raise ValueError("the schema is not strict")
    return list(function.params_json_schema["properties"])


def convert(library, tool: Tool) -> dict:
    try:
        return {"arguments": sorted(library(tool))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


tools = [Tool.model_validate(tool) for tool in json.load(sys.stdin)]
libraries = {"google-genai": google, "anthropic": anthropic, "openai-agents": openai}
json.dump({name: {tool.name: convert(library, tool) for tool in tools} for name, library in libraries.items()}, sys.stdout)
