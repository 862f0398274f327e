"""What models keep on disk of the chats that they have read: a folder for each model, in it one for each chat."""

import shutil

from headstart import paths


def delete(chat: str) -> None:
    """What any model keeps of a chat."""
    for folder in paths.kept_prompts().glob(f"*/{chat}"):
        shutil.rmtree(folder, ignore_errors=True)


def delete_all() -> None:
    """What all models keep of all chats."""
    shutil.rmtree(paths.kept_prompts(), ignore_errors=True)
