"""The main window, its dialogs and commands, and what it shows outside of itself."""
