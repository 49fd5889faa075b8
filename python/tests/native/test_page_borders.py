"""Operands that end where a page ends, and nothing may be read behind it."""

import mmap

import pytest
from support.process import output

# So many bytes fill a block of the arena.
COUNT = 64 * mmap.PAGESIZE


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])
def test_bytes_beside_doubles_in_full_blocks(isa):
    """Blocks of the arena lie side by side; behind the last byte of one begins another that may wait."""
    program = f"""
import arrayloom as np

for count in ({COUNT}, {COUNT + mmap.PAGESIZE}):
    a, b, c = np.ones(count, "u1"), np.ones(count, "u1"), np.ones(count)
    for x in (a, b, c):
        x.tobytes()
    later = [c * 2 for _ in range(4)]
    assert ((a + b) * c).sum() == 2 * count
    assert ((a ^ b) / 255.0).sum() == 0
"""
    output(program, env={"ARRAYLOOM_ISA": isa}, timeout=60)
