"""The command line: ``python -m arrayloom [options] program args`` and ``arrayloom info``.

Everything after the program's name belongs to the program and is never looked at.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from arrayloom import _hook, _native, _preload
from arrayloom._reports import Reports
from arrayloom._runner import Kind, Program, run
from arrayloom.errors import FallbackWarning, SettingError

if TYPE_CHECKING:
    from arrayloom._doctor import Watched

__all__ = ["main", "parse"]

_WITH_VALUE = frozenset(
    {
        "--threads",
        "--min-bytes",
        "--scope",
        "--output",
        "--dump-kernels",
        "--backend",
        "--html",
        "--trace",
    }
)
_COMMANDS = frozenset({"backends", "replay", "filter", "convert", "plan", "view", "report"})
_DOCTOR = "doctor"
# Options whose reports would come into the way of another report.
_REPORTS = (
    *("profile", "line_profile", "coverage", "html", "trace", "dump_kernels", "compare"),
    "verify",
)
_COMPARED = 3
_USAGE = """python -m arrayloom [options] (script.py | -m module | -c code | -) [args ...]
       python -m arrayloom doctor [options] (script.py | -m module | -c code | -) [args ...]
       python -m arrayloom info [--json] [FILE]
       python -m arrayloom backends
       python -m arrayloom replay TRACE [--limit SIZE]
       python -m arrayloom (filter | convert | plan | view | report) --help"""


class Options(argparse.Namespace):
    """Options of the runner, as parsed."""

    profile: bool
    line_profile: bool
    json: bool
    output: str | None
    dump_kernels: str | None
    coverage: str | None
    html: str | None
    trace: str | None
    compare: int | None
    doctor: bool
    strict: str | None
    verify: str | None
    backend: str | None
    threads: int | None
    min_bytes: int | None
    lazy: bool
    shim: bool
    scope: str
    verbose: bool


def _whole(least: int) -> Callable[[str], int]:
    """Give the reader of whole numbers from `least` on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            message = f"{text!r} is no whole number from {least} on"
            raise argparse.ArgumentTypeError(message)
        return int(text)

    return read


def _who(text: str) -> str:
    if not text.strip():
        message = "nobody is named; give user, all, or modules and folders"
        raise argparse.ArgumentTypeError(message)
    return text


def _twin(name: str) -> str | None:
    """Give an option's variable in the environment; None if it is not there, empty or ``0``."""
    text = os.environ.get(name)
    return None if text in {"", "0"} else text


