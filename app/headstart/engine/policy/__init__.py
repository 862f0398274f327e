"""The policy: who drafts and how far, learned from the prices and the acceptance of drafts."""
