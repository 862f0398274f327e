"""From model source to a checked OpenVINO folder that Headstart can load."""
