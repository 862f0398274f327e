"""Checks clients of other vendors against `headstart serve`: each case is one of their usual ways to ask.

`python clients.py URL MODEL` needs the key in HEADSTART_SERVE_KEY. It prints JSON, or a table with --markdown. What is
not installed is left out: packages of the environment that runs it, commands on the PATH, packages of Node in --node.
Agents are started as `headstart launch --print` says, so `headstart` has to be on the PATH, too.
These are all of them. Each line is an environment of its own, because they want different versions of each other;
--also adds to the table what a run in another one printed:

    pip install openai anthropic pydantic-ai-slim[openai] langchain langchain-openai llm
    pip install instructor
    pip install litellm mcp
    pip install llama-index-llms-openai-like
    pip install ollama
    pip install aider-chat
    npm install openai ai @ai-sdk/openai-compatible zod ollama
    npm install -g @anthropic-ai/claude-code @openai/codex opencode-ai @qwen-code/qwen-code
"""

import argparse
import asyncio
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

URL, MODEL = "http://127.0.0.1:8642/v1", "qwen2.5-coder"
KEY = os.environ.get("HEADSTART_SERVE_KEY", "")
NODE = Path()  # the folder with node_modules
MINUTES = 30  # for a command: a processor reads what some agents send for many of them
QUESTION = "What is the weather in Paris? Use a tool."
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER: Any = {"name": "weather", "description": "The weather of a city", "parameters": PARAMETERS}
TOOL: Any = {"type": "function", "function": WEATHER}
FLAT: Any = {"type": "function", **WEATHER, "strict": False}
RAN: list[str] = []  # what the tool has said
ADA = "Ada is 36 years old."
GREET = 'def greet(name):\n    return "Hello, " + name\n'
ASKED: Any = [{"role": "user", "content": QUESTION}]


def weather(city: str) -> str:
    """The weather of a city."""
    RAN.append(f"{city}: sunny, 21 degrees")
    return RAN[-1]


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def openai_client() -> Any:
    """Return OpenAI's own client."""
    from openai import OpenAI

    return OpenAI(base_url=URL, api_key=KEY)


def person_class() -> Any:
    """Return the pydantic class of the wanted answer."""
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    return Person


def openai_whole() -> str:
    """A call, its result, and the answer to that"""
    with openai_client() as client:
        message = client.chat.completions.create(model=MODEL, messages=ASKED, tools=[TOOL]).choices[0].message
        (call,) = message.tool_calls or []
        city = json.loads(call.function.arguments)["city"]
        result: Any = {"role": "tool", "tool_call_id": call.id, "content": weather(city)}
        history = [*ASKED, message.model_dump(exclude_none=True), result]
        answer = client.chat.completions.create(model=MODEL, messages=history, tools=[TOOL])
    return f"{city} / {answer.choices[0].message.content}"


def openai_streamed() -> str:
    """A call that must come, streamed"""
    name = arguments = ""
    with openai_client() as client:
        for chunk in client.chat.completions.create(
            model=MODEL, messages=ASKED, tools=[TOOL], tool_choice="required", stream=True
        ):
            for part in chunk.choices[0].delta.tool_calls or []:
                name += part.function.name or ""
                arguments += part.function.arguments or ""
    return f"{name} {json.loads(arguments)}"


def responses_whole() -> str:
    """Responses: a call, its result, the answer to that; `.parse` with pydantic"""
    with openai_client() as client:
        (call,) = client.responses.create(model=MODEL, input=QUESTION, tools=[FLAT], tool_choice="required").output
        city = json.loads(call.arguments)["city"]
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": weather(city)}
        answer = client.responses.create(model=MODEL, input=[*ASKED, call, result], tools=[FLAT])
        person = client.responses.parse(model=MODEL, input=ADA, text_format=person_class()).output_parsed
    return f"{city} / {answer.output_text} / {person}"


def responses_streamed() -> str:
    """Responses, streamed: a text, and a call that must come"""
    with openai_client() as client:
        events = client.responses.create(model=MODEL, input="Say hello.", max_output_tokens=20, stream=True)
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        with client.responses.stream(model=MODEL, input=QUESTION, tools=[FLAT], tool_choice="required") as stream:
            *_, item = stream.get_final_response().output
    return f"{text} / {item.name} {json.loads(item.arguments)}"


