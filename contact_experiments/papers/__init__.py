"""The command that makes the figures of the papers, and the page of each."""
