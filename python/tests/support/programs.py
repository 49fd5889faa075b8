"""Random NumPy programs: written while they run on NumPy, so that nearly every statement is valid.

A program is a list of lines. It makes a few arrays, takes views of views, computes, stores through
views that overlap what they read, reduces, deletes, loops, reads through plain views. A line
``check()`` compares every variable. The same seed gives the same program.
"""

import random
import warnings

import numpy as np

SMALL = ((12,), (6, 6), (5, 5), (4, 3, 2), (6, 1), (1, 6), (30,), (7, 4), (3, 3, 3), (1,), (2, 5))
LARGE = ((110, 110), (20003,), (64, 150), (8, 40, 40), (16384,), (130, 70), (110, 1), (1, 110))
_KINDS = "dddddfffllliibBh?DFeHLIu"


def data(seed, shape, dtype):
    """The values that programs start from: ordinary, a little special."""
    draw = np.random.default_rng(seed)
    size = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind == "b":
        found = draw.random(size) < 0.5
    elif kind in "iu":
        found = draw.integers(0 if kind == "u" else -20, 50, size)
    elif kind == "c":
        found = draw.standard_normal(size) + 1j * draw.standard_normal(size)
    else:
        found = np.round(draw.standard_normal(size) * 8, 3 if seed % 2 else 17)
    return found.astype(dtype).reshape(shape)


