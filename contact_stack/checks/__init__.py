"""Checks of this machine, which ``contact-stack doctor`` runs."""
