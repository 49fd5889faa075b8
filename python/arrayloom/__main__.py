"""``python -m arrayloom``: run a NumPy program as it is."""

from arrayloom._cli import entry

if __name__ == "__main__":
    entry()
