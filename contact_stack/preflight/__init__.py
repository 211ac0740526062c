"""The checks that must pass before a real robot is commanded."""
