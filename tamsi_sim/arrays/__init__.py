"""The arrays kernels work on, and how kernels are compiled."""
