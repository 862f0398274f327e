"""Programs that measure the window; no part of what is installed."""
