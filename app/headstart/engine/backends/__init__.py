"""Engines that are not our own: OpenVINO GenAI and remote servers."""
