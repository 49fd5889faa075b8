"""Worker processes of other frameworks, which set handlers of memory faults of their own."""

import pytest
from support.process import output

pytestmark = pytest.mark.frameworks("torch")


@pytest.mark.parametrize("runner", [False, True])
def test_samples_of_data_loaders_are_lazy_arrays(runner):
    code = """
    import arrayloom as np
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Samples(Dataset):
        def __len__(self): return 4
        def __getitem__(self, i): return np.ones((300, 300)) * i - 1

    for batch in DataLoader(Samples(), 2, num_workers=1, multiprocessing_context='fork'):
        print(float(batch.sum()))
    """
    assert output(code, runner=runner) == "-90000.0\n270000.0\n"
