//! Kernels that fold: in the order of the launch, in parts, and running.

use crate::access::{register, store};
use crate::conditions;
use crate::entry::{Entry, Form, Param, Source};
use crate::map::head;
use crate::tree::{is_tree, leaf, tree_of, tree_part};
use crate::value::{parameter, statements};
use arrayloom_ir::ReduceOp;
use arrayloom_types::DType;
use std::fmt::Write as _;

/// The words of an entry that its kernels share.
pub(crate) struct Names {
    pub(crate) name: String,
    /// The type of the folded value.
    pub(crate) kind: String,
    /// Declarations of what the value depends on besides the point, and their names.
    pub(crate) declared: String,
    pub(crate) used: String,
    pub(crate) dims: usize,
    pub(crate) kept: usize,
    pub(crate) stream: usize,
}

impl Names {
    pub(crate) fn of(entry: &Entry) -> Names {
        let (mut declared, mut used) = (Vec::new(), Vec::new());
        for param in entry.params() {
            let names = match param {
                Param::In(i) => vec![format!("pi{i}")],
                Param::InStride(i, d) => vec![format!("si{i}_{d}")],
                Param::Out(i) if i > 0 => vec![format!("po{i}")],
                Param::OutStride(i, d) if i > 0 => vec![format!("so{i}_{d}")],
                Param::Extent(d) => vec![format!("n{d}")],
                Param::Value(i) => match &entry.ins[i] {
                    Source::Value(d) if d.is_complex() => {
                        vec![format!("x{i}_re"), format!("x{i}_im")]
                    }
                    _ => vec![format!("x{i}")],
                },
                _ => continue,
            };
            declared.push(entry.declared(param));
            used.extend(names);
        }
        Names {
            name: entry.name(),
            kind: register(entry.folded()),
            declared: declared.join(", "),
            used: used.join(", "),
            dims: usize::from(entry.dims),
            kept: usize::from(entry.kept),
            stream: usize::from(entry.stream),
        }
    }

    pub(crate) fn index(&self) -> Vec<String> {
        (0..self.dims).map(|d| format!("d{d}")).collect()
    }

    /// A list of parameters or arguments with the dimensions in `dims` at its end.
    pub(crate) fn with(start: &str, word: &str, dims: std::ops::Range<usize>) -> String {
        let mut parts: Vec<String> = if start.is_empty() {
            Vec::new()
        } else {
            vec![start.to_owned()]
        };
        parts.extend(dims.map(|d| format!("{word}d{d}")));
        parts.join(", ")
    }

    /// The value at the point whose last index is `last`.
    pub(crate) fn at(&self, last: &str) -> String {
        let mut list = Names::with(&self.used, "", 0..self.dims.saturating_sub(1));
        if self.dims > 0 {
            let comma = if list.is_empty() { "" } else { ", " };
            list = format!("{list}{comma}{last}");
        }
        format!("{}_at({list})", self.name)
    }

    /// The value at the point `d0`, `d1` and so on.
    pub(crate) fn here(&self) -> String {
        self.at(&format!("d{}", self.dims.saturating_sub(1)))
    }

    /// The function that computes the value at a point, and stores what else is wanted of it.
    pub(crate) fn value(&self, entry: &Entry) -> Result<String, String> {
        let list = Names::with(&self.declared, "const ix ", 0..self.dims);
        let list = if list.is_empty() {
            "void".to_owned()
        } else {
            list
        };
        let mut body = statements(entry, &self.index(), "    ")?;
        for (i, (value, view)) in entry.outs.iter().enumerate().skip(1) {
            let put = store(view, &format!("o{i}"), &self.index(), &format!("v{value}"));
            let _ = writeln!(body, "    {put}");
        }
        let value = entry.outs[0].0;
        Ok(format!(
            "DEV {} {}_at({list}) {{\n{body}    return v{value};\n}}\n",
            self.kind, self.name
        ))
    }

