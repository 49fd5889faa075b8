"""One module per framework, each with its description as ``SPEC``."""
