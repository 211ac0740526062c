"""The evidence: the papers' figures, benchmarks, peers and comparison integrators."""

INSTALL_PEERS = "pip install 'contact_stack[experiments]'"
"""How to install the libraries that only comparisons need."""
INSTALL_MODELS = "pip install 'contact_stack[models]'"
"""How to install the robots of others."""