    /// Indices of `dims`, the last one fastest, from the number `rest`.
    pub(crate) fn split(dims: std::ops::Range<usize>, indent: &str, constant: bool) -> String {
        let word = if constant { "const ix" } else { "ix" };
        let mut text = String::new();
        for dim in dims.clone().rev() {
            let _ = if dim == dims.start {
                writeln!(text, "{indent}{word} d{dim} = rest;")
            } else {
                writeln!(
                    text,
                    "{indent}{word} d{dim} = rest % n{dim};\n{indent}rest /= n{dim};"
                )
            };
        }
        text
    }

    /// Steps to the next point of `dims`.
    pub(crate) fn next(dims: std::ops::Range<usize>) -> String {
        let mut text = String::new();
        for dim in dims.clone().rev() {
            if dim == dims.start {
                let _ = write!(text, "d{dim}++;");
            } else {
                let _ = write!(text, "if (++d{dim} == n{dim}) {{ d{dim} = 0; ");
            }
        }
        text.push_str(&" }".repeat(dims.len().saturating_sub(1)));
        text
    }
}

/// A step of a fold, one value after another.
pub(crate) fn step(op: ReduceOp, kind: &str, a: &str, b: &str) -> String {
    format!("{}_{kind}({a}, {b})", op.prim().name().to_ascii_lowercase())
}

/// The text of a kernel that folds.
pub(crate) fn text(entry: &Entry) -> Result<String, String> {
    let names = Names::of(entry);
    let mut text = names.value(entry)?;
    let op = match entry.form {
        Form::Fold { op, .. } | Form::Chunk { op } | Form::Scan { op } => op,
        _ => ReduceOp::Add,
    };
    let tree = is_tree(op, entry.folded()) && names.stream > 0;
    if tree && !matches!(entry.form, Form::Scan { .. }) {
        text.push_str(&leaf(entry, &names));
        text.push_str(&tree_of(entry, &names));
    }
    text.push_str(&head(entry));
    text.push_str("    EACH_X(item, (ix)items) {\n        ix rest = item;\n");
    match entry.form {
        Form::Fold { initial, .. } => fold(&mut text, entry, &names, op, initial),
        Form::Chunk { .. } => chunk(&mut text, &names, op),
        Form::Tree => tree_part(&mut text, entry, &names),
        _ => scan(&mut text, entry, &names, op),
    }
    text.push_str("    }\n}\n");
    Ok(text)
}

/// True for products in pieces, which round at their ends, or differ from those of single values.
fn in_pieces(op: ReduceOp, dtype: DType, stream: usize) -> bool {
    op == ReduceOp::Mul && stream > 0 && (dtype == DType::F16 || dtype.is_complex())
}

/// One result: loops over all folded dimensions.
fn fold(text: &mut String, entry: &Entry, names: &Names, op: ReduceOp, initial: bool) {
    let (dtype, kind) = (entry.folded(), &names.kind);
    let tree = is_tree(op, dtype) && names.stream > 0;
    let pieces = in_pieces(op, dtype, names.stream);
    text.push_str(&Names::split(0..names.kept, "        ", true));
    let start = if initial {
        parameter(dtype, "initial")
    } else {
        nothing(dtype)
    };
    let _ = writeln!(text, "        {kind} sum = {start};");
    if !initial {
        text.push_str("        b8 has = 0;\n");
    }
    let first = names.dims - names.stream;
    if tree || pieces {
        let run: Vec<String> = (first..names.dims).map(|d| format!("(i64)n{d}")).collect();
        let _ = writeln!(text, "        const i64 run = {};", run.join(" * "));
    }
    let each = |dim: usize| format!("        for (ix d{dim} = 0; d{dim} < n{dim}; d{dim}++)");
    for dim in names.kept..first {
        let open = if pieces && dim + 1 == first { " {" } else { "" };
        let _ = writeln!(text, "{}{open}", each(dim));
    }
    if pieces {
        text.push_str("        i64 at = 0, left = 0;\n");
    }
    if !tree {
        let run = (first..names.dims).map(|dim| each(dim) + "\n");
        text.push_str(&run.collect::<String>());
    }
    text.push_str(&taken(names, dtype, op, initial));
    if pieces && first > names.kept {
        text.push_str("        }\n");
    }
    let put = store(&entry.outs[0].1, "o0", &names.index(), "sum");
    let has = if initial { "" } else { "if (has) " };
    let _ = writeln!(text, "        {has}{put}");
    text.push_str(&conditions::result(entry, "        "));
}

