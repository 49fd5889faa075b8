"""The commands ``arrayloom filter``, ``convert``, ``plan``, ``view``, ``report`` and ``info FILE``.

Exit codes: 0 done, 1 failed, 2 usage, 3 no plan fits the memory, 130 interrupted.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import argparse
import contextlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arrayloom import filters, volumes
from arrayloom._volumes.about import about, about_json, about_text
from arrayloom._volumes.compute import compute
from arrayloom._volumes.formats import check_raw, check_words
from arrayloom._volumes.limits import nbytes, workers
from arrayloom._volumes.plan_picture import write_png
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Build, Volume
from arrayloom.errors import ArrayloomError, BudgetError

__all__ = ["COMMANDS", "main"]

# Short names beside those of `arrayloom.filters`.
_SHORT = {
    "gaussian": "gaussian_filter",
    "uniform": "uniform_filter",
    "mean": "mean_filter",
    "median": "median_filter",
    "minimum": "minimum_filter",
    "maximum": "maximum_filter",
    "percentile": "percentile_filter",
    "log": "gaussian_laplace",
    "dog": "difference_of_gaussians",
}


def _numbers(text: str) -> Any:
    """A number, several with commas between them, or several with names: 2, 2,1,1 and z=2,y=1."""
    if "=" in text:
        pairs = [word.partition("=") for word in text.split(",")]
        return {name.strip(): _numbers(number) for name, _, number in pairs}
    try:
        values = [float(word) for word in text.split(",")]
        whole = [int(v) if v == int(v) else v for v in values]
    except (ValueError, OverflowError):
        message = (
            f"{text!r} is no number, and no numbers with commas between them, with names or without"
        )
        raise argparse.ArgumentTypeError(message) from None
    return whole[0] if len(whole) == 1 else whole


def _extents(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.strip().isdecimal() for word in words):
        message = f"{text!r} is no list of extents, such as 64,64,64"
        raise argparse.ArgumentTypeError(message)
    return [int(word) for word in words]


def _size(text: str) -> int:
    try:
        return nbytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _levels(text: str) -> Any:
    if text != "auto" and not text.isdecimal():
        message = f"{text!r} is no number of levels, and not auto"
        raise argparse.ArgumentTypeError(message)
    return text if text == "auto" else int(text)


def _dtype(text: str) -> np.dtype[Any]:
    try:
        return np.dtype(text)
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _devices(text: str) -> str:
    try:
        workers(text, 0)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _picture(text: str) -> str:
    if not text.lower().endswith((".svg", ".png")):
        message = f"{text}: a plan is drawn as .svg or .png"
        raise argparse.ArgumentTypeError(message)
    return text


class _UsageError(ValueError):
    """A command that names what is not there, or leaves out what is needed."""


def _source(options: argparse.Namespace, level: int | None = None) -> Volume:
    words: dict[str, Any] = {
        "dataset": options.dataset,
        "level": (options.level if level is None else level) or None,
        "shape": options.shape,
        "dtype": options.dtype,
    }
    given = {name: word for name, word in words.items() if word is not None}
    path = Path(options.source)
    if path.exists():
        with _usage():
            check_words(path, given, written=False)
            check_raw(path, options.shape, options.dtype)
    return volumes.open(options.source, **given)


@contextlib.contextmanager
def _usage() -> Generator[None]:
    """Whatever is wrong with what is said of a file is an error of usage."""
    try:
        yield
    except ValueError as error:
        raise _UsageError(str(error)) from error


# What no text can be.
_FUNCTIONS = {"function", "derivative", "derivative2"}


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    """What a function of `arrayloom.filters` takes beside one array; nothing if it takes none, or functions."""
    found = inspect.signature(getattr(filters, name)).parameters
    if "input" not in found or not _FUNCTIONS.isdisjoint(found):
        return {}
    others = {"input", "memory_limit", "devices"}
    return {k: p for k, p in found.items() if k not in others}


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"{text!r} has no value; write NAME=VALUE"
        raise argparse.ArgumentTypeError(message)
    for form in (value, f"[{value}]"):
        with contextlib.suppress(ValueError):
            return name, json.loads(form)
    return name, _words(value)


def _words(text: str) -> str | list[str]:
    """A word, or several with commas between them."""
    words = text.split(",")
    return words if len(words) > 1 else text


def _filtered(options: argparse.Namespace) -> Volume:
    name = _SHORT.get(options.name, options.name)
    known = sorted({n for n in filters.__all__ if _parameters(n)} | set(_SHORT))
    if name not in known:
        message = f"no filter {options.name!r}; there are {', '.join(known)}"
        raise _UsageError(message)
    parameters = _parameters(name)
    given = {
        "low_sigma" if "low_sigma" in parameters else "sigma": options.sigma,
        "size": options.size,
        "percentile": options.percentile,
        "mode": options.mode,
        "output": options.output_dtype,
        "spacing": True if options.physical else None,
        **dict(options.set or []),
    }
    arguments = {k: v for k, v in given.items() if v is not None}
    if "size" in parameters and "footprint" in parameters:
        arguments.setdefault("size", 3)
    for key in arguments.keys() - parameters.keys():
        if key == "spacing" and options.physical:
            message = f"{options.name} has no sigma that --physical could be of; leave it out"
            raise _UsageError(message)
        message = f"{options.name} has no parameter {key}; it has {', '.join(parameters)}"
        raise _UsageError(message)
    for key, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and key not in arguments:
            option = "--sigma" if key == "low_sigma" else f"--{key}"
            plain = option in {"--sigma", "--size", "--percentile"}
            message = f"{options.name} needs {option if plain else f'--set {key}=...'}"
            raise _UsageError(message)
    source = _source(options)
    try:
        result = as_volume(getattr(filters, name)(source, **arguments))
        Build().add(result)  # which judges the arguments
    except (ValueError, TypeError, RuntimeError) as error:
        if isinstance(error, ArrayloomError):
            raise
        raise _UsageError(str(error)) from error
    return result


def _judge_chunks(volume: Volume, options: argparse.Namespace) -> None:
    """Refuse chunks that do not fit the axes of a volume."""
    chunks = options.chunks
    if chunks is not None and (len(chunks) != volume.ndim or min(chunks, default=1) < 1):
        message = (
            f"--chunks {','.join(map(str, chunks))} for a volume of shape {volume.shape}; "
            "give one extent of at least 1 for each axis"
        )
        raise _UsageError(message)


def _judge_target(options: argparse.Namespace) -> None:
    """Refuse a target of no known format, or whose format has no such options."""
    words = {"chunks": options.chunks, "levels": options.levels}
    given = {name: word for name, word in words.items() if word is not None}
    with _usage():
        check_words(Path(options.target), given, written=True)


def _save(volume: Volume, options: argparse.Namespace) -> int:
    _judge_chunks(volume, options)
    if options.memory is not None:
        _tell_cost(volume, options)
    with volumes.live() if options.live else contextlib.nullcontext():
        report = volumes.save(
            options.target,
            volume,
            memory_limit=options.memory,
            progress=sys.stderr.isatty() or options.verbose,
            resume=options.resume,
            chunks=options.chunks,
            devices=options.devices,
            levels=options.levels,
            durable=options.durable,
            events=options.events,
        )
    if options.verbose:
        sys.stderr.write(
            f"{report['blocks']} blocks, at most {report['peak']:,} bytes of memory, "
            f"{report['read_bytes']:,} bytes read\n"
        )
        if report["on_devices"]:
            sys.stderr.write(f"{report['on_devices']} blocks on devices\n")
        for name, blocks in report["left_to_cpu"].items():
            sys.stderr.write(
                f"{name}: {blocks} blocks on the CPU, since the device has no such filter\n"
            )
    return 0


def _tell_cost(volume: Volume, options: argparse.Namespace) -> None:
    """Say so if little memory makes a run read its sources over and over."""
    plan = volumes.plan(volume, memory_limit=options.memory, granule=options.chunks)
    if plan.redundancy >= 1 and plan.enough is not None:
        times = 1 + plan.redundancy
        sys.stderr.write(
            f"arrayloom: with this memory the source is read {times:.1f} times; "
            f"--memory {plan.enough} reads it once\n"
        )


def _filter(options: argparse.Namespace) -> int:
    _judge_target(options)
    return _save(_filtered(options), options)


def _convert(options: argparse.Namespace) -> int:
    _judge_target(options)
    return _save(_source(options), options)


def _plan(options: argparse.Namespace) -> int:
    volume = _filtered(options)
    _judge_chunks(volume, options)
    plan = volumes.plan(volume, memory_limit=options.memory, granule=options.chunks)
    sys.stdout.write(f"{plan}\n")
    if options.draw:
        plan.draw(options.draw)
    return 0


def _view(options: argparse.Namespace) -> int:
    """The middle slice along the first axis beside the greatest value along it."""
    target = Path(options.target)
    if target.suffix.lower() != ".png":
        message = f"{target}: pictures are written as .png"
        raise _UsageError(message)
    volume = _source(options)
    while volume.ndim > 3:
        volume = volume[0]
    if volume.ndim < 2:
        message = f"a picture needs two axes, and {options.source} has {volume.ndim}"
        raise ValueError(message)
    if volume.dtype.kind == "c":
        message = f"{options.source} has complex numbers; draw their absolute values"
        raise ValueError(message)
    if volume.size == 0:
        message = f"{options.source} has no voxels to draw"
        raise ValueError(message)
    if volume.ndim == 2:
        panels = [volume]
    else:
        panels = [volume[volume.shape[0] // 2], np.fmax.reduce(volume, axis=0)]
    limit = {"memory_limit": options.memory}
    grey = [_grey(compute(p, **limit).astype(float)) for p in panels]
    write_png(target, np.concatenate(grey, 1))
    return 0


def _grey(values: Any) -> Any:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    scaled = (np.nan_to_num(values, nan=low, posinf=high, neginf=low) - low) / max(
        high - low, 1e-300
    )
    return (255 * scaled).round().astype(np.uint8)


def _info(options: argparse.Namespace) -> int:
    volume = _source(options)
    found = about(volume, lambda level: _source(options, level))
    sys.stdout.write(about_json(found) if options.json else about_text(found))
    return 0


def _report(options: argparse.Namespace) -> int:
    found = volumes.report(options.events)
    sys.stdout.write(f"{found}\n")
    if options.html is not None:
        found.html(options.html)
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "filter": _filter,
    "convert": _convert,
    "plan": _plan,
    "view": _view,
    "info": _info,
    "report": _report,
}


def _report_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arrayloom report", description="Say how a run went that was saved with --events."
    )
    parser.add_argument("events", help="the file of --events")
    parser.add_argument("--html", metavar="FILE", help="write the page of the run too")
    return parser


def _parser(command: str) -> argparse.ArgumentParser:
    texts = {
        "filter": "Filter a volume from file to file.",
        "convert": "Copy a volume to another format.",
        "plan": "Say how a filter would run; nothing is computed.",
        "view": "Draw the middle slice and the projection of a volume as PNG.",
        "info": "Say what a file holds: extents, axes, chunks and levels. Without a file: versions and devices.",
    }
    parser = argparse.ArgumentParser(prog=f"arrayloom {command}", description=texts[command])
    add = parser.add_argument
    if command in {"filter", "plan"}:
        add("name", help="a function of arrayloom.filters, such as gaussian or median")
    add("source", help="the file that is read")
    if command not in {"plan", "info"}:
        add("target", help="the file that is written")
    if command in {"filter", "plan"}:
        add(
            "--sigma",
            type=_numbers,
            help="standard deviation, one for each axis (2,1,1), or for some by name (z=2,y=1)",
        )
        add("--physical", action="store_true", help="sigma is in the units of the file, not voxels")
        add(
            "--size",
            type=_numbers,
            help="window, one for each axis, or for some by name (default: 3)",
        )
        add("--percentile", type=float, help="of percentile_filter")
        add(
            "--mode", type=_words, help="what lies outside, or one for each axis (default: reflect)"
        )
        add("--output-dtype", type=_dtype, metavar="DTYPE", help="element type of the result")
        add(
            "--set",
            type=_setting,
            action="append",
            metavar="NAME=VALUE",
            help="any other parameter of the function: --set iterations=2",
        )
    if command != "info":
        add("--memory", type=_size, metavar="SIZE", help="most bytes of buffers, such as 2GiB")
    if command in {"filter", "convert"}:
        add(
            "--devices",
            type=_devices,
            help="workers that share the blocks: cpu*2, cpu:0=1GiB, opencl:0, cuda:0,cuda:1,cpu",
        )
        add("--levels", type=_levels, help="write a pyramid of so many levels to .zarr, or auto")
    add("--dataset", help="which array of a file that holds several")
    add("--level", type=int, default=0, help="level of a pyramid")
    add("--shape", type=_extents, help="extents of a raw file: 100,512,512")
    add("--dtype", type=_dtype, help="element type of a raw file")
    if command == "info":
        add("--json", action="store_true", help="as JSON")
        return parser
    if command != "view":
        add("--chunks", type=_extents, help="chunks of the file that is written: 64,64,64")
    if command in {"filter", "convert"}:
        add("--resume", action="store_true", help="go on where an earlier run was stopped")
        add(
            "--durable",
            action="store_true",
            help="sync the file to the disk before the command ends",
        )
        add("--live", action="store_true", help="serve a page on this machine that shows the run")
        add("--events", metavar="FILE", help="write what the run does to FILE, for `report`")
    add("-v", "--verbose", action="store_true", help="progress and a summary on standard error")
    if command == "plan":
        add("--draw", type=_picture, metavar="FILE", help="draw the plan as .svg or .png")
    return parser


def _as_options(message: str, parser: argparse.ArgumentParser) -> str:
    """A message that names arguments of functions, with the options of the command instead."""
    options = {"memory_limit": "--memory", "output": "--output-dtype"}
    options |= {a.dest: a.option_strings[-1] for a in parser._actions if a.option_strings}  # noqa: SLF001
    names = "|".join(options)

    def option(found: re.Match[str]) -> str:
        # A value that follows has a space before it.
        return options[found[1]] + ("" if found[3] in {"", " ", ",", ";", ".", ")"} else " ")

    return re.sub(rf"(?<![\w-])({names})=(True\b|)(?=(.?))", option, message)


def main(command: str, argv: Sequence[str]) -> int:
    """Run one of `COMMANDS` and return the exit status."""
    parser = _report_parser() if command == "report" else _parser(command)
    options = parser.parse_args(list(argv))
    try:
        return COMMANDS[command](options)
    except KeyboardInterrupt:
        sys.stderr.write("arrayloom: stopped; the same command with --resume goes on\n")
        return 130
    except (
        ValueError,
        TypeError,
        RuntimeError,
        OSError,
        MemoryError,
        NotImplementedError,
    ) as error:
        sys.stderr.write(f"arrayloom: {_as_options(str(error), parser)}\n")
        if isinstance(error, BudgetError):
            return 3
        return 2 if isinstance(error, _UsageError) else 1
