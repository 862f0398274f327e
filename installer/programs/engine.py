"""What the frozen `headstart-engine` runs: the process that answers."""

from headstart.engine.host import main

if __name__ == "__main__":
    main()
