"""Kills, torn files and full disks, after which nothing that was shown is lost."""