def _reasons(text: str) -> str:
    """Judge the value of ``--strict``, which stays a text for the environment."""
    from arrayloom import _strict  # noqa: PLC0415 - needs the native module

    try:
        _strict.reasons_of(text)
    except SettingError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _tolerance(text: str) -> str | None:
    """Judge the value of ``--verify``, which stays a text; None for ``0``."""
    from arrayloom._verify.judge import tolerance_of  # noqa: PLC0415 - needs the native module

    try:
        return None if tolerance_of(text) is None else text
    except SettingError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arrayloom",
        usage=_USAGE,
        description="Run a NumPy program as it is: fused, on all cores.",
        epilog="commands: doctor says what keeps a program from being fast; info shows versions, devices and a self-test, or what a file holds; filter, convert, plan "
        "and view work on volumes in files.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--profile", action="store_true", help="report what was accelerated, on standard error")
    add(
        "--line-profile",
        action="store_true",
        help="report what each line did and how long it took, on standard error",
    )
    add("--json", action="store_true", help="reports as JSON")
    add(
        "--output",
        metavar="FILE",
        help="write the report of --profile, --line-profile, --compare, --verify or doctor to FILE instead",
    )
    add(
        "--coverage",
        nargs="?",
        const="1",
        default=_twin("ARRAYLOOM_COVERAGE"),
        metavar="FILE.csv",
        help="report which calls were accelerated, by function and line; with FILE.csv or =FILE, there too",
    )
    add(
        "--html",
        metavar="FILE",
        default=_twin("ARRAYLOOM_HTML"),
        help="write the profile as a page",
    )
    add(
        "--trace",
        metavar="FILE",
        default=_twin("ARRAYLOOM_TRACE"),
        help="write what ran when, for Perfetto or chrome://tracing",
    )
    add(
        "--strict",
        type=_reasons,
        nargs="?",
        const="1",
        metavar="REASONS",
        help="a fallback is an error; with =REASONS, separated by commas, only those: operand, loop,"
        " keyword, operation, errstate, delegated",
    )
    add(
        "--compare",
        type=_whole(1),
        nargs="?",
        const=_COMPARED,
        default=_twin("ARRAYLOOM_COMPARE"),
        metavar="N",
        help=f"run the program N times (default {_COMPARED}) with NumPy alone and accelerated, and compare",
    )
    add(
        "--verify",
        type=_tolerance,
        nargs="?",
        const="1",
        default=_twin("ARRAYLOOM_VERIFY"),
        metavar="RTOL",
        help="do each operation in NumPy too, and stop at the first that differs by more than RTOL"
        " (default: some units in the last place); `bitwise` wants equal bits",
    )
    add("--backend", metavar="NAME", help="the device (default: cpu); `backends` lists them")
    add("--dump-kernels", metavar="DIR", help="write what was fused, and why not more, to DIR")
    add("--threads", type=_whole(1), metavar="N", help="threads to use (default: all cores)")
    add("--min-bytes", type=_whole(0), metavar="N", help="smaller results stay plain NumPy arrays")
    add("--no-lazy", dest="lazy", action="store_false", help="record nothing: plain NumPy")
    add("--no-shim", dest="shim", action="store_false", help="do not restart with the shim")
    add(
        "--scope",
        type=_who,
        default=_twin("ARRAYLOOM_SCOPE") or "user",
        metavar="WHO",
        help="whose imports: user, all, or modules and folders",
    )
    add("-v", "--verbose", action="store_true", help="settings and fallbacks, on standard error")
    return parser


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Cut `argv` in front of the program: the first word that is no option or its value."""
    at = 0
    while at < len(argv):
        word = argv[at]
        if word in {"-m", "-c", "-"} or not word.startswith("-"):
            break
        # No program is a table.
        table = word == "--coverage" and argv[at + 1 : at + 2] and argv[at + 1].endswith(".csv")
        at += 2 if word in _WITH_VALUE or table else 1
        if word == "--":
            return list(argv[: at - 1]), list(argv[at:])
    return list(argv[:at]), list(argv[at:])


def _is_given(head: Sequence[str], option: str) -> bool:
    return any(word.partition("=")[0] == option for word in head)


def _be_verified(parser: argparse.ArgumentParser, options: Options, head: Sequence[str]) -> None:
    """Set the options up for ``--verify``."""
    if not options.lazy:
        parser.error("--verify compares what is accelerated; leave --no-lazy out")
    _stand_alone(parser, options, head, "--verify")


def _stand_alone(
    parser: argparse.ArgumentParser, options: Options, head: Sequence[str], name: str
) -> None:
    """Refuse options of other reports beside one; their variables are not looked at."""
    for each in _REPORTS:
        option = f"--{each.replace('_', '-')}"
        if option != name and _is_given(head, option):
            parser.error(f"{name} writes a report of its own; leave {option} out")
        if option != name:
            setattr(options, each, None)


def _be_doctor(parser: argparse.ArgumentParser, options: Options, head: Sequence[str]) -> None:
    """Set the options up for ``doctor``."""
    if not options.lazy:
        parser.error("doctor looks at what is accelerated; leave --no-lazy out")
    _stand_alone(parser, options, head, _DOCTOR)


def parse(argv: Sequence[str]) -> tuple[Options, Program | None]:
    """Options, and the program; without a program the caller wants ``info`` or help."""
    parser = _parser()
    is_doctor = argv[:1] == [_DOCTOR] and not os.path.exists(_DOCTOR)
    head, rest = _split(argv[1:] if is_doctor else argv)
    options = parser.parse_args(head, namespace=Options())
    options.doctor = is_doctor
    if is_doctor:
        _be_doctor(parser, options, head)
    elif options.line_profile:
        _stand_alone(parser, options, head, "--line-profile")
    elif options.verify is not None and not _is_given(head, "--compare"):
        _be_verified(parser, options, head)
    if options.compare is not None:
        _stand_alone(parser, options, head, "--compare")
    if not rest:
        if sys.stdin.isatty():
            parser.error("no program: give a script, -m module, -c code or - for standard input")
        return options, Program(Kind.STDIN, "-")
    word, args = rest[0], rest[1:]
    if word == "info" and not os.path.exists("info"):
        options.json = parser.parse_args(args, namespace=Options()).json or options.json
        return options, None
    if word in {"-m", "-c"}:
        if not args:
            parser.error(f"argument expected for {word}")
        return options, Program(Kind.MODULE if word == "-m" else Kind.CODE, args[0], args[1:])
    return options, Program(Kind.STDIN if word == "-" else Kind.SCRIPT, word, args)


def _apply(options: Options) -> None:
    """Hand the settings to the engine, and to processes that the program starts."""
    if options.threads is not None:
        os.environ["ARRAYLOOM_THREADS"] = str(options.threads)
    if options.min_bytes is not None:
        os.environ["ARRAYLOOM_MIN_BYTES"] = str(options.min_bytes)
    if not options.lazy:
        os.environ["ARRAYLOOM_LAZY"] = "0"
    if options.strict is not None:
        from arrayloom import _strict  # noqa: PLC0415 - needs the native module

        os.environ["ARRAYLOOM_STRICT"] = options.strict
        _strict.be_strict(options.strict)
    lazy = None if options.lazy else False
    changed = (options.threads, lazy, options.min_bytes) != (None, None, None)
    if changed and not _native.configure(
        threads=options.threads, lazy=lazy, min_bytes=options.min_bytes
    ):
        sys.stderr.write("arrayloom: the native module takes no settings; going on without\n")


def _backends() -> int:
    """List every device, and compute ``[1, 2, 3] * 2`` on each."""
    from arrayloom import _backends as backends  # noqa: PLC0415 - slow, and only needed here

    for found in backends.probe_all():
        sys.stdout.write(f"{found.name:14} {found.outcome:14} {found.detail} ({found.source})\n")
    return 0


def _replay(words: Sequence[str]) -> int:
    """Repeat a trace of requests for memory, under a limit."""
    from arrayloom import memory  # noqa: PLC0415 - needs the native module

    parser = argparse.ArgumentParser(prog="arrayloom replay")
    parser.add_argument("trace", help="a file of arrayloom.memory.save_trace")
    parser.add_argument("--limit", help="bytes that may be in use, such as 512MiB (default: any)")
    options = parser.parse_args(words)
    try:
        found = memory.replay(options.trace, options.limit)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"arrayloom: {error}\n")
        return 2
    sys.stdout.write(f"{found}\n")
    return 0


def _info(options: Options) -> int:
    from arrayloom import _info as info  # noqa: PLC0415 - slow, and only needed here

    found = info.collect()
    sys.stdout.write(info.info_json(found) + "\n" if options.json else info.info_text(found))
    return 0 if found.healthy else 1


def _watched(options: Options, program: Program) -> "Watched":
    from arrayloom._doctor import Doctor, LineProfile  # noqa: PLC0415 - needs the native module

    return Doctor(options, program) if options.doctor else LineProfile(options, program)


def _reported(options: Options, program: Program) -> int:
    """Run a program with the reports that are wanted."""
    if options.verify is not None:
        from arrayloom._verify.run import Verified  # noqa: PLC0415 - needs the native module

        verified = Verified(options)
        return verified.end(run(program)) if verified.begin() else 2
    is_watched = options.doctor or options.line_profile
    reports = _watched(options, program) if is_watched else Reports(options)
    if not reports.begin():
        return 2
    status = run(program)
    reports.end()
    return status


def _command(name: str, words: Sequence[str]) -> int:
    """Run a command that is no program."""
    if name == "backends":
        return _backends()
    if name == "replay":
        return _replay(words)
    from arrayloom._volumes import cli  # noqa: PLC0415 - slow, and only needed here

    return cli.main(name, words)


def _is_command(words: Sequence[str]) -> bool:
    """Tell a command from a program; ``info`` is one if it names a file."""
    file = any(not word.startswith("-") for word in words[1:])
    return words[0] in _COMMANDS or (words[0] == "info" and (file or "--help" in words))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` and return the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and not os.path.exists(words[0]) and _is_command(words):
        return _command(words[0], words[1:])
    options, program = parse(words)
    if program is not None and options.compare is not None:
        from arrayloom import _compare  # noqa: PLC0415 - only needed here

        return _compare.main(options, program)
    if options.backend is not None:
        _preload.restart_with("ARRAYLOOM_BACKEND", options.backend)
    if options.verify is not None:
        # Each line wants its result at once here, and would be left to NumPy for that.
        _preload.restart_with("ARRAYLOOM_LEARN", "0")
    if options.shim:
        _preload.restart_with_shim()
    _apply(options)
    if program is None:
        return _info(options)
    if options.verbose:
        warnings.simplefilter("default", FallbackWarning)
        shim = "with" if _preload.shim_loaded() else "without"
        sys.stderr.write(
            f"arrayloom: native {_native.native_version()}, {shim} shim, scope {options.scope}\n"
        )
    if options.lazy:
        _hook.install(options.scope)
        _native.enable_runner_patches()
    _native.reset_stats()
    return _reported(options, program)


def entry() -> NoReturn:
    """Console script ``arrayloom``."""
    sys.exit(main())
