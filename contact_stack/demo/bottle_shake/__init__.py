"""The demo ``bottle_shake``: grasp a bottle by force, shake it, place it by force."""
