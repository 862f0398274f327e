"""GGUF files as OpenVINO models, without PyTorch."""
