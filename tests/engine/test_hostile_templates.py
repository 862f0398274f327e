"""Chat templates of a stranger's model folder: they read no file, run no code, and do not run for ever."""

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from headstart.engine import tokenizer
from headstart.engine.engine import Message
from headstart.engine.tokenizer import Seams, Tokenizer
from headstart.errors import ChatTemplateError
from tests.engine.tiny_tokenizers import UNTEMPLATED
from tests.source_tree import ROOT

CONTENT = "what-stands-in-a-file"
USUAL = "{% for m in messages %}{{ m.content }}{% endfor %}"
ENDLESS = (
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}"
    "{% endfor %}{% endfor %}{% endfor %}" + USUAL
)


def with_template(folders: Path, template: str, target: Path) -> Path:
    shutil.copytree(folders / UNTEMPLATED, target)
    (target / "chat_template.jinja").write_text(template, encoding="utf-8")
    return target


@pytest.mark.parametrize(
    "template",
    [
        "{% include 'FILE' %}",
        "{% import 'FILE' as p %}{{ p }}",
        "{% extends 'FILE' %}",
        "{{ open('FILE').read() }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.popen('cat FILE').read() }}",
        "{{ self._TemplateReference__context.environ }}",
        "{{ messages.__init__.__globals__ }}",
        "{{ namespace.__init__.__globals__['__builtins__']['open']('FILE').read() }}",
        "{{ environ('HOME') }}{{ getenv('HOME') }}",
    ],
)
def test_a_template_reads_no_file_and_runs_no_code(tokenizer_folders: Path, tmp_path: Path, template: str) -> None:
    (tmp_path / "secret").write_text(CONTENT, encoding="utf-8")
    hostile = template.replace("FILE", str(tmp_path / "secret")) + USUAL
    tokenizer = Tokenizer(with_template(tokenizer_folders, hostile, tmp_path / "model"))
    try:
        text = tokenizer.decode(tokenizer.prompt([Message("user", "hi")]), keep_special=True)
    except ChatTemplateError:
        return  # refused in a sentence
    assert CONTENT not in text
    assert not any(word in text for word in ("<class", "<module", "function", str(Path.home())))


def test_a_template_without_an_end_takes_only_its_process_with_it(tokenizer_folders: Path, tmp_path: Path) -> None:
    folder = with_template(tokenizer_folders, ENDLESS, tmp_path / "model")
    code = (
        "import sys; from pathlib import Path\n"
        "from headstart.engine import chat_template; from headstart.engine.engine import Message\n"
        "from headstart.engine.tokenizer import Tokenizer\n"
        "chat_template._LONGEST = 1.0\n"
        "Tokenizer(Path(sys.argv[1])).prompt([Message('user', 'hi')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Timeout (0:00:01)!")


class Slow:
    """A template's interpreter that lets others run while it renders; without an end where the message says so."""

    chat_template = "any"

    def apply_chat_template(self, history: list[dict[str, str]], *, add_generation_prompt: bool) -> str:
        content = history[0]["content"]
        time.sleep(600 if content == "endless" else 0.2)
        return content


def main() -> None:
    """Two threads render, and the one that ends must not call off the guard of the other."""
    tokenizer._LONGEST = 1.0
    template = tokenizer.ChatTemplate(Slow(), "any", Seams(()), Seams(()))

    def render(content: str) -> None:
        template._render([Message("user", content)], [content], add_generation_prompt=False)

    threading.Thread(target=render, args=("endless",), daemon=True).start()
    time.sleep(0.1)
    threading.Thread(target=render, args=("short",), daemon=True).start()
    time.sleep(20)


def test_a_template_that_ends_does_not_call_off_the_guard_of_another() -> None:
    code = "from tests.engine.test_hostile_templates import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Timeout (0:00:01)!")