class Writer:
    """Writes one program, running each line on NumPy as it goes."""

    def __init__(self, seed, *, large=False, exact=False, length=None):
        self.draw = random.Random(seed)
        # Only operations whose results IEEE 754 defines to the bit.
        self.exact = exact
        self.shapes = LARGE if large else SMALL
        self.limit = 60_000 if large else 1500
        self.length = length or self.draw.randint(6, 30)
        self.lines = []
        self.space = {"np": np, "data": data, "check": lambda: None}
        self.count = 0
        self.scalars = []

    # What there is to choose from

    def arrays(self):
        """Names of the arrays that live now."""
        return [k for k, v in self.space.items() if isinstance(v, np.ndarray)]

    def chance(self, probability):
        return self.draw.random() < probability

    def array(self):
        return self.draw.choice(self.arrays())

    def value(self, text):
        """What NumPy gives for an expression, or None when it raises."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return eval(text, self.space)
        except Exception:
            return None

    # Indices and views

    def slice_text(self, extent):
        draw = self.draw
        if self.chance(0.35) or extent == 0:
            return ":"
        step = draw.choice((1, 1, 1, 2, 3, -1, -1, -2))
        low, high = sorted((draw.randint(0, extent), draw.randint(0, extent)))
        if self.chance(0.5):
            cut = draw.randint(1, min(3, extent))
            return draw.choice((f"{cut}:", f":-{cut}", f"{cut}:-{cut}", f"::{step}", f"-{cut}:"))
        return f"{low}:{high}:{step}" if step > 0 else f"{high}:{low or ''}:{step}"

    def index_text(self, shape):
        parts = []
        for extent in shape:
            if self.chance(0.1):
                parts.append("None")
            if extent and self.chance(0.15):
                parts.append(str(self.draw.randint(-extent, extent - 1)))
            else:
                parts.append(self.slice_text(extent))
        if self.chance(0.15):
            parts = [*parts[: len(parts) // 2], "..."]
        return ", ".join(parts) or "..."

    def _shape_text(self, size):
        for _ in range(8):
            first = self.draw.choice((1, 2, 3, 4, 5, 6, 8, 10, 12, 20))
            if size % first == 0:
                return self.draw.choice((f"({first}, -1)", f"(-1, {first})", "-1"))
        return "-1"

    def view_step(self, text, value):
        """One more view on top of an expression."""
        draw, ndim = self.draw, value.ndim
        choices = [f"{text}[{self.index_text(value.shape)}]"] * 5
        choices += [f"{text}.T", f"{text}.reshape({self._shape_text(value.size)})"]
        choices += [f"{text}.ravel()", f"{text}[None]", f"{text}.squeeze()", f"np.asarray({text})"]
        if ndim >= 2:
            order = draw.sample(range(ndim), ndim)
            choices += [f"{text}.transpose({order})", f"{text}.diagonal()", f"np.flip({text}, 0)"]
            choices += [f"{text}.swapaxes(0, {ndim - 1})", f"np.moveaxis({text}, 0, -1)"]
        if value.dtype.kind == "c":
            choices += [f"{text}.real", f"{text}.imag"] * 2
        if (
            ndim
            and value.flags.c_contiguous
            and value.itemsize in (4, 8)
            and value.dtype.kind != "c"
        ):
            choices.append(f"{text}.view('{'i' if value.itemsize == 4 else 'l'}')")
        if ndim == 1 and value.size > 4:
            choices.append(f"np.lib.stride_tricks.sliding_window_view({text}, 3)")
        if value.size < self.limit // 4:
            choices.append(f"np.broadcast_to({text}, (2, *{text}.shape))")
        return draw.choice(choices)

    def view(self, name=None, most=3):
        """Text of a view of a live array."""
        text = name or self.array()
        for _ in range(self.draw.randint(0, most)):
            step = self.view_step(text, self.value(text))
            found = self.value(step)
            if isinstance(found, np.ndarray) and 0 < found.size <= self.limit:
                text = step
        return text

    # Expressions

    def scalar(self):
        draw = self.draw
        if self.scalars and self.chance(0.25):
            return draw.choice(self.scalars)
        return draw.choice(
            ("2", "3", "0.5", "1.5", "-1", "7", "0.25", "0.1", "np.float32(0.7)", "1", "10", "-2.5")
        )

    def fitting(self, shape):
        """A view that broadcasts to a shape, or a scalar."""
        for _ in range(6):
            text = self.view(most=2)
            found = self.value(text)
            try:
                if np.broadcast_shapes(found.shape, shape) == shape:
                    return text
            except ValueError:
                pass
        return self.scalar()

    def neighbours(self):
        """Two overlapping views of one array with the same shape."""
        name = self.array()
        shape = self.space[name].shape
        if not shape or max(shape) < 3:
            return name, name
        axis = self.draw.choice([i for i, n in enumerate(shape) if n >= 3])
        front, shift = ":, " * axis, self.draw.randint(1, 2)
        pair = self.draw.choice(
            (
                (f"{name}[{front}{shift}:]", f"{name}[{front}:-{shift}]"),
                (f"{name}[{front}::-1]", name),
                (f"{name}[{front}:{shape[axis] // 2}]", f"{name}[{front}-{shape[axis] // 2}:]"),
                (f"{name}[{front}::2]", f"{name}[{front}:{(shape[axis] + 1) // 2}]"),
                (f"{name}.T", name) if shape == shape[::-1] else (name, name),
            )
        )
        return pair if self.chance(0.5) else pair[::-1]

    def form(self, exact, functions):
        return self.draw.choice(exact if self.exact else exact + functions)

    def reversed_complex(self, *texts):
        """Whether complex numbers are read backwards: NumPy's products of them depend on the layout."""
        values = [self.value(text) for text in texts]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        backwards = any(step < 0 for value in arrays for step in value.strides)
        return backwards and any(value.dtype.kind == "c" for value in arrays)

    def combine(self, left, right):
        if self.reversed_complex(left, right):
            return f"({self.draw.choice(('{} + {}', '{} - {}')).format(left, right)})"
        # Nothing takes the sign of a zero that won a tie, or of a NaN: that depends on NumPy's loop.
        form = self.form(
            ("{} + {}", "{} - {}", "{} * {}", "{} + {}", "{} - {}", "(np.maximum({}, {}) + 0)",
             "(np.minimum({}, {}) + 0)", "{} / {}", "({}) % ({})", "{} // {}",
             "({} > {})", "({} == {})", "np.where({0} > 0, {0}, {1})",
             "{0} * 0.5 + {1} * 0.25", "np.copysign({}, np.nan_to_num({}))",
             "{0} + {1} * {0}", "{0} - {1} / 2", "np.logical_or({}, {})"),
            ("np.hypot({}, {})",),
        )  # fmt: skip
        return f"({form.format(left, right)})"

    def unary(self, text):
        if self.reversed_complex(text):
            return f"-({text})"
        form = self.form(
            ("-({})", "abs({})", "np.sqrt(abs({}))", "np.floor({})", "({})**2", "np.sign({})",
             "({}).astype('f')", "({}).astype('d')", "({}).copy()",
             "np.rint({})", "np.clip({}, -4, 9)", "({}).conj()", "np.isfinite({})", "np.square({})",
             "~({} > 1)"),
            ("np.sin({})", "np.exp(-abs({}))", "np.tanh({})"),
        )  # fmt: skip
        return form.format(text)

    def expression(self, shape=None, depth=None):
        """An expression over live arrays, broadcasting to a shape if one is given."""
        depth = self.draw.randint(0, 3) if depth is None else depth
        text = self.view() if shape is None else self.fitting(shape)
        if shape is None:
            shape = getattr(self.value(text), "shape", ())
        for _ in range(depth):
            text = self.unary(text) if self.chance(0.3) else self.combine(text, self.fitting(shape))
        return text

    def stored(self, shape):
        """What a store may take. NumPy goes wrong where a vector is copied to itself with another
        step, so vectors are computed and not just copied."""
        text = self.expression(shape)
        return f"({text} + 0)" if len(shape) == 1 else text

    def symbol(self, text):
        """An operator for work in place. Products of complex numbers have other bits in NumPy where
        the operands overlap the result."""
        kind = self.value(text).dtype.kind
        return self.draw.choice("+-" if kind == "c" else "+-*")

    # Statements

    def target(self):
        """A view that can be written, with its shape."""
        for _ in range(8):
            text = self.view(most=2)
            found = self.value(text)
            if found is not None and found.flags.writeable and found.size:
                return text, found.shape
        name = self.array()
        return name, self.space[name].shape

    def name(self):
        """A new variable, or one to bind again."""
        if self.count > 5 and self.chance(0.5):
            return self.array()
        self.count += 1
        return f"v{self.count}"

    def make(self):
        draw = self.draw
        shape, kind = draw.choice(self.shapes), draw.choice(_KINDS.replace("u", "B"))
        seed = draw.randint(0, 10**6)
        text = f"np.array(data({seed}, {shape}, '{kind}'))"
        if self.chance(0.3):
            size = int(np.prod(shape))
            text = draw.choice(
                (f"np.zeros({shape}, '{kind}')", f"np.ones({shape}, '{kind}')", f"np.arange({size}.0)",
                 f"np.full({shape}, 3, '{kind}')", f"np.linspace(0, 1, {size})",
                 f"np.arange({size}).reshape({shape})", f"np.array(data({seed}, {shape}, '{kind}')).T",
                 f"np.asfortranarray(data({seed}, {shape}, '{kind}'))")
            )  # fmt: skip
        return f"{self.name()} = {text}"

    def assign(self):
        return f"{self.name()} = {self.expression()}"

    def bind_view(self):
        return f"{self.name()} = {self.view()}"

    def in_place(self):
        text, shape = self.target()
        symbol, right = self.symbol(text), self.expression(shape)
        if text.isidentifier() or text.endswith("]"):
            return f"{text} {symbol}= {right}"
        return f"w = {text}; w {symbol}= {right}"

    def store(self):
        name = self.array()
        index = self.index_text(self.space[name].shape)
        shape = getattr(self.value(f"{name}[{index}]"), "shape", ())
        return f"{name}[{index}] = {self.stored(shape)}"

    def store_in_place(self):
        name = self.array()
        index = self.index_text(self.space[name].shape)
        shape = getattr(self.value(f"{name}[{index}]"), "shape", ())
        return f"{name}[{index}] {self.symbol(name)}= {self.expression(shape)}"

    def overlap(self):
        left, right = self.neighbours()
        symbol = self.symbol(left)
        plain = right if self.value(left).ndim > 1 or "::2" not in left + right else f"{right} * 1"
        call = {"+": "add", "-": "subtract", "*": "multiply"}[symbol]
        return self.draw.choice(
            (f"{left} {symbol}= {right}" if "[" in left else f"{left}[...] {symbol}= {right}",
             f"np.{call}({left}, {right}, out={left})", f"np.{call}({right}, {right}, out={left})",
             f"{left}[...] = {plain}", f"{left}[...] = {right} * 0.5 + {left}",
             f"np.{call}({left}, {right}, out={right})",
             f"{left}[...] = {self.combine(left, right)}")
        )  # fmt: skip

    def out_call(self):
        text, shape = self.target()
        left, right = self.fitting(shape), self.fitting(shape)
        # What a quotient that is no number becomes as an integer depends on NumPy's loop, and so does what a number
        # that is too large becomes without a sign.
        kind = self.value(text).dtype.kind
        names = ("add", "subtract", "multiply", "divide")
        call = self.draw.choice(names[: {"c": 2, "f": 4}.get(kind, 3)])
        more = ", casting='unsafe'" if self.chance(0.5) and kind != "u" else ""
        # NumPy casts what the mask leaves alone to the loop's dtype and back: no casts then.
        if not more and self.value(text).dtype == np.float64 and self.chance(0.8):
            left, more = f"{left} * 1.0", f", where={self.fitting(shape)} > 0"
        return f"np.{call}({left}, {right}, out={text}{more})"

    def reduce(self):
        text = self.expression(depth=self.draw.randint(0, 2))
        ndim = getattr(self.value(text), "ndim", 0)
        axis = self.draw.choice((None, 0, ndim - 1, -1)) if ndim else None
        call = self.draw.choice(
            ("sum", "sum", "mean", "max", "min", "prod", "any", "std", "argmax")
        )
        if axis is None or ndim == 1:
            self.count += 1
            self.scalars = [*self.scalars[-3:], f"s{self.count}"]
            self.space.setdefault(f"s{self.count}", 0.0)
            return f"s{self.count} = ({text}).{call}() + 0"
        keep = ", keepdims=True" if self.chance(0.4) else ""
        return f"{self.name()} = ({text}).{call}({axis}{keep}) + 0"

    def touch(self):
        name, draw = self.array(), self.draw
        shape = self.space[name].shape
        index = self.index_text(shape)
        at = tuple(draw.randrange(n) for n in shape) if 0 not in shape else ...
        return draw.choice(
            (f"np.asarray({name})[{index}] = {draw.randint(0, 9)}", f"{name}.sort()", f"{name}.tobytes()",
             f"{name}.fill({draw.randint(0, 9)})", f"{name}[{at}] = 3", f"bool({name}.any())",
             f"{name}.tolist()", f"np.asarray({name}).sum()", f"{name}.flat[::3] = 1",
             f"{name}.view(type({name})).sort(0)", f"np.copyto({name}, {name}[{index}] + 0)",
             f"s = {name}[{at}]", f"memoryview({name}).nbytes", f"len({name}), list({name}[:2])")
        )  # fmt: skip

    def library(self):
        text, name = self.view(), self.array()
        shape = getattr(self.value(text), "shape", ())
        axis = self.draw.randrange(len(shape)) if shape else 0
        mate = self.fitting(shape)
        call = self.draw.choice(
            (f"np.concatenate([{text}, {text}])", f"np.stack([{text}, {mate} + 0 * {text}])",
             f"np.roll({text}, {self.draw.randint(-3, 3)}, {axis})", f"np.cumsum({text}, {axis})",
             f"np.where({text} > 1, {text}, {mate})", f"np.take({text}, [0, -1, 0], {axis})",
             f"np.sort({text}, {axis})", f"{text}[{text} > 0]", f"np.repeat({text}, 2, {axis})",
             f"np.pad({text}, 1)", f"np.diff({text}, axis={axis})", f"np.outer({text}, [1, 2.0])",
             f"np.tile({text}, 2)", f"np.argsort({text}, {axis}, kind='stable')", f"np.nonzero({text})[0]",
             f"np.minimum.accumulate({text}, {axis}) + 0", f"np.tril({text})", f"np.zeros_like({text})",
             f"np.ascontiguousarray({text})", f"np.array({text})", f"np.clip({text}, 1, {mate})",
             f"{text}.astype('l', copy=False)", f"np.ones_like({text})", f"np.isnan({text})")
        )  # fmt: skip
        if self.chance(0.15):
            return self.draw.choice(
                (f"{name}[{name} > 2] = 1", f"{name}[[0, 0, -1]] += 1", f"np.put({name}, [0, 3], 9)",
                 f"np.copyto({name}, {self.fitting(self.space[name].shape)}, casting='unsafe')",
                 f"np.add.at({name}, [0, 0], 1)", f"np.putmask({name}, {name} < 0, [5, 6])")
            )  # fmt: skip
        return f"{self.name()} = {call}"

    def masked(self):
        """Updates where a mask is true, of picked elements that other lines may still hold."""
        draw, name = self.draw, self.array()
        shape = self.space[name].shape
        mate = draw.choice([n for n in self.arrays() if self.space[n].shape == shape])
        kind, symbol = self.space[name].dtype.kind, self.symbol(name)
        limit = f"{name} > {draw.randint(-4, 6)}" if kind in "iuf" else f"abs({mate}) < 9"
        number = draw.choice(("2", "0.5", "-1"))
        update = draw.choice(
            (f"{name}[m] {symbol}= {number}", f"{name}[m] {symbol}= {mate}[m]", f"{name}[m] = {mate}[m] - {number}",
             f"{name}[m] = abs({name}[m]) + {mate}[m]", f"v = {name}[m]; v {symbol}= {mate}[m]; {name}[m] = v",
             f"v = {name}[m]; {name}[m] = 0; {mate}[m] = v + v", f"v = {name}[m] + {mate}[m]; m[...] = False",
             f"v = {name}[m]; {name}[...] = 1; w = v + {number}", f"v = {name}[m]; {name}[~m] = 2; {name}[m] = v + v",
             f"v = {name}[m] + 1; {mate}[m] = v; v -= 1", f"v = {name}[m]; w = v[::-1] + v; {name}[m] = w",
             f"v = {name}[m]; np.asarray({name})[...] = 3; v = v + 1", f"v = ({name}[m] + {mate}[m]).sum()",
             f"v = np.sqrt(abs({name}[m])); {name}[m] = v; {mate}[m] = v", f"v = {name}[m].reshape(1, -1) + 1",
             f"v = np.add({name}[m], {number}); v.sort()", f"np.add({name}[m], 1, out={name}[m])")
        )  # fmt: skip
        return f"m = {limit}; {update}"

    def loop(self):
        writers = (
            self.in_place,
            self.store,
            self.store_in_place,
            self.overlap,
            self.out_call,
            self.masked,
        )
        body = "; ".join(self.draw.choice(writers)() for _ in range(self.draw.randint(1, 3)))
        return f"for _ in range({self.draw.randint(2, 4)}): {body}"

    def branch(self):
        return f"if {self.scalar()} > 1: {self.in_place()}"

    def delete(self):
        return f"del {self.array()}" if len(self.arrays()) > 2 else self.make()

    # The program

    def add(self, line):
        """Append a line and run it on NumPy; of lines that raise few stay."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(line, self.space)
        except Exception:
            # What came before the error has happened: such a line stays.
            if ";" not in line and not line.startswith("for ") and self.chance(0.9):
                return
        sizes = [self.space[name].size for name in self.arrays()]
        self.lines.append(line)
        if sizes and max(sizes) > self.limit * 4:
            big = next(name for name in self.arrays() if self.space[name].size > self.limit * 4)
            self.add(f"del {big}")

    def tame(self):
        """Keep numbers ordinary: values that blew up are replaced."""
        for name in self.arrays():
            a = self.space[name]
            if a.dtype.kind in "fc" and a.flags.writeable and self.chance(0.8):
                with np.errstate(all="ignore"):
                    wild = not (np.isfinite(a).all() and abs(a).max(initial=0) < 1e6)
                if wild:
                    seed = self.draw.randint(0, 99)
                    self.add(f"{name}[...] = data({seed}, {a.shape}, '{a.dtype.char}')")

    def write(self):
        """The lines of the program."""
        writers = (
            [self.assign] * 5 + [self.in_place] * 3 + [self.store] * 3 + [self.store_in_place] * 2
            + [self.overlap] * 4 + [self.bind_view] * 3 + [self.reduce] * 2 + [self.out_call] * 2
            + [self.touch] * 2 + [self.library] * 3 + [self.delete, self.loop, self.make, self.branch]
            + [self.masked] * 2
        )  # fmt: skip
        for _ in range(self.draw.randint(2, 4)):
            self.add(self.make())
        while len(self.lines) < self.length:
            if not self.arrays():
                self.add(self.make())
            self.add(self.draw.choice(writers)())
            self.tame()
            if self.chance(0.12):
                self.lines.append("check()")
        return [*self.lines, "check()"]
