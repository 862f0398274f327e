"""The tests of Headstart, in folders that mirror the packages. `python -m tests` runs everything."""