def instructor_default() -> str:
    """A pydantic model, in the default mode"""
    import instructor

    asked: Any = [{"role": "user", "content": ADA}]
    with openai_client() as client:
        asking = instructor.from_openai(client).chat.completions
        return str(asking.create(model=MODEL, messages=asked, response_model=person_class()))


def pydantic_ai_default() -> str:
    """A structured output, and an agent with a tool, in the default modes"""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL, api_key=KEY))
    person = Agent(model, output_type=person_class()).run_sync(ADA).output
    spoken = Agent(model, tools=[weather]).run_sync(QUESTION).output
    return f"{person} / {spoken}"


def langchain_agent() -> str:
    """An agent with two tools"""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    agent: Any = create_agent(ChatOpenAI(model=MODEL, base_url=URL, api_key=KEY), [weather, add])
    return str(agent.invoke({"messages": ASKED}, {"recursion_limit": 10})["messages"][-1].content)


def anthropic_messages() -> str:
    """Messages: a call, streamed, and the answer to its result"""
    from anthropic import Anthropic

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


def ollama_tools() -> str:
    """Ollama's API: a call, and the answer to its result, streamed; a schema"""
    import ollama

    client = ollama.Client(host=URL.removesuffix("/v1"), headers={"Authorization": f"Bearer {KEY}"})
    message = client.chat(MODEL, ASKED, tools=[weather]).message
    call = message.tool_calls[0]
    result = {"role": "tool", "content": weather(**call.function.arguments), "tool_name": call.function.name}
    stream = client.chat(MODEL, [*ASKED, message, result], tools=[weather], stream=True)
    answer = "".join(part.message.content or "" for part in stream)
    schema = person_class().model_json_schema()
    return f"{answer} / {client.generate(MODEL, ADA, format=schema).response}"


def litellm_tools() -> str:
    """A call, its result, and the answer to that; a stream"""
    import litellm

    asked: dict[str, Any] = {"model": f"openai/{MODEL}", "api_base": URL, "api_key": KEY}
    message = litellm.completion(messages=ASKED, tools=[TOOL], **asked).choices[0].message
    (call,) = message.tool_calls
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": weather(**json.loads(call.function.arguments))}
    stream = litellm.completion(messages=[*ASKED, message, result], tools=[TOOL], stream=True, **asked)
    return "".join(part.choices[0].delta.content or "" for part in stream)


def litellm_key() -> str:
    """A wrong key is an AuthenticationError"""
    import litellm

    litellm.suppress_debug_info = True  # it goes where the results go
    try:
        litellm.completion(model=f"openai/{MODEL}", api_base=URL, api_key="wrong", messages=ASKED)
    except litellm.AuthenticationError as error:
        return type(error).__name__
    return "no error"


def llama_index_agent() -> str:
    """A FunctionAgent with two tools"""
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.openai_like import OpenAILike

    llm: Any = OpenAILike(
        model=MODEL, api_base=URL, api_key=KEY, is_chat_model=True, is_function_calling_model=True, context_window=8192
    )

    async def run() -> str:
        return str(await FunctionAgent(tools=[weather, add], llm=llm).run(QUESTION))

    return asyncio.run(run())


def command(folder: str, *words: str) -> str:
    """Return the output of a program, which keeps its settings and data in `folder`."""
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LLM_USER_PATH"), folder)
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **homes, "PWD": folder, "OPENAI_API_KEY": KEY, "OPENAI_API_BASE": URL},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=MINUTES * 60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stdout[-400:]}")
    return done.stdout


def llm_asked(*words: str) -> str:
    """Return the output of `llm` with these options."""
    with tempfile.TemporaryDirectory() as folder:
        model = {
            "model_id": "here",
            "model_name": MODEL,
            "api_base": URL,
            "supports_tools": True,
            "api_key_name": "here",
        }
        models = json.dumps([model | {"supports_schema": True}])  # which is YAML, too
        (Path(folder) / "extra-openai-models.yaml").write_text(models, encoding="utf-8")
        return command(folder, "llm", "-m", "here", "--key", KEY, *words)


def llm_tools() -> str:
    """`llm -T` and `--functions`: two tools, of which one is called and answered"""
    source = 'def weather(city: str):\n    "The weather of a city"\n    return city + ": sunny, 21 degrees"'
    called, _, answer = (
        llm_asked("-T", "llm_version", "--functions", source, "--td", QUESTION).strip().partition("\n\n")
    )
    RAN.append(called)
    return answer


