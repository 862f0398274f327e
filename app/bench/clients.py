"""Programs of other people against `headstart serve`: each case is one of their usual ways to ask, with tools.

`python clients.py URL MODEL` needs the key in HEADSTART_SERVE_KEY, and an environment with openai, instructor,
pydantic-ai, langchain, langchain-openai and anthropic. It prints JSON; a client that is not installed is left out.
"""

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

URL, MODEL = "http://127.0.0.1:8642/v1", "qwen2.5-coder"
KEY = os.environ.get("HEADSTART_SERVE_KEY", "")
QUESTION = "What is the weather in Paris? Use a tool."
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER: Any = {"name": "weather", "description": "The weather of a city", "parameters": PARAMETERS}
TOOL: Any = {"type": "function", "function": WEATHER}
FLAT: Any = {"type": "function", **WEATHER, "strict": False}
ASKED: Any = [{"role": "user", "content": QUESTION}]


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: sunny, 21 degrees"


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def openai_whole() -> str:
    """A call, its result, and the answer to that."""
    from openai import OpenAI  # noqa: PLC0415 - each client may be missing

    client: Any = OpenAI(base_url=URL, api_key=KEY)
    message = client.chat.completions.create(model=MODEL, messages=ASKED, tools=[TOOL]).choices[0].message
    (call,) = message.tool_calls or []
    city = json.loads(call.function.arguments)["city"]
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": weather(city)}
    history = [*ASKED, message.model_dump(exclude_none=True), result]
    answer = client.chat.completions.create(model=MODEL, messages=history, tools=[TOOL])
    return f"{city} / {answer.choices[0].message.content}"


def openai_streamed() -> str:
    """A call that must come, in pieces."""
    from openai import OpenAI  # noqa: PLC0415

    name = arguments = ""
    client: Any = OpenAI(base_url=URL, api_key=KEY)
    for chunk in client.chat.completions.create(
        model=MODEL, messages=ASKED, tools=[TOOL], tool_choice="required", stream=True
    ):
        for part in chunk.choices[0].delta.tool_calls or []:
            name += part.function.name or ""
            arguments += part.function.arguments or ""
    return f"{name} {json.loads(arguments)}"


def responses_whole() -> str:
    """The newer API: a call, its result, and the answer to that; then an answer of a form."""
    from openai import OpenAI  # noqa: PLC0415
    from pydantic import BaseModel  # noqa: PLC0415

    class Person(BaseModel):
        name: str
        age: int

    client: Any = OpenAI(base_url=URL, api_key=KEY)
    (call,) = client.responses.create(model=MODEL, input=QUESTION, tools=[FLAT], tool_choice="required").output
    city = json.loads(call.arguments)["city"]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": weather(city)}
    answer = client.responses.create(model=MODEL, input=[*ASKED, call, result], tools=[FLAT])
    person = client.responses.parse(model=MODEL, input="Ada is 36 years old.", text_format=Person).output_parsed
    return f"{city} / {answer.output_text} / {person}"


def responses_streamed() -> str:
    """The newer API in events: a text, and a call that must come."""
    from openai import OpenAI  # noqa: PLC0415

    client: Any = OpenAI(base_url=URL, api_key=KEY)
    events = client.responses.create(model=MODEL, input="Say hello.", max_output_tokens=20, stream=True)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    with client.responses.stream(model=MODEL, input=QUESTION, tools=[FLAT], tool_choice="required") as stream:
        *_, item = stream.get_final_response().output
    return f"{text} / {item.name} {json.loads(item.arguments)}"


def instructor_default() -> str:
    """A pydantic model, in its default mode."""
    import instructor  # noqa: PLC0415
    from openai import OpenAI  # noqa: PLC0415
    from pydantic import BaseModel  # noqa: PLC0415

    class Person(BaseModel):
        name: str
        age: int

    client = instructor.from_openai(OpenAI(base_url=URL, api_key=KEY))
    asked: Any = [{"role": "user", "content": "Ada is 36 years old."}]
    return str(client.chat.completions.create(model=MODEL, messages=asked, response_model=Person))


def pydantic_ai_default() -> str:
    """A structured output, and a tool, in their default modes."""
    from pydantic import BaseModel  # noqa: PLC0415
    from pydantic_ai import Agent  # noqa: PLC0415
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    class Person(BaseModel):
        name: str
        age: int

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL, api_key=KEY))
    person = Agent(model, output_type=Person).run_sync("Ada is 36 years old.").output
    spoken = Agent(model, tools=[weather]).run_sync(QUESTION).output
    return f"{person} / {spoken}"


def langchain_agent() -> str:
    """An agent with two tools."""
    from langchain.agents import create_agent  # noqa: PLC0415
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    agent: Any = create_agent(ChatOpenAI(model=MODEL, base_url=URL, api_key=KEY), [weather, add])
    messages = agent.invoke({"messages": ASKED}, {"recursion_limit": 10})["messages"]
    return " / ".join(f"{message.type}: {message.content}" for message in messages)


def anthropic_messages() -> str:
    """Anthropic's API: a call, streamed, and the answer to its result."""
    from anthropic import Anthropic  # noqa: PLC0415

    client = Anthropic(base_url=URL.removesuffix("/v1"), api_key=KEY)
    tool: Any = {"name": "weather", "description": "The weather of a city", "input_schema": PARAMETERS}
    with client.messages.stream(model=MODEL, max_tokens=200, messages=ASKED, tools=[tool]) as stream:
        message = stream.get_final_message()
    call = message.content[-1]
    result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": weather(call.input["city"])}
    history: Any = [
        *ASKED,
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [result]},
    ]
    answer = client.messages.create(model=MODEL, max_tokens=200, messages=history, tools=[tool])
    return f"{call.name} {call.input} / {answer.content[0].text}"


CASES: tuple[Callable[[], str], ...] = (
    openai_whole,
    openai_streamed,
    responses_whole,
    responses_streamed,
    instructor_default,
    pydantic_ai_default,
    langchain_agent,
    anthropic_messages,
)
NEEDED = {
    instructor_default: "instructor",
    pydantic_ai_default: "pydantic_ai",
    langchain_agent: "langchain",
    anthropic_messages: "anthropic",
}


def main(wanted: list[str]) -> int:
    """Try the cases, or those that are named; how many failed."""
    failed = 0
    for case in CASES:
        missing = importlib.util.find_spec(NEEDED.get(case, "openai")) is None
        if missing or (wanted and case.__name__ not in wanted):
            continue
        started = time.monotonic()
        try:
            result: dict[str, object] = {"works": True, "said": case()}
        except Exception as error:  # noqa: BLE001 - whatever a client raises is the result
            failed += 1
            result = {"works": False, "said": f"{type(error).__name__}: {error}"[:500]}
        seconds = round(time.monotonic() - started, 1)
        print(json.dumps({"client": case.__name__, **result, "seconds": seconds}), flush=True)
    return failed


if __name__ == "__main__":
    URL, MODEL = sys.argv[1:3]
    raise SystemExit(main(sys.argv[3:]))
