"""Push anything: an arm brings planar shapes to poses, in closed loop, on a simulator."""
