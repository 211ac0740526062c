"""The command ``contact-stack plan``: a motion through contact, planned and drawn."""
