"""What turns the application into packages."""
