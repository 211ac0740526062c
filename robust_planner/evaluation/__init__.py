"""Plans judged under other friction and terrain than they were made for."""
