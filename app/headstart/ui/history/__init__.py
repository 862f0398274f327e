"""The history at start: passphrase, recovery, upkeep."""
