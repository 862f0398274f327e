"""What the frozen `headstart-engine` runs: the process that answers."""

from headstart.engine_process import main

if __name__ == "__main__":
    main()
