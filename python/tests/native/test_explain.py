"""`arrayloom.explain` and ``--dump-kernels``: what runs together, what is stored, bytes that move."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy
import pytest
from support import process

import arrayloom as np

SIDE = 1000
ARRAY = 8 * SIDE * SIDE


def ones():
    array = np.ones((SIDE, SIDE))
    array[0, 0]
    return array


def names(kernel):
    return [op.name for op in kernel.operations]


def test_a_chain_is_one_kernel_that_moves_what_must_move():
    a = ones()
    b = (a + 1) * 2
    plan = np.explain(b)
    assert [names(kernel) for kernel in plan.kernels] == [["add", "multiply"]]
    add, multiply = plan.kernels[0].operations
    assert (add.storage, multiply.storage) == ("inline", "memory")
    assert (plan.passes[0].bytes_read, plan.passes[0].bytes_written) == (ARRAY, ARRAY)
    assert plan.bytes_needed == plan.bytes_moved == 2 * ARRAY
    assert plan.ratio == 1.0


def test_it_computes_nothing_and_the_values_come_later():
    a = ones()
    b = a * 3
    kernels = np._ext.stats()["kernels"]
    first, second = np.explain(b), np.explain(b)
    assert first == second
    assert np._ext.stats()["kernels"] == kernels
    assert b.sum() == 3 * SIDE * SIDE


def test_places_are_the_users_lines():
    a = ones()
    b = a * 3
    op = np.explain(b).kernels[0].operations[0]
    assert Path(op.file) == Path(__file__)
    assert "b = a * 3" in Path(__file__).read_text(encoding="utf-8").splitlines()[op.line - 1]


def test_neighbours_and_folds_say_why_they_are_apart():
    a = ones()
    b = a + 1
    c = b[1:] * b[:-1]
    plan = np.explain(c)
    assert [kernel.why for kernel in plan.kernels] == [None, "it needs neighbouring points"]
    wide = ones().reshape(25, 40 * SIDE)
    spread = (wide + 1) / wide.sum(axis=0)
    whole = "it needs a result that is complete only at the end of a kernel"
    assert whole in [kernel.why for kernel in np.explain(spread).kernels]


def test_a_stencil_of_a_stencil_keeps_rows_in_a_ring():
    a = ones()
    means = a[1:] + a[:-1]
    out = means[1:] + means[:-1]
    del means
    plan = np.explain(out)
    rings = [v for kernel in plan.kernels for v in kernel.writes if v.storage == "ring"]
    assert rings, str(plan)
    assert any(len(each.kernels) > 1 for each in plan.passes)


def test_a_dead_result_is_dropped():
    a = ones()
    b = a + 1
    b = a + 2
    plan = np.explain(b)
    assert plan.dropped == 1
    assert "dropped" in str(plan)


def test_what_is_computed_or_plain_has_no_plan():
    a = ones() + 1
    a.sum()
    a[0, 0]
    assert np.explain(a).note == "computed already"
    assert "plain NumPy array" in str(np.explain(numpy.ones(3)))
    assert np.explain(a).ratio == 1.0


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="takes arrays, not int"):
        np.explain(3)


def test_text_json_and_graph_agree():
    a = ones()
    b = np.sqrt(a) + a
    plan = np.explain(b)
    facts = json.loads(plan.json())
    assert facts["bytes_moved"] == plan.bytes_moved
    assert [op["name"] for op in facts["passes"][0]["kernels"][0]["operations"]] == ["sqrt", "add"]
    assert "2 operations in 1 kernel and 1 pass over memory" in str(plan)
    graph = ET.fromstring(plan._repr_svg_())
    texts = "".join(graph.itertext())
    assert "sqrt" in texts
    assert "a0" in texts


PROGRAM = """
import numpy as np
a = np.ones((1000, 1000))
for _ in range(5):
    a = (a + 1) * 0.5
    float(a.sum())
"""


def test_dump_kernels_writes_each_list_once(tmp_path):
    folder = tmp_path / "plans"
    done = process.run(PROGRAM, runner=True, options=("--dump-kernels", folder))
    assert done.returncode == 0, done.stderr
    index = (folder / "index.txt").read_text(encoding="utf-8").splitlines()
    assert len(index) < 5
    assert "run" in index[0]
    first = (folder / "plan-0001.txt").read_text(encoding="utf-8")
    assert "multiply" in first
    assert "reduced by Add" in first
    ET.parse(folder / "plan-0001.svg")


def test_a_folder_that_takes_no_files_is_refused_before_the_program_runs(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = process.run("print('ran')", runner=True, options=("--dump-kernels", blocked))
    assert done.returncode == 2
    assert "cannot write to" in done.stderr
    assert "ran" not in done.stdout
