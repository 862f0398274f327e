"""An engine that has a server on another computer answer: any that speaks OpenAI's protocol."""