def llm_schema() -> str:
    """`llm --schema`"""
    return llm_asked("--schema", "name, age int", ADA)


def agent(name: str, *words: str) -> tuple[str, str]:
    """Return the output of an agent in a repository with one file, and its change of the file."""
    launch = ["headstart", "launch", name, "--model", MODEL, "--print", "--", *words]
    variables = {**os.environ, "HEADSTART_SERVER_KEY": KEY}
    script = subprocess.run(launch, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout
    *variables_set, start = script.splitlines()
    script = "\n".join((*variables_set, f"exec {start}"))  # so that a timeout ends the agent, too
    assert URL.removesuffix("/v1") in script, "the server runs with the models of another HEADSTART_HOME"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "greet.py").write_text(GREET, encoding="utf-8")
        author = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        for command_line in (["init", "-q"], ["add", "greet.py"], [*author, "commit", "-qm", "Greet"]):
            command(folder, "git", *command_line)
        said = command(folder, "sh", "-c", script)
        return said, command(folder, "git", "diff", "HEAD@{1}" if name == "aider" else "HEAD", "--", "greet.py")


def aider_edit() -> str:
    """`aider --message` changes a file of a repository and commits it"""
    task = "Add a function farewell(name) that returns 'Goodbye, ' and the name."
    _, changes = agent("aider", "--yes-always", "--no-gitignore", "--message", task, "greet.py")
    return changes


READ = "What does the function in greet.py return? Read the file first."


def opencode_run() -> str:
    """`opencode run` answers a question about a file, with its tools"""
    return agent("opencode", "run", READ)[0]


def claude_print() -> str:
    """`claude -p` answers a question about a file, with its tools"""
    return agent("claude", "-p", READ, "--allowedTools", "Read")[0]


def codex_exec() -> str:
    """`codex exec` answers a question about a file, with its tools"""
    return agent("codex", "exec", "--skip-git-repo-check", READ)[0]


def qwen_prompt() -> str:
    """`qwen -p` answers a question about a file, with its tools"""
    return agent("qwen", "--yolo", "-p", READ)[0]


