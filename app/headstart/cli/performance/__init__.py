"""Speed: benchmarks, tuning and tools for developers."""
