"""The APIs: the requests of each, and the replies and events in which it answers."""
