"""Source weights as OpenVINO models, by PyTorch."""
