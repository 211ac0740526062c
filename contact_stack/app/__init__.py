"""What a person uses: the command line, the demos and the live view."""
