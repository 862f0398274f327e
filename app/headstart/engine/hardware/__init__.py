"""The computer: its processor and devices, OpenVINO, and what was measured here."""
