"""Programs that measure; no part of what is installed."""
