"""The TAMSI scheme: one implicit step of bodies in contact."""
