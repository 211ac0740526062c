"""The command ``contact-stack bench``: how fast and how accurate the parts are."""
