"""Tests of OpenVINO GenAI and of servers elsewhere as engines."""
