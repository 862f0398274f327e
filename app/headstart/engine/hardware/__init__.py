"""The computer: its processor and devices, its memory, OpenVINO, and what was measured here."""
