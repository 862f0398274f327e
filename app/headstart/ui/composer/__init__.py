"""The message box: its text, its attached files, a prompt from the library, and a dictated one."""