def node(name: str) -> str:
    """Return the result of a case of clients.mjs."""
    with Path(__file__).with_suffix(".mjs").open(encoding="utf-8") as program:
        # Read from its input, Node finds packages in the folder where it runs.
        done = subprocess.run(
            ["node", "--input-type=module", "-", URL, MODEL, name],
            stdin=program,
            cwd=NODE,
            capture_output=True,
            text=True,
            timeout=MINUTES * 60,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    found = json.loads(done.stdout)
    RAN.extend(found["ran"])
    return str(found["said"])


def openai_npm() -> str:
    """A stream; `runTools`: a tool, called and answered"""
    return node("openai")


def ollama_npm() -> str:
    """Ollama's API: a call, and the answer to its result, streamed"""
    return node("ollama")


def ai_sdk_tools() -> str:
    """`generateText` with a tool, called and answered"""
    return node("tools")


def ai_sdk_streamed() -> str:
    """`streamText` with a tool"""
    return node("streamed")


def ai_sdk_object() -> str:
    """`generateObject` with a schema of zod and `supportsStructuredOutputs`"""
    return node("object")


def python_version(package: str) -> str:
    """Return the version of a package in this environment; empty if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def command_version(name: str) -> str:
    """Return the version that a command tells."""
    if not shutil.which(name):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        (version,) = re.findall(r"\d+\.\d+[\d.]*", command(folder, name, "--version"))[:1]
        return str(version)


def agent_version(name: str) -> str:
    """Return the version of an agent; empty if it, or what starts it, is missing."""
    return command_version(name) if shutil.which("headstart") else ""


def npm_version(package: str) -> str:
    """Return the version of a package of Node."""
    manifest = NODE / "node_modules" / package / "package.json"
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"]) if manifest.is_file() else ""


@dataclass(frozen=True)
class ClientCase:
    """One way to ask, which works if `said` is in what its tool or its answer says. No `version`: not installed."""

    ask: Callable[[], str]
    client: str
    said: str = "21"  # degrees
    version: Callable[[str], str] = python_version


CASES = (
    ClientCase(openai_whole, "openai"),
    ClientCase(openai_streamed, "openai", "Paris"),
    ClientCase(responses_whole, "openai", "36"),
    ClientCase(responses_streamed, "openai", "Paris"),
    ClientCase(anthropic_messages, "anthropic"),
    ClientCase(instructor_default, "instructor", "36"),
    ClientCase(pydantic_ai_default, "pydantic-ai-slim"),
    ClientCase(langchain_agent, "langchain"),
    ClientCase(llama_index_agent, "llama-index-llms-openai-like"),
    ClientCase(ollama_tools, "ollama"),
    ClientCase(litellm_tools, "litellm"),
    ClientCase(litellm_key, "litellm", "AuthenticationError"),
    ClientCase(llm_tools, "llm", version=command_version),
    ClientCase(llm_schema, "llm", "36", command_version),
    ClientCase(openai_npm, "openai", version=npm_version),
    ClientCase(ollama_npm, "ollama", version=npm_version),
    ClientCase(ai_sdk_tools, "ai", version=npm_version),
    ClientCase(ai_sdk_streamed, "ai", version=npm_version),
    ClientCase(ai_sdk_object, "ai", "36", npm_version),
    ClientCase(aider_edit, "aider", "+def farewell", agent_version),
    # A small model may answer anything to prompts of thousands of words.
    ClientCase(claude_print, "claude", "", agent_version),
    ClientCase(codex_exec, "codex", "", agent_version),
    ClientCase(opencode_run, "opencode", "", agent_version),
    ClientCase(qwen_prompt, "qwen", "", agent_version),
)


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of a case. `used`: the answer has the tool's output. `said`: both, or the reason of the failure."""

    case: str
    client: str
    version: str
    does: str
    works: bool
    used: bool
    said: str
    seconds: float


def outcome(case: ClientCase) -> CaseOutcome | None:
    """Run one case; None if its client is not installed."""
    version = case.version(case.client)
    if not version:
        return None
    RAN.clear()
    started, answer = time.monotonic(), ""
    try:
        answer = case.ask().strip()
        said = " / ".join([*RAN, answer])
        works = bool(answer) and case.said in said
    except Exception as error:  # noqa: BLE001 - whatever a client raises is the result
        works, said = False, f"{type(error).__name__}: {error}"
    client = f"{case.client} (npm)" if case.version is npm_version else case.client
    seconds = round(time.monotonic() - started, 1)
    return CaseOutcome(
        case.ask.__name__, client, version, case.ask.__doc__ or "", works, case.said in answer, said[:500], seconds
    )


def table(outcomes: Sequence[CaseOutcome]) -> str:
    """Format outcomes as a Markdown table."""
    words = {(True, True): "yes", (True, False): "yes; the model leaves out what the tool said"}
    rows = [
        f"| {each.client} {each.version} | {each.does} | {words.get((each.works, each.used), 'no')} |"
        for each in outcomes
    ]
    return "\n".join(("| client | what it does | works |", "| :-- | :-- | :-- |", *rows))


def main() -> int:
    """Run all cases, or the named ones. Return how many failed."""
    global URL, MODEL, NODE
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url", help="such as http://127.0.0.1:8642/v1")
    parser.add_argument("model")
    parser.add_argument("cases", nargs="*", help="such as openai_whole (default: all)")
    parser.add_argument("--markdown", action="store_true", help="a table at the end, instead of JSON")
    parser.add_argument("--node", type=Path, default=NODE, help="the folder with node_modules (default: this one)")
    parser.add_argument("--also", type=Path, action="append", default=[], help="what a run elsewhere has printed")
    given = parser.parse_intermixed_args()
    URL, MODEL, NODE = given.url, given.model, given.node
    lines = [line for path in given.also for line in path.read_text(encoding="utf-8").splitlines()]
    outcomes = [CaseOutcome(**json.loads(line)) for line in lines]
    for case in CASES:
        if given.cases and case.ask.__name__ not in given.cases:
            continue
        found = outcome(case)
        if found is None:
            continue
        outcomes.append(found)
        print(json.dumps(asdict(found)), file=sys.stderr if given.markdown else sys.stdout, flush=True)
    if given.markdown:
        order = [case.ask.__name__ for case in CASES]
        print(table(sorted(outcomes, key=lambda each: order.index(each.case))))
    return sum(not each.works for each in outcomes)


if __name__ == "__main__":
    raise SystemExit(main())
