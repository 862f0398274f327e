"""The manual and the licences."""
