"""Work of a model on one folder, with approval: tools, questions, undo and log."""
