"""Small models with analytic kinematics, from which CasADi derives the dynamics."""
