"""Writes what OpenVINO Model Server needs to serve an exported model or pair. Knows no weights and runs no server.

Fields and defaults: `LLMCalculatorOptions` of that server. Paths in the graph are relative to the graph's folder, those
in the list of servables to the list's, so that the export can be carried or mounted anywhere as it is.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from headstart import manifest
from headstart.manifest import Manifest, PairManifest

GRAPH_FILE = "graph.pbtxt"
CONFIG_FILE = "ovms_config.json"  # config.json is the model's own
_GIB = 2**30
_CONTEXT = 8192  # tokens that are kept of each conversation, or all that the model has
_CONVERSATIONS = 4  # that one server keeps at once, while the others wait

_GRAPH = """\
input_stream: "HTTP_REQUEST_PAYLOAD:input"
output_stream: "HTTP_RESPONSE_PAYLOAD:output"

node: {{
  name: "LLMExecutor"
  calculator: "HttpLLMCalculator"
  input_stream: "LOOPBACK:loopback"
  input_stream: "HTTP_REQUEST_PAYLOAD:input"
  input_side_packet: "LLM_NODE_RESOURCES:llm"
  output_stream: "LOOPBACK:loopback"
  output_stream: "HTTP_RESPONSE_PAYLOAD:output"
  input_stream_info: {{
    tag_index: "LOOPBACK:0",
    back_edge: true
  }}
  node_options: {{
    [type.googleapis.com / mediapipe.LLMCalculatorOptions]: {{
{options}
    }}
  }}
  input_stream_handler {{
    input_stream_handler: "SyncSetInputStreamHandler",
    options {{
      [mediapipe.SyncSetInputStreamHandlerOptions.ext] {{
        sync_set {{
          tag_index: "LOOPBACK:0"
        }}
      }}
    }}
  }}
}}
"""


@dataclass(frozen=True)
class Part:
    """A model of the export by its place in it, and the whole gigabytes that its keys and values may take."""

    path: str
    cache: int


def write(folder: Path) -> Path:
    """Put graph and list beside the model or pair in `folder`; the path of the list. Raises HeadstartError."""
    read = manifest.read(folder)
    target, draft = _parts(folder, read)
    (folder / GRAPH_FILE).write_text(graph(target, draft), encoding="utf-8")
    config = folder / CONFIG_FILE
    servables = {"model_config_list": [], "mediapipe_config_list": [{"name": read.name, "base_path": "."}]}
    config.write_text(json.dumps(servables, indent=2) + "\n", encoding="utf-8")
    return config


def graph(target: Part, draft: Part | None = None) -> str:
    """The text of the graph. The cache of a draft is as large as it needs: by default it had that of the target."""
    options: dict[str, str | int | bool] = {
        "models_path": target.path,
        "device": "CPU",
        "cache_size": target.cache,
        "enable_prefix_caching": True,
        "max_num_seqs": _CONVERSATIONS,
    }
    if draft:
        options |= {"draft_models_path": draft.path, "draft_device": "CPU", "draft_cache_size": draft.cache}
    lines = (f"      {name}: {json.dumps(value)}," for name, value in options.items())
    return _GRAPH.format(options="\n".join(lines))


def _parts(folder: Path, read: Manifest | PairManifest) -> tuple[Part, Part | None]:
    if isinstance(read, Manifest):
        return Part("./", _cache(read)), None
    target, draft = (
        Part(f"./{name}", _cache(manifest.read_model(folder / name))) for name in (read.target, read.draft)
    )
    return target, draft


def _cache(model: Manifest) -> int:
    tokens = min(model.context_length, _CONTEXT) * _CONVERSATIONS
    return max(1, -(-tokens * model.kv_bytes_per_token // _GIB))
