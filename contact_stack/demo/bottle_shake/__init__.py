"""The demo bottle_shake: grasped, shaken and placed by force, or without."""
