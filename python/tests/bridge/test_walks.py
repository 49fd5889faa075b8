"""Random ways through the frameworks, alone and in threads; functions that stay on one of them."""

import importlib
import threading

import numpy as np
import pytest
from support.arrays import DTYPES, WIDE, base, survives

import arrayloom.bridge as b


def failure(action):
    try:
        action()
    except Exception as error:
        return error
    return AssertionError("it had the memory")


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_out_of_memory_of_the_frameworks():
    torch, jax, tf = map(importlib.import_module, ("torch", "jax", "tensorflow"))
    actions = (
        lambda: np.empty(2**46),
        lambda: torch.empty(2**46),
        lambda: tf.zeros((2**20, 2**26)),
        lambda: jax.block_until_ready(jax.numpy.zeros((2**22, 2**22))),
    )
    for action in actions:
        assert b.is_oom(failure(action))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(tf.zeros((2, 3)), tf.zeros((2, 3)))
    assert not b.is_oom(caught.value)
    with pytest.raises(RuntimeError) as caught:
        torch.zeros(2, 3) @ torch.zeros(2, 3)
    assert not b.is_oom(caught.value)


@pytest.mark.frameworks("torch", "jax")
def test_decorated_functions_stay_resident():
    torch, jax = map(importlib.import_module, ("torch", "jax"))
    kinds = []

    @b.torch
    def first(x):
        kinds.append(type(x))
        return x * 2

    @b.torch(output="numpy")
    def second(x):
        kinds.append(type(x))
        return x + 0.4

    with b.observe() as record:
        result = second(first(np.array([1, 2], np.uint8)))
    assert kinds == [torch.Tensor, torch.Tensor]
    assert (result.dtype, result.tolist()) == (np.uint8, [2, 4])
    assert sum(r.target == "torch" for r in record.rows()) <= 2

    @b.jax
    def third(x):
        return jax.numpy.cumsum(x)

    assert b.kind(third(torch.ones(3))) == "jax"


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_threads_convert_at_once():
    errors = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(300):
                data = rng.random((5, 6), dtype=np.float32)
                route = rng.permutation(["numpy", "torch", "jax", "tensorflow", "arrayloom"])
                x = data
                for to in route:
                    x = b.convert(x, str(to))
                assert np.array_equal(b.to_numpy(x), data)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.frameworks("pyclesperanto")
def test_threads_may_be_the_first_to_need_a_framework():
    code = """
    import threading
    import numpy as np
    import arrayloom.bridge as b
    data, made = np.ones((4, 4), np.float32), []

    def work():
        made.append(b.to_numpy(b.to_pyclesperanto(data)).sum())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print([float(m) for m in made] == [16.0] * 6)
    """
    assert survives(code) == "True"


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_random_walks_keep_every_value():
    rng = np.random.default_rng(11)
    for step in range(4000):
        dtype = DTYPES[int(rng.integers(len(DTYPES) - 2))]
        if dtype in WIDE:
            continue
        data = base(dtype)[
            rng.integers(0, 3) :: int(rng.choice([1, 2, -1])), :: int(rng.choice([1, -1, 3]))
        ]
        x = data
        for to in rng.choice(["numpy", "torch", "jax", "tensorflow", "arrayloom"], size=4):
            x = b.convert(x, str(to), copy=[None, True][step % 2])
        assert np.array_equal(b.to_numpy(x), data), (step, dtype)
