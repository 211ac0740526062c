"""The live page in the browser."""
