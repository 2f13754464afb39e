#!/usr/bin/env python3
"""An agent on pydantic-ai whose memory is NetaClaw Memory, over HTTP: it learns in one run and knows it in the next.

    export MEMORY_KEY=nck_…                    # made on the agent's page in the console
    export MODEL=openai-chat:… OPENAI_API_KEY=…  # and OPENAI_BASE_URL for services that speak alike
    export MODEL=anthropic:… ANTHROPIC_API_KEY=… # instead
    examples/agent.py "I drink green tea in the morning."
    examples/agent.py "What shall I have for breakfast?"

MEMORY_URL (http://127.0.0.1:8000) and MEMORY_USER (ann) say where and for whom. It takes `pip install
"pydantic-ai-slim[openai,anthropic]"`; any other framework needs the same three calls.
"""

import json
import os
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from pydantic_ai import Agent, Tool

URL = os.environ.get("MEMORY_URL", "http://127.0.0.1:8000")
USER = os.environ.get("MEMORY_USER", "ann")


def call(path: str, body: Any = None) -> dict[str, Any]:
    """GET without a body, POST with one. A tool's refusal is an answer too: its sentence is for the model."""
    headers = {"Authorization": f"Bearer {os.environ['MEMORY_KEY']}", "X-Netaclaw-User": quote(USER)}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(f"{URL}/api/{path}", data, headers), timeout=30) as response:
            return dict(json.load(response))
    except HTTPError as error:
        if path.startswith("tools/"):
            return dict(json.load(error))
        sys.exit(f"{path}: {error.read().decode()}")


def memory_tool(shape: dict[str, Any]) -> Tool:
    """One of the memory's tools as pydantic-ai takes it."""

    def run(**arguments: Any) -> dict[str, Any]:
        return call(f"tools/{shape['name']}", arguments)

    return Tool.from_schema(run, shape["name"], shape["description"], shape["input_schema"])


def answer(message: str) -> str:
    """One turn: the system prompt with what the memory knows of this message, and the tools to learn more."""
    prompt = call("system-prompt", {"systemPrompt": "You are a helpful assistant.", "message": message})
    tools = [memory_tool(shape) for shape in call("tools?shape=anthropic")["tools"]]
    agent = Agent(os.environ["MODEL"], system_prompt=prompt["systemPrompt"], tools=tools)
    return agent.run_sync(message).output


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
