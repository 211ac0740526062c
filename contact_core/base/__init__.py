"""What everything uses: errors, configuration, kernels, files, sweeps, pictures."""
