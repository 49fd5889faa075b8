"""Worker processes of other frameworks, which set handlers of memory faults of their own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.frameworks("torch")

PROGRAM = """
import arrayloom as np
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return np.ones((300, 300)) * i - 1

for batch in DataLoader(Samples(), 2, num_workers=1, multiprocessing_context="fork"):
    print(float(batch.sum()))
"""


@pytest.mark.parametrize("front", [[], ["-m", "arrayloom"]])
def test_samples_of_data_loaders_are_lazy_arrays(front):
    command = [sys.executable, *front, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "-90000.0\n270000.0\n", done.stderr
