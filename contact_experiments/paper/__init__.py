"""The command ``contact-stack paper``: figures of the papers."""
