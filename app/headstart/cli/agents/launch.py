"""`headstart launch`: a server, and a coding agent that uses it."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from headstart import paths
from headstart.cli.agents import client_settings
from headstart.cli.agents.client_settings import FileSetting
from headstart.cli.command import INTERRUPTED, Load, argument, flag, group
from headstart.cli.options import AnsweringFlags
from headstart.cli.serve import (
    HOST,
    KEY_VARIABLE,
    PORT,
    ServeFlags,
    end_on_signal,
    prepared_server,
    served_models,
    with_model,
)
from headstart.errors import SettingsError
from headstart.server import keys, running_servers

_CONTEXT = 32768  # tokens, as far as the model allows: the first requests of agents have 5,000 to 25,000
_PARALLEL = 2  # agents ask for titles and summaries beside the answer
_PATIENCE_MS = 3_600_000  # for the first token: a processor reads a long prompt for minutes
_ANSWER_SHARE = 4  # an answer may take this part of the context
_TIMEOUT_SECONDS = 5
_IS_WINDOWS = sys.platform == "win32"
_PROVIDER = "headstart"  # name of the provider in the settings of clients


@dataclass(frozen=True)
class Endpoint:
    """A model of a server. `url` ends in /v1."""

    url: str
    key: str
    model: str
    context: int  # tokens

    @property
    def answer(self) -> int:
        """Tokens of the longest answer."""
        return self.context // _ANSWER_SHARE


@dataclass(frozen=True)
class Setup:
    """The variables and arguments that a client is started with."""

    variables: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # variables that would take precedence
    files: tuple[FileSetting, ...] = ()  # written before the client starts, and taken back when it has ended


@dataclass(frozen=True)
class CodingAgent:
    title: str
    install: str  # command that installs it
    setup: Callable[[Endpoint], Setup]


def _claude(endpoint: Endpoint) -> Setup:
    names = ("ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL")
    tiers = (f"ANTHROPIC_DEFAULT_{tier}_MODEL" for tier in ("OPUS", "SONNET", "HAIKU"))
    variables = {
        "ANTHROPIC_BASE_URL": endpoint.url.removesuffix("/v1"),
        "ANTHROPIC_AUTH_TOKEN": endpoint.key,
        **dict.fromkeys((*names, *tiers), endpoint.model),
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(endpoint.context),
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(endpoint.context),
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(endpoint.answer),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",  # it changes with each request, and the prompt would be read anew
        "API_TIMEOUT_MS": str(_PATIENCE_MS),
        "CLAUDE_STREAM_IDLE_TIMEOUT_MS": str(_PATIENCE_MS),
    }
    return Setup(variables, removed=("ANTHROPIC_API_KEY",))


def _codex(endpoint: Endpoint) -> Setup:
    provider = {"name": "Headstart", "base_url": endpoint.url, "env_key": "HEADSTART_KEY", "wire_api": "responses"}
    settings = {
        "model": endpoint.model,
        "model_provider": _PROVIDER,
        "model_context_window": endpoint.context,
        **{f"model_providers.{_PROVIDER}.{name}": value for name, value in provider.items()},
        f"model_providers.{_PROVIDER}.stream_idle_timeout_ms": _PATIENCE_MS,
    }
    # Values are in TOML, where texts and numbers are written as in JSON.
    flags = (word for name, value in settings.items() for word in ("-c", f"{name}={json.dumps(value)}"))
    return Setup({"HEADSTART_KEY": endpoint.key}, tuple(flags))


def _opencode(endpoint: Endpoint) -> Setup:
    limit = {"context": endpoint.context, "output": endpoint.answer}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Headstart",
        "options": {"baseURL": endpoint.url, "apiKey": endpoint.key, "timeout": False},
        "models": {endpoint.model: {"name": endpoint.model, "limit": limit}},
    }
    name = f"{_PROVIDER}/{endpoint.model}"
    config = {"provider": {_PROVIDER: provider}, "model": name, "small_model": name}
    quiet = {"autoupdate": False, "share": "disabled"}
    return Setup({"OPENCODE_CONFIG_CONTENT": json.dumps(config | quiet), "OPENCODE_DISABLE_MODELS_FETCH": "1"})


def _qwen(endpoint: Endpoint) -> Setup:
    variables = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": endpoint.key, "OPENAI_MODEL": endpoint.model}
    return Setup(variables, ("--auth-type", "openai"))


def _aider(endpoint: Endpoint) -> Setup:
    variables = {"OPENAI_API_BASE": endpoint.url, "OPENAI_API_KEY": endpoint.key}
    quiet = ("--no-check-update", "--analytics-disable", "--no-show-model-warnings")
    return Setup(variables, ("--model", f"openai/{endpoint.model}", *quiet))


def _cline(endpoint: Endpoint) -> Setup:
    provider = "openai-compatible"
    settings = {"provider": provider, "apiKey": endpoint.key, "model": endpoint.model, "baseUrl": endpoint.url}
    file = str(Path.home() / ".cline" / "data" / "settings" / "providers.json")
    entry = {"settings": settings, "updatedAt": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "tokenSource": "manual"}
    files = (
        FileSetting(file, ("version",), 1),
        FileSetting(file, ("lastUsedProvider",), provider),
        FileSetting(file, ("modes",), {}),
        FileSetting(file, ("providers", provider), entry),
    )
    return Setup({}, ("-P", provider, "-m", endpoint.model), files=files)


def _copilot(endpoint: Endpoint) -> Setup:
    prefix = "COPILOT_PROVIDER"
    variables = {
        f"{prefix}_TYPE": "openai",
        f"{prefix}_BASE_URL": endpoint.url,
        f"{prefix}_API_KEY": endpoint.key,
        f"{prefix}_MAX_PROMPT_TOKENS": str(endpoint.context - endpoint.answer),
        f"{prefix}_MAX_OUTPUT_TOKENS": str(endpoint.answer),
        "COPILOT_MODEL": endpoint.model,
        "COPILOT_OFFLINE": "true",
    }
    return Setup(variables, removed=(f"{prefix}_BEARER_TOKEN", f"{prefix}_MODEL_ID", f"{prefix}_WIRE_MODEL"))


def _droid(endpoint: Endpoint) -> Setup:
    file = str(paths.data_folder() / "droid.json")
    model = {
        "model": endpoint.model,
        "displayName": "Headstart",
        "provider": "generic-chat-completion-api",
        "baseUrl": endpoint.url,
        "apiKey": endpoint.key,
        "maxOutputTokens": endpoint.answer,
    }
    files = (
        FileSetting(file, ("customModels",), [model]),
        FileSetting(file, ("sessionDefaultSettings", "model"), f"custom:{endpoint.model}"),
    )
    return Setup({}, ("--settings", file), files=files)


def _goose(endpoint: Endpoint) -> Setup:
    variables = {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": endpoint.model,
        "GOOSE_CONTEXT_LIMIT": str(endpoint.context),
        "OPENAI_HOST": endpoint.url.removesuffix("/v1"),
        "OPENAI_API_KEY": endpoint.key,
    }
    return Setup(variables, removed=("OPENAI_BASE_PATH", "OPENAI_BASE_URL"))


def _pi(endpoint: Endpoint) -> Setup:
    model = {"id": endpoint.model, "contextWindow": endpoint.context, "maxTokens": endpoint.answer}
    provider = {"baseUrl": endpoint.url, "api": "openai-completions", "apiKey": "HEADSTART_KEY", "models": [model]}
    folder = Path(os.environ.get("PI_CODING_AGENT_DIR") or Path.home() / ".pi" / "agent")
    setting = FileSetting(str(folder / "models.json"), ("providers", _PROVIDER), provider)
    arguments = ("--provider", _PROVIDER, "--model", endpoint.model)
    return Setup({"HEADSTART_KEY": endpoint.key}, arguments, files=(setting,))


class Agent(StrEnum):
    CLAUDE = "claude"
    CODEX = "codex"
    OPENCODE = "opencode"
    QWEN = "qwen"
    AIDER = "aider"
    CLINE = "cline"
    COPILOT = "copilot"
    DROID = "droid"
    GOOSE = "goose"
    PI = "pi"


CLIENTS = {
    Agent.CLAUDE: CodingAgent("Claude Code", "npm install -g @anthropic-ai/claude-code", _claude),
    Agent.CODEX: CodingAgent("Codex", "npm install -g @openai/codex", _codex),
    Agent.OPENCODE: CodingAgent("OpenCode", "npm install -g opencode-ai", _opencode),
    Agent.QWEN: CodingAgent("Qwen Code", "npm install -g @qwen-code/qwen-code", _qwen),
    Agent.AIDER: CodingAgent("aider", "pip install aider-chat", _aider),
    Agent.CLINE: CodingAgent("Cline", "npm install -g cline", _cline),
    Agent.COPILOT: CodingAgent("Copilot", "npm install -g @github/copilot", _copilot),
    Agent.DROID: CodingAgent("Droid", "npm install -g droid", _droid),
    Agent.GOOSE: CodingAgent("goose", "brew install block-goose-cli", _goose),
    Agent.PI: CodingAgent("pi", "npm install -g @earendil-works/pi-coding-agent", _pi),
}


@dataclass(frozen=True, kw_only=True)
class LaunchFlags:
    agent: Agent = argument("the agent")
    words: tuple[str, ...] = argument("what the agent gets on its command line", (), metavar="[-- ARGUMENTS]")
    print: bool = flag(default=False, help="print the variables and the command, and start nothing", group="launch")
    restore: bool = flag(
        default=False,
        help="take back what an interrupted launch has left in the agent's settings, and start nothing",
        group="launch",
    )
    model: AnsweringFlags = group(AnsweringFlags)


def run(arguments: LaunchFlags, load: Load) -> int:
    """Start a server and an agent that uses it. The server ends with the agent. Return the agent's exit code."""
    client, key = CLIENTS[arguments.agent], os.environ.get(KEY_VARIABLE, "")
    if arguments.restore:
        files = client_settings.restore(arguments.agent)
        print("\n".join(f"{file} is as it was." for file in dict.fromkeys(files)) or "There is nothing to take back.")
        return 0
    if arguments.print:
        example = f"http://{HOST}:{PORT}/v1"
        endpoint = (key and _running(key, arguments.model.model)) or _endpoint(arguments.model, example, "KEY")
        _print_setup(client.setup(endpoint), [arguments.agent, *arguments.words])
        return 0
    program = shutil.which(arguments.agent)
    if program is None:
        raise SettingsError(f"{client.title} is not installed: install it with `{client.install}`.")
    with end_on_signal(), _server(arguments.model, key, load) as endpoint:
        print(f"{client.title} uses {endpoint.model} at {endpoint.url}.", flush=True)
        setup = client.setup(endpoint)
        client_settings.write(arguments.agent, setup.files)
        try:
            return _start(setup, [program, *arguments.words])
        finally:
            client_settings.restore(arguments.agent)
    return INTERRUPTED


