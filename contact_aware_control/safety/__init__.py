"""What keeps the arm within its limits: checks, guards and the supervisor."""
