"""Tests of the engine as a process, its sessions and its watchdog."""
