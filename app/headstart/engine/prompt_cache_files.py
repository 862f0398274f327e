"""Prompt caches on disk: a folder for each model, and in it one for each chat."""

import shutil

from headstart import paths

TERMINAL = "terminal"  # stands for a chat: the conversation that the terminal continues


def chats() -> set[str]:
    return {folder.name for folder in paths.kept_prompts().glob("*/*")}


def delete(*chat_ids: str) -> None:
    """Delete the prompt caches of these chats, of every model."""
    for folder in paths.kept_prompts().glob("*/*"):
        if folder.name in chat_ids:
            shutil.rmtree(folder, ignore_errors=True)


def delete_all() -> None:
    """Delete the prompt caches of all chats and models."""
    shutil.rmtree(paths.kept_prompts(), ignore_errors=True)
