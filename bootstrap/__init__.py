"""Sets the project up from nothing with the standard library alone: ``make setup``."""
