"""The second engine: OpenVINO GenAI behind Headstart's protocol."""
