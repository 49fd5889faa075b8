//! NumPy's pairwise tree: sums of float and complex numbers, whole and in parts.

use crate::access::{register, store};
use crate::conditions;
use crate::entry::{Entry, Form};
use crate::fold::{Names, step};
use crate::map::head;
use crate::value::parameter;
use arrayloom_ir::ReduceOp;
use arrayloom_plan::{LANES, LEAF};
use arrayloom_types::DType;
use std::fmt::Write as _;

/// Values of a part of a tree: parts are halved until they have no more.
pub(crate) const TREE_PART: usize = 2048;

/// Width of a value in the real numbers that NumPy's tree counts.
fn width(dtype: DType) -> usize {
    if dtype.is_complex() { 2 } else { 1 }
}

/// True for sums that follow NumPy's tree.
pub(crate) fn is_tree(op: ReduceOp, dtype: DType) -> bool {
    op == ReduceOp::Add && (dtype.is_float() || dtype.is_complex())
}

/// A sum in a tree: `float16` is added in `float32`.
fn plus(kind: &str, a: &str, b: &str) -> String {
    let kind = if kind == "f16" { "f32" } else { kind };
    format!("add_{kind}({a}, {b})")
}

/// How many values go to the left half of `count`.
fn half(dtype: DType) -> String {
    if dtype.is_complex() {
        format!("(count - count % {LANES}) / 2")
    } else {
        format!("count / 2 - count / 2 % {LANES}")
    }
}

/// The sum of up to [`LEAF`] values of a run in eight (complex: four) accumulators.
pub(crate) fn leaf(entry: &Entry, names: &Names) -> String {
    let kind = &names.kind;
    let first = names.dims - names.stream;
    let list = Names::with(&names.declared, "const ix ", 0..first);
    let comma = if list.is_empty() { "" } else { ", " };
    let mut text = format!(
        "DEV {kind} {}_leaf({list}{comma}const i64 start, const i32 count) {{\n    ix rest = (ix)start;\n",
        names.name
    );
    text.push_str(&Names::split(first..names.dims, "    ", false));
    let last = names.dims - 1;
    if entry.leaves {
        text.push_str(&values_of_leaf(entry, names));
        added(&mut text, entry, names, &|i| format!("v[i + {i}]"));
    } else {
        if names.stream > 1 {
            text.push_str(&leaf_across_rows(entry, names));
        }
        added(&mut text, entry, names, &|i| {
            names.at(&format!("d{last} + (ix)(i + {i})"))
        });
    }
    text
}

/// All values of a leaf, row by row: a loop that compilers turn into vectors whatever the value is.
fn values_of_leaf(entry: &Entry, names: &Names) -> String {
    let (kind, last) = (&names.kind, names.dims - 1);
    let first = names.dims - names.stream;
    let value = names.at(&format!("d{last} + (ix)k"));
    let mut text = format!(
        "    {kind} v[{}];
    for (i32 done = 0; done < count;) {{
        const i32 left = count - done;
        const i32 row = n{last} - d{last} < left ? (i32)(n{last} - d{last}) : left;
        for (i32 k = 0; k < row; k++) v[done + k] = {value};
        done += row;\n",
        LEAF / width(entry.folded())
    );
    if names.stream > 1 {
        let next = Names::next(first..last);
        let _ = writeln!(text, "        d{last} += row;");
        let _ = writeln!(
            text,
            "        if (d{last} == n{last}) {{ d{last} = 0; {next} }}"
        );
    }
    text.push_str("    }\n");
    text
}

/// The sum of a leaf that ends in another row than it starts in.
fn leaf_across_rows(entry: &Entry, names: &Names) -> String {
    let dtype = entry.folded();
    let (kind, lanes) = (&names.kind, LANES / width(dtype));
    let (first, last) = (names.dims - names.stream, names.dims - 1);
    let zero = zero(dtype);
    let mut text = format!("    if (d{last} + count > n{last}) {{\n        {kind} r[{lanes}];\n");
    let _ = writeln!(
        text,
        "        {kind} sum = {zero};
        const i32 whole = count < {lanes} ? 0 : count - count % {lanes};
        for (i32 i = 0; i < count; i++) {{
            const {kind} x = {};
            {}",
        names.here(),
        Names::next(first..names.dims)
    );
    let sum = plus(kind, "sum", "x");
    let more = plus(kind, &format!("r[i % {lanes}]"), "x");
    let all = joined(kind, lanes, |i| format!("r[{i}]"));
    let _ = writeln!(
        text,
        "            if (i == whole && whole > 0) sum = {all};
            if (i >= whole) sum = {sum};
            else r[i % {lanes}] = i < {lanes} ? x : {more};
        }}
        return whole == count ? {all} : sum;
    }}"
    );
    text
}

/// Adds the values of a leaf, of which `value` is the one at `i` and some more, and ends its function.
fn added(text: &mut String, entry: &Entry, names: &Names, value: &dyn Fn(usize) -> String) {
    let dtype = entry.folded();
    let (kind, lanes) = (&names.kind, LANES / width(dtype));
    let _ = writeln!(text, "    {kind} sum = {};\n    i32 i = 0;", zero(dtype));
    let _ = writeln!(text, "    if (count >= {lanes}) {{");
    for i in 0..lanes {
        let _ = writeln!(text, "        {kind} r{i} = {};", value(i));
    }
    let _ = writeln!(
        text,
        "        for (i = {lanes}; i + {lanes} <= count; i += {lanes}) {{"
    );
    for i in 0..lanes {
        let sum = plus(kind, &format!("r{i}"), &value(i));
        let _ = writeln!(text, "            r{i} = {sum};");
    }
    let all = joined(kind, lanes, |i| format!("r{i}"));
    let _ = writeln!(text, "        }}\n        sum = {all};\n    }}");
    let rest = plus(kind, "sum", &value(0));
    let _ = writeln!(
        text,
        "    for (; i < count; i++) sum = {rest};\n    return sum;\n}}"
    );
}