@contextmanager
def _server(flags: AnsweringFlags, key: str, load: Load) -> Iterator[Endpoint]:
    """Context manager with a model that answers, of a server whose key is known or of one started here."""
    running = _running(key, flags.model) if key else None
    if running:
        yield running
        return
    key = key or keys.new()
    endpoint = _endpoint(flags, "", key)
    flags = replace(flags, model=endpoint.model, context=endpoint.context)
    arguments = ServeFlags(model=flags, port=0, key=(key,), parallel=_PARALLEL)
    with prepared_server(arguments, load, lambda _: None) as server:
        server.start()
        try:
            yield replace(endpoint, url=server.url)
        finally:
            server.stop()


def _endpoint(flags: AnsweringFlags, url: str, key: str) -> Endpoint:
    """Return a model that is installed, as a server at `url` would answer for it. Raises what choosing one raises."""
    flags = with_model(replace(flags, context=flags.context or _CONTEXT))
    if flags.model is None:
        raise SettingsError("Several models are installed: name one with --model.")
    contexts = {model.id: model.context for model in served_models(flags)}
    return Endpoint(url, key, flags.model, contexts[flags.model])


def _running(key: str, model: str | None) -> Endpoint | None:
    """Return a model of a server on this computer that takes `key`; None if there is no such server."""
    for server in running_servers.list_servers():
        loaded = [each.name for each in server.models]
        name = model or (loaded[0] if loaded else None)
        request = urllib.request.Request(f"{server.url}/models", headers={"Authorization": f"Bearer {key}"})  # noqa: S310 - its own address
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as reply:  # noqa: S310
                listed = {each["id"]: each["context_length"] for each in json.load(reply)["data"]}
        except (OSError, ValueError):
            continue
        if name and name in listed:
            return Endpoint(server.url, key, name, listed[name] or _CONTEXT)
    return None


def _start(setup: Setup, command: list[str]) -> int:
    """Run an agent in this terminal until it ends. Return its exit code."""
    inherited = {name: value for name, value in os.environ.items() if name not in setup.removed}
    previous = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl+C is for the agent
    try:
        command[1:1] = setup.arguments
        return subprocess.run(command, env={**inherited, **setup.variables}, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, previous)


def _print_setup(setup: Setup, command: list[str]) -> None:
    """Print the setup as commands for a shell of this system."""
    command[1:1] = setup.arguments
    for setting in setup.files:
        value = json.dumps(setting.value)
        print(f"# {setting.file} needs {'.'.join(setting.names)} = {value}")
    for name in setup.removed:
        print(f"Remove-Item Env:{name} -ErrorAction Ignore" if _IS_WINDOWS else f"unset {name}")
    for name, value in setup.variables.items():
        print(f"$env:{name} = {_quote(value)}" if _IS_WINDOWS else f"export {name}={_quote(value)}")
    print(" ".join(map(_quote, command)))


def _quote(text: str) -> str:
    if not _IS_WINDOWS or shlex.quote(text) == text:
        return shlex.quote(text)
    return "'" + text.replace("'", "''") + "'"
