"""Models of servers with OpenAI's API."""