/// The accumulators added in NumPy's order.
fn joined(kind: &str, lanes: usize, name: impl Fn(usize) -> String) -> String {
    let pair = |i: usize| plus(kind, &name(i), &name(i + 1));
    let four = |i: usize| plus(kind, &pair(i), &pair(i + 2));
    if lanes == 4 {
        four(0)
    } else {
        plus(kind, &four(0), &four(4))
    }
}

/// What a sum of nothing is in a tree: -0.
fn zero(dtype: DType) -> String {
    let kind = register(dtype);
    if dtype.is_complex() {
        format!(
            "{kind}_of(-0.0{0}, -0.0{0})",
            if dtype == DType::C64 { "f" } else { "" }
        )
    } else {
        format!("({kind})-0.0")
    }
}

/// The tree over any number of values: leaves from left to right, and a stack of left halves.
pub(crate) fn tree_of(entry: &Entry, names: &Names) -> String {
    let (dtype, kind, name) = (entry.folded(), &names.kind, &names.name);
    let leaf = LEAF / width(dtype);
    let first = names.dims - names.stream;
    let list = Names::with(&names.declared, "const ix ", 0..first);
    let used = Names::with(&names.used, "", 0..first);
    let comma = if list.is_empty() { "" } else { ", " };
    // Parts of trees are small; whole ones are not.
    let depth = if entry.form == Form::Tree { 12 } else { 48 };
    let half = half(dtype);
    let both = plus(kind, "left[depth - 1]", "sum");
    format!(
        "DEV {kind} {name}_tree({list}{comma}i64 start, i64 count) {{
    {kind} left[{depth}];
    i64 right[{depth}];
    i32 depth = 0;
    for (;;) {{
        while (count > {leaf}) {{
            const i64 less = {half};
            right[depth++] = count - less;
            count = less;
        }}
        {kind} sum = {name}_leaf({used}{comma}start, (i32)count);
        start += count;
        for (; depth > 0 && right[depth - 1] == 0; depth--) sum = {both};
        if (depth == 0) return sum;
        left[depth - 1] = sum;
        count = right[depth - 1];
        right[depth - 1] = 0;
    }}
}}
"
    )
}

/// How often a piece of `count` values is halved.
const DEPTH: &str = "i32 depth = 0;\n        while (count >> depth > TREE_PART) depth++;";

/// One part of the tree of one piece. Bit `k` of its number says which half the cut number `k` leaves.
pub(crate) fn tree_part(text: &mut String, entry: &Entry, names: &Names) {
    let first = names.dims - names.stream;
    text.push_str("        const ix number = rest % (ix)parts;\n        rest /= (ix)parts;\n");
    text.push_str(
        "        i64 start = (i64)(rest % (ix)pieces) * piece;\n        rest /= (ix)pieces;\n",
    );
    text.push_str(&Names::split(0..first, "        ", true));
    let depth = DEPTH.replace("TREE_PART", &TREE_PART.to_string());
    let used = Names::with(&names.used, "", 0..first);
    let comma = if used.is_empty() { "" } else { ", " };
    let _ = writeln!(
        text,
        "        i64 count = run - start < piece ? run - start : piece;
        {depth}
        if (number >> depth == 0) {{
            for (i32 k = 0; k < depth; k++) {{
                const i64 less = {};
                if (number >> k & 1) {{
                    start += less;
                    count -= less;
                }} else count = less;
            }}
            scratch0[item] = {}_tree({used}{comma}start, count);
        }}",
        half(entry.folded()),
        names.name
    );
}

/// Adds the parts of all pieces of a result. Halves of one cut lie half of the parts apart, so a level is
/// added in place.
pub(crate) fn combine(entry: &Entry) -> String {
    let names = Names::of(entry);
    let (dtype, kind) = (entry.folded(), &names.kind);
    let mut text = head(entry);
    let depth = DEPTH.replace("TREE_PART", &TREE_PART.to_string());
    let sum = plus(kind, "s[j]", "s[j + w]");
    let taken = step(ReduceOp::Add, kind, "sum", "s[0]");
    let _ = writeln!(
        text,
        "    const i64 item = GROUP_X;
    {kind} sum = {};
    for (i64 at = 0; at < outers * pieces; at++) {{
        GLB {kind} *s = scratch0 + (item * outers * pieces + at) * parts;
        const i64 start = at % pieces * piece;
        const i64 count = run - start < piece ? run - start : piece;
        {depth}
        for (u32 w = (u32)1 << depth >> 1; w > 0; w >>= 1) {{
            for (u32 j = LOCAL_ID; j < w; j += LOCAL_SIZE) s[j] = {sum};
            SYNC;
        }}
        if (LOCAL_ID == 0) sum = {taken};
    }}
    if (LOCAL_ID == 0) {{
        ix rest = (ix)item;",
        parameter(dtype, "initial")
    );
    text.push_str(&Names::split(0..names.kept, "        ", true));
    let put = store(&entry.outs[0].1, "o0", &names.index(), "sum");
    let _ = writeln!(text, "        {put}");
    text.push_str(&conditions::result(entry, "        "));
    text.push_str("    }\n}\n");
    text
}
