"""What the world does to a program: kills it, cuts its files short, fills its disk. Nothing that was shown is lost."""
