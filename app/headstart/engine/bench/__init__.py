"""`headstart bench`: plain decoding, speculation and a peer raced on the same prompts in one run."""
