"""The second engine: OpenVINO GenAI as a backend."""
