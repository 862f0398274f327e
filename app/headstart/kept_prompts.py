"""What models keep on disk of the chats that they have read: a folder for each model, in it one for each chat."""

import shutil
from contextlib import suppress

from headstart import paths

TERMINAL = "terminal"  # stands for a chat: the conversation that the terminal goes on with
ANSWERS = "answers"  # the file of a chat that a model learns from: see `engine/drafters/answer_table.py`


def chats() -> set[str]:
    """Of which something is kept."""
    return {folder.name for folder in paths.kept_prompts().glob("*/*")}


def delete(*chat_ids: str) -> None:
    """What any model keeps of these chats."""
    for folder in paths.kept_prompts().glob("*/*"):
        if folder.name in chat_ids:
            shutil.rmtree(folder, ignore_errors=True)


def delete_all() -> None:
    """What all models keep of all chats."""
    shutil.rmtree(paths.kept_prompts(), ignore_errors=True)


def delete_learned() -> None:
    """What all models have learned of all chats."""
    for path in paths.kept_prompts().glob(f"*/*/{ANSWERS}"):
        with suppress(OSError):
            path.unlink()
