"""Run NumPy programs as they are: fused, on all cores."""
