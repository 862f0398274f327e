"""The formats in which models of other families than Hermes and Qwen write calls: one file each."""
