"""The cases by which Open Responses calls a server compliant, asked of a running server.

Every answer and every event of a stream has to be valid by the types of the published document. Prints the name of each
case with what is wrong with it, as JSON.
"""

import json
import sys
import urllib.error
import urllib.request
from typing import Any

from openresponses_types import types
from pydantic import BaseModel, ValidationError

origin, key, model = sys.argv[1:4]

weather = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a place.",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string"}},
        "required": ["location"],
    },
}
# A picture of one red pixel.
picture = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)


def message(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


calling = {"input": [message("user", "What is the weather in Lisbon? sandbox:tool=get_weather")], "tools": [weather]}
cases: dict[str, dict[str, Any]] = {
    "basic response": {"input": [message("user", "Say hello.")]},
    "streaming response": {"input": [message("user", "Count to five.")], "stream": True},
    "system prompt": {"input": [message("system", "You are a pirate."), message("user", "Say hello.")]},
    "tool calling": calling,
    "tool calling in a stream": {**calling, "stream": True},
    "image input": {
        "input": [
            message(
                "user",
                [
                    {"type": "input_text", "text": "What is in this picture?"},
                    {"type": "input_image", "image_url": picture},
                ],
            )
        ]
    },
    "conversation of several messages": {
        "input": [
            message("user", "My name is Ada."),
            message("assistant", "Hello Ada."),
            message("user", "What is my name?"),
        ]
    },
}

events: dict[str, type[BaseModel]] = {
    "response.created": types.ResponseCreatedStreamingEvent,
    "response.queued": types.ResponseQueuedStreamingEvent,
    "response.in_progress": types.ResponseInProgressStreamingEvent,
    "response.completed": types.ResponseCompletedStreamingEvent,
    "response.failed": types.ResponseFailedStreamingEvent,
    "response.incomplete": types.ResponseIncompleteStreamingEvent,
    "response.output_item.added": types.ResponseOutputItemAddedStreamingEvent,
    "response.output_item.done": types.ResponseOutputItemDoneStreamingEvent,
    "response.content_part.added": types.ResponseContentPartAddedStreamingEvent,
    "response.content_part.done": types.ResponseContentPartDoneStreamingEvent,
    "response.output_text.delta": types.ResponseOutputTextDeltaStreamingEvent,
    "response.output_text.done": types.ResponseOutputTextDoneStreamingEvent,
    "response.function_call_arguments.delta": types.ResponseFunctionCallArgumentsDeltaStreamingEvent,
    "response.function_call_arguments.done": types.ResponseFunctionCallArgumentsDoneStreamingEvent,
}


def problems(kind: type[BaseModel], value: Any, name: str) -> list[str]:
    try:
        kind.model_validate(value)
        return []
    except ValidationError as error:
        return [f"{name} {'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]


def ask(body: dict[str, Any]) -> str:
    request = urllib.request.Request(
        f"{origin}/openai/v1/responses",
        json.dumps({"model": model, **body}).encode(),
        {"authorization": f"Bearer {key}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def read_stream(text: str) -> list[dict[str, Any]]:
    data = [line[len("data: ") :] for line in text.split("\n") if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]


def check_stream(said: list[dict[str, Any]], calls: bool) -> list[str]:
    found = []
    for one in said:
        kind = events.get(one["type"])
        found += problems(kind, one, one["type"]) if kind else [f"{one['type']} is no event of the document"]
    if [one["sequence_number"] for one in said] != list(range(len(said))):
        found.append("the events are not numbered from 0")
    named = [one["type"] for one in said]
    wanted = ["response.created", "response.in_progress", "response.output_item.added", "response.output_item.done"]
    if calls:
        wanted += ["response.function_call_arguments.delta", "response.function_call_arguments.done"]
    else:
        wanted += ["response.content_part.added", "response.output_text.delta", "response.output_text.done"]
    found += [f"{one} is missing" for one in wanted if one not in named]
    if named[-1] != "response.completed":
        found.append(f"the last event is {named[-1]}")
    return found


def check(body: dict[str, Any]) -> list[str]:
    try:
        text = ask(body)
    except urllib.error.HTTPError as error:
        return [f"{error.code} {error.read().decode()}"]
    calls = "tools" in body
    if not body.get("stream"):
        response, found = json.loads(text), []
    else:
        said = read_stream(text)
        response, found = said[-1]["response"], check_stream(said, calls)
    found += problems(types.ResponseResource, response, "response")
    if response["status"] != "completed":
        found.append(f"the status is {response['status']}")
    if not any(one["type"] == ("function_call" if calls else "message") for one in response["output"]):
        found.append("the output has no item of the expected type")
    return found


print(json.dumps({name: check(body) for name, body in cases.items()}))
