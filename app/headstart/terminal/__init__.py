"""The plain front end: sub-commands that need a terminal or a pipe and nothing else."""
