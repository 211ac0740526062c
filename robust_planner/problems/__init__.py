"""The named problems: what a person can ask to be planned."""
