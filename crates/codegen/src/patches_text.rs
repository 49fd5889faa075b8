//! The text of means over shifts, weighted by how alike patches are.
//!
//! `pi4` has how far shifts reach along each axis, then how far patches do, `pi5` what sums of squares are multiplied
//! with. Squares are summed along the first axis first, so the loop over it is the innermost one; shifts come in C
//! order. Conditions stand for jumps out of loops, for which compilers of GPUs would keep registers.

use crate::window_text::{ONCE, Words};
use std::fmt::Write as _;

/// Where the whole window exists: `from` is its first corner.
pub(crate) fn whole(words: &Words) -> String {
    let (axes, kind) = (usize::from(words.window.axes), &words.kind);
    let mut text = steps(axes);
    text.push_str("            ix own = 0;\n            i32 count = 1;\n");
    for d in 0..axes {
        let _ = writeln!(
            text,
            "            own += (pi4[{d}] + pi4[{reach}]) * y{d};\n            count *= 2 * pi4[{reach}] + 1;",
            reach = axes + d
        );
    }
    let _ = writeln!(
        text,
        "            const {kind} scale = {};\n            {kind} sum = 0, all = 0;",
        scale(kind, "count - 1")
    );
    for d in 0..axes {
        let _ = writeln!(text, "{ONCE}            {}", shifts(d));
    }
    let place = |name: &str| place(axes, |d| format!("{name}{d}"));
    let _ = writeln!(text, "                const ix jump = {};", place("h"));
    text.push_str(&squares(
        (axes, kind),
        |_| String::new(),
        &format!(
            "                const ix at = own + {};\n                const {kind} far = {} - {};\n",
            place("k"),
            words.load("at"),
            words.load("at + jump")
        ),
    ));
    let _ = writeln!(
        text,
        "                const {kind} near = fading_{kind}(t{} * scale);\n                \
         sum = fma_{kind}(near, {}, sum);\n                all = all + near;",
        axes - 1,
        words.load("own + jump")
    );
    text.push_str(&end(axes, &words.load("own")));
    text
}

/// Where tables say what stands for a place, or that there is nothing.
pub(crate) fn parts(words: &Words) -> String {
    let (axes, kind) = (usize::from(words.window.axes), &words.kind);
    let row = |d: usize, more: &str| format!("pi3[e{d}{more}]");
    let each = |name: &str| -> Vec<String> { (0..axes).map(|d| format!("{name}{d}")).collect() };
    let value = |name: &str| {
        let place = place(axes, |d| format!("{name}{d}"));
        let there = words.load(&format!("({place})"));
        format!("{} < 0 ? pi6[0] : {there}", each(name).join(" < 0 || "))
    };
    let mut text = steps(axes);
    for d in 0..axes {
        let (reach, at) = (axes + d, 4 * d + 3);
        let _ = writeln!(
            text,
            "            const i32 e{d} = (i32)pi1[{at}] + (i32)c{d} + pi4[{d}] + pi4[{reach}];"
        );
    }
    let _ = writeln!(text, "            {kind} sum = 0, all = 0;");
    for d in 0..axes {
        let _ = writeln!(
            text,
            "{ONCE}            {}\n                const i32 g{d} = {};",
            shifts(d),
            row(d, &format!(" + h{d}")),
        );
    }
    let _ = writeln!(
        text,
        "                const b8 is{axes} = (b8)({} > -2);\n                i32 count = 0;",
        each("g").join(" > -2 & ")
    );
    let rows = |d: usize| {
        format!(
            "                    const i32 a{d} = {}, b{d} = {};\n                    \
             const b8 is{d} = (b8)(is{} & (a{d} > -2) & (b{d} > -2));\n",
            row(d, &format!(" + k{d}")),
            row(d, &format!(" + k{d} + h{d}")),
            d + 1
        )
    };
    let far = format!(
        "                const {kind} far = is0 ? ({}) - ({}) : ({kind})0;\n                count += is0;\n",
        value("a"),
        value("b")
    );
    text.push_str(&squares((axes, kind), rows, &far));
    let _ = writeln!(
        text,
        "                const {kind} near = is{axes} ? fading_{kind}(t{} * {}) : ({kind})0;\n                \
         sum = fma_{kind}(near, {}, sum);\n                all = all + near;",
        axes - 1,
        scale(kind, &format!("count - is{axes}")),
        value("g")
    );
    let center = words.load(&format!("({})", place(axes, |d| row(d, ""))));
    text.push_str(&end(axes, &center));
    text
}

/// A place, given its row along each axis.
fn place(axes: usize, row: impl Fn(usize) -> String) -> String {
    let along = |d: usize| format!("{} * y{d}", row(d));
    let along: Vec<String> = (0..axes).map(along).collect();
    along.join(" + ")
}

/// Elements between neighbours along each axis.
fn steps(axes: usize) -> String {
    let step = |d: usize| format!("            const ix y{d} = (ix)pi1[{}];\n", 4 * d + 1);
    (0..axes).map(step).collect()
}

/// The ends of the loops over shifts, and the mean, which is the voxel itself where nothing is like it.
fn end(axes: usize, center: &str) -> String {
    format!(
        "{}            if (all == 0) result = {center};\n            else result = sum / all;\n",
        "            }\n".repeat(axes)
    )
}

/// What a sum of squares is multiplied with, `before` being one less than its points.
fn scale(kind: &str, before: &str) -> String {
    format!("({kind})f64_of((u64)pi5[{before}])")
}

/// The loop over shifts along an axis.
fn shifts(d: usize) -> String {
    format!("for (i32 h{d} = -pi4[{d}]; h{d} <= pi4[{d}]; h{d}++) {{")
}

/// The sum of the squares of `far` over a patch, one axis after the other: `rows` stands in the loop over an axis.
fn squares((axes, kind): (usize, &str), rows: impl Fn(usize) -> String, far: &str) -> String {
    let mut text = String::new();
    for d in (0..axes).rev() {
        let _ = writeln!(
            text,
            "                {kind} t{d} = 0;\n\
             {ONCE}                for (i32 k{d} = -pi4[{reach}]; k{d} <= pi4[{reach}]; k{d}++) {{",
            reach = axes + d
        );
        text.push_str(&rows(d));
    }
    let _ = writeln!(
        text,
        "{far}                t0 = t0 + far * far;\n                }}"
    );
    for d in 1..axes {
        let _ = writeln!(
            text,
            "                t{d} = t{d} + t{};\n                }}",
            d - 1
        );
    }
    text
}
