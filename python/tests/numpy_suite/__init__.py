"""NumPy's own test-suite, run with arrayloom in NumPy's place."""
