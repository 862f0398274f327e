"""The history of chats: its database, encryption, backups, migrations and repair."""
