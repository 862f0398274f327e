"""Tests of announcements, dictation, and answers that are read aloud."""
