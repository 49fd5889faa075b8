"""The report of ``--profile``: what was accelerated, what was not and why, what moved.

Formatting only: the figures come from the native module through `arrayloom._native`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict

from arrayloom._native import Fallback, Stats
from arrayloom._text import human_bytes, short_path, table

__all__ = ["counters", "profile_json", "profile_text"]

_FALLBACK_ROWS = 40


def profile_text(stats: Stats, seconds: float) -> str:
    """Write the report as tables of plain text."""
    inside = stats.times.get("flush_seconds", 0.0)
    kernels = stats.times.get("device_seconds", 0.0)
    parts = [
        f"arrayloom profile: {seconds:.3f} s,"
        f" of which {inside:.3f} s in arrayloom, {kernels:.3f} s of that in kernels"
    ]
    rows = sorted(stats.ops, key=lambda row: (-row.seconds, -row.calls, row.op))
    if rows:
        body = [
            (row.op, str(row.calls), f"{row.seconds:.4f}", human_bytes(row.nbytes)) for row in rows
        ]
        parts.append(table(("operation", "calls", "seconds", "moved"), body))
    else:
        parts.append("nothing was accelerated: no array was large enough, or lazy mode is off")
    if stats.fallbacks:
        parts.append(_fallback_table("ran in NumPy", stats.fallbacks))
    if stats.delegated:
        parts.append(_fallback_table("done by NumPy's own code", stats.delegated))
    if stats.reasons:
        rows = sorted(stats.reasons.items(), key=lambda row: (-row[1], row[0]))
        parts.append(
            table(
                ("not on the backend", "times"), [(why, str(n)) for why, n in rows[:_FALLBACK_ROWS]]
            )
        )
    counted = counters(stats)
    width = max(len(name) for name, _ in counted)
    parts.append("\n".join(f"{name.ljust(width)}  {value}" for name, value in counted))
    return "\n\n".join(parts) + "\n"


def _fallback_table(title: str, rows: Sequence[Fallback]) -> str:
    worst = sorted(rows, key=lambda row: (-row.calls, row.op, row.file, row.line))
    body = [
        (row.op, str(row.calls), f"{short_path(row.file)}:{row.line}", row.reason)
        for row in worst[:_FALLBACK_ROWS]
    ]
    text = table((title, "calls", "line", "reason"), body)
    hidden = len(worst) - len(body)
    return f"{text}\n... and {hidden} more" if hidden > 0 else text


def counters(stats: Stats) -> list[tuple[str, str]]:
    """Give every counter with a name for readers."""
    count = stats.counters
    asked = count.get("cache_hits", 0) + count.get("cache_misses", 0)
    share = f"{100 * count.get('cache_hits', 0) / asked:.0f} %" if asked else "-"
    lines = [
        ("operations recorded", f"{count.get('recorded', 0)}"),
        ("never needed", f"{count.get('dropped', 0)}"),
        ("flushes", f"{count.get('flushes', 0)}"),
        ("kernels run", f"{count.get('kernels', 0)}"),
        ("operations fused", f"{count.get('fused_ops', 0)}"),
        ("temporaries never stored", f"{count.get('contracted', 0)}"),
        ("stores without a copy", f"{count.get('renamed', 0)}"),
        ("shared passes", f"{count.get('sweeps', 0)}"),
        ("bytes read", human_bytes(count.get("bytes_read", 0))),
        ("bytes written", human_bytes(count.get("bytes_written", 0))),
        ("kernel cache hits", f"{share} of {asked}"),
        ("faults", f"{count.get('faults', 0)}"),
        ("arrays published", f"{count.get('publishes', 0)}"),
        ("write barriers", f"{count.get('write_barriers', 0)}"),
    ]
    lines += [(f"pool {name.replace('_', ' ')}", f"{n}") for name, n in stats.pool.items()]
    lines += [(f"backend {name.replace('_', ' ')}", f"{n}") for name, n in stats.backend.items()]
    return lines


def profile_json(stats: Stats, seconds: float) -> str:
    """Write the report as one JSON object."""
    report = {"seconds": seconds, **asdict(stats)}
    return json.dumps(report, sort_keys=True)