/// The statement that takes a value in, or a whole run as trees.
fn taken(names: &Names, dtype: DType, op: ReduceOp, initial: bool) -> String {
    let kind = &names.kind;
    let next = step(op, kind, "sum", "x");
    if is_tree(op, dtype) && names.stream > 0 {
        let used = Names::with(&names.used, "", 0..names.dims - names.stream);
        let comma = if used.is_empty() { "" } else { ", " };
        let piece = "run - at < piece ? run - at : piece";
        let call = format!("{}_tree({used}{comma}at, {piece})", names.name);
        let sum = step(op, kind, "sum", &call);
        return format!("        for (i64 at = 0; at < run; at += piece) sum = {sum};\n");
    }
    let x = format!(
        "        {{\n            const {kind} x = {};\n",
        names.here()
    );
    let statements = if in_pieces(op, dtype, names.stream) {
        let count = "const i64 count = run - at < piece ? run - at : piece";
        let (product, end) = if dtype == DType::F16 {
            ("sum * x".to_owned(), "sum = rounded_f16(sum); ")
        } else {
            (format!("count == 1 ? {next} : product_{kind}(sum, x)"), "")
        };
        format!(
            "            {count};\n            sum = {product};\n            \
             if (++left == count) {{ {end}at += left; left = 0; }}\n"
        )
    } else if initial {
        format!("            sum = {next};\n")
    } else {
        format!("            sum = has ? {next} : x;\n            has = 1;\n")
    };
    format!("{x}{statements}        }}\n")
}

/// A value before the first.
pub(crate) fn nothing(dtype: DType) -> String {
    let kind = register(dtype);
    if dtype.is_complex() {
        format!("{kind}_of(0, 0)")
    } else {
        format!("({kind})0")
    }
}

/// A part of the points of one result, in any order that is the same every time.
fn chunk(text: &mut String, names: &Names, op: ReduceOp) {
    let kind = &names.kind;
    text.push_str("        i64 at = (i64)(rest % (ix)parts) * part;\n        rest /= (ix)parts;\n");
    text.push_str("        const i64 end = total - at < part ? total : at + part;\n");
    text.push_str(&Names::split(0..names.kept, "        ", true));
    text.push_str("        rest = (ix)at;\n");
    text.push_str(&Names::split(names.kept..names.dims, "        ", false));
    let _ = writeln!(text, "        {kind} sum = {};", names.here());
    let _ = writeln!(
        text,
        "        for (at++; at < end; at++) {{\n            {}",
        Names::next(names.kept..names.dims)
    );
    let _ = writeln!(
        text,
        "            sum = {};\n        }}",
        step(op, kind, "sum", &names.here())
    );
    text.push_str("        scratch0[item] = sum;\n");
}

/// A line of running folds.
fn scan(text: &mut String, entry: &Entry, names: &Names, op: ReduceOp) {
    let (kind, last) = (&names.kind, names.dims - 1);
    text.push_str(&Names::split(0..last, "        ", true));
    let next = if op == ReduceOp::Mul && entry.folded().is_complex() {
        format!("product_{kind}(sum, x)")
    } else {
        step(op, kind, "sum", "x")
    };
    let put = store(&entry.outs[0].1, "o0", &names.index(), "sum");
    let _ = writeln!(
        text,
        "        {kind} sum = {};
        for (ix d{last} = 0; d{last} < n{last}; d{last}++) {{
            const {kind} x = {};
            sum = d{last} == 0 ? x : {next};
            {put}
        }}",
        nothing(entry.folded()),
        names.here()
    );
    text.push_str(&conditions::result(entry, "        "));
}
