"""The pages of benchmark, race and tuning."""
