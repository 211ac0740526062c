"""What a plan is worth when friction and terrain are not the ones it was made for."""
