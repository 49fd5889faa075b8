//! The text of the kernels of a Fourier transform.

use crate::access::{load, store};
use crate::entry::{Entry, Source};
use crate::fold::Names;
use crate::fourier::{FourierPass, Spectrum};
use crate::map::head;
use std::fmt::Write as _;

/// The text of a kernel; `wide` for numbers of double precision.
pub(crate) fn text(entry: &Entry, pass: FourierPass, wide: bool) -> String {
    let kind = if wide { "c128" } else { "c64" };
    let mut text = head(entry);
    text.push_str("    EACH_X(item, (ix)items) {\n");
    match pass {
        FourierPass::Circle => {
            let _ = writeln!(
                text,
                "        store_{kind}(scratch2 + 2 * (i64)item, turn_{kind}((u64)item, (u64)count));"
            );
        }
        FourierPass::Chirp => {
            let _ = writeln!(
                text,
                "        const i64 at = item < length ? (i64)item : count - item;
        {kind} z = {kind}_of(0, 0);
        if (at < length) z = conj_{kind}({});
        store_{kind}(scratch0 + 2 * (i64)item, z);",
                chirp(kind)
            );
        }
        FourierPass::Read {
            from,
            inverse,
            turned,
        } => read(&mut text, entry, kind, (from, inverse, turned)),
        FourierPass::Join(factor) => join(&mut text, kind, factor),
        FourierPass::Multiply => {
            let _ = writeln!(
                text,
                "        GLB {0} *p = scratch0 + 2 * (i64)item;
        const {kind} other = load_{kind}(scratch3 + 2 * (i64)(item % (ix)count));
        store_{kind}(p, conj_{kind}(times_{kind}(load_{kind}(p), other)));",
                part(kind)
            );
        }
        FourierPass::Write {
            to,
            inverse,
            turned,
        } => write(&mut text, entry, kind, (to, inverse, turned)),
    }
    text.push_str("    }\n}\n");
    text
}

/// The type of the parts of a complex number.
pub(crate) fn part(kind: &str) -> &'static str {
    if kind == "c64" { "f32" } else { "f64" }
}

/// `exp(-pi i at^2 / length)`.
fn chirp(kind: &str) -> String {
    format!("turn_{kind}((u64)at * (u64)at % (u64)(2 * length), (u64)(2 * length))")
}

/// The indices of the line of an item; the place in the line is `place`.
fn line(text: &mut String, entry: &Entry, extent: &str, place: &str) {
    let dims = usize::from(entry.dims);
    let _ = writeln!(text, "        ix rest = item / (ix){extent};");
    text.push_str(&Names::split(0..dims - 1, "        ", true));
    let _ = writeln!(text, "        const ix d{} = (ix)({place});", dims - 1);
}

fn read(
    text: &mut String,
    entry: &Entry,
    kind: &str,
    (from, inverse, turned): (Spectrum, bool, bool),
) {
    let Some(Source::View(view)) = entry.ins.first() else {
        return;
    };
    text.push_str("        const i64 at = item % (ix)count;\n");
    let place = if from == Spectrum::Half {
        text.push_str("        const int second = at > length / 2;\n");
        "second ? length - at : at"
    } else {
        "at"
    };
    line(text, entry, "count", place);
    let last = usize::from(entry.dims) - 1;
    let element = load(view, "i0", &Names::of(entry).index());
    let _ = writeln!(
        text,
        "        {kind} z = {kind}_of(0, 0);
        if (at < length && d{last} < given) {{"
    );
    match from {
        Spectrum::Real => {
            let _ = writeln!(text, "            z.re = {element};");
        }
        Spectrum::Full => {
            let _ = writeln!(text, "            z = {element};");
        }
        Spectrum::Half => {
            let _ = writeln!(
                text,
                "            z = {element};
            if (second) z.im = -z.im;
            if (at == 0 || 2 * at == length) z.im = 0;"
            );
        }
    }
    if inverse {
        text.push_str("            z.im = -z.im;\n");
    }
    if turned {
        let _ = writeln!(text, "            z = times_{kind}(z, {});", chirp(kind));
    }
    let _ = writeln!(
        text,
        "        }}
        store_{kind}(scratch0 + 2 * (i64)item, z);"
    );
}

fn join(text: &mut String, kind: &str, factor: u8) {
    let _ = writeln!(
        text,
        "        const ix each = (ix)(count / {factor}), at = item % each;
        const i64 start = (i64)(item / each) * count;
        const ix k = at % (ix)done, step = k * (ix)(count / ((ix)done * {factor}));
        {kind} x0 = load_{kind}(scratch0 + 2 * (start + at));"
    );
    for q in 1..factor {
        let _ = writeln!(
            text,
            "        {kind} x{q} = times_{kind}(load_{kind}(scratch0 + 2 * (start + at + {q} * (i64)each)), \
             load_{kind}(scratch2 + 2 * (i64)({q} * step)));"
        );
    }
    let (plus, minus, quarter) = (
        format!("add_{kind}"),
        format!("sub_{kind}"),
        format!("quarter_{kind}"),
    );
    let _ = writeln!(
        text,
        "        GLB {} *to = scratch1 + 2 * (start + (i64)(at - k) * {factor} + k);",
        part(kind)
    );
    let mut put = |p: u8, value: String| {
        let _ = writeln!(text, "        store_{kind}(to + 2 * {p} * done, {value});");
    };
    match factor {
        2 => {
            put(0, format!("{plus}(x0, x1)"));
            put(1, format!("{minus}(x0, x1)"));
        }
        4 => {
            let even = [format!("{plus}(x0, x2)"), format!("{plus}(x1, x3)")];
            let odd = [format!("{minus}(x0, x2)"), format!("{minus}(x1, x3)")];
            let back = format!("{minus}(x3, x1)");
            put(0, format!("{plus}({}, {})", even[0], even[1]));
            put(1, format!("{quarter}({}, {})", odd[0], odd[1]));
            put(2, format!("{minus}({}, {})", even[0], even[1]));
            put(3, format!("{quarter}({}, {back})", odd[0]));
        }
        _ => {
            for p in 0..factor {
                let terms = (1..factor).fold("x0".to_owned(), |sum, q| {
                    let turn = u32::from(p) * u32::from(q) % u32::from(factor);
                    if turn == 0 {
                        return format!("{plus}({sum}, x{q})");
                    }
                    let point = format!("load_{kind}(scratch2 + 2 * (i64)({turn} * each))");
                    format!("{plus}({sum}, times_{kind}(x{q}, {point}))")
                });
                put(p, terms);
            }
        }
    }
}

fn write(
    text: &mut String,
    entry: &Entry,
    kind: &str,
    (to, inverse, turned): (Spectrum, bool, bool),
) {
    let view = &entry.outs[0].1;
    text.push_str(
        "        const i64 at = item % (ix)given, from = (i64)(item / (ix)given) * count + at;\n",
    );
    line(text, entry, "given", "at");
    let _ = writeln!(text, "        {kind} z = load_{kind}(scratch0 + 2 * from);");
    if turned {
        let _ = writeln!(
            text,
            "        z = times_{kind}(conj_{kind}(z), {});
        const {part} scale = ({part})(f64_of((u64)factor) / (f64)count);",
            chirp(kind),
            part = part(kind)
        );
    } else {
        let _ = writeln!(
            text,
            "        const {0} scale = ({0})f64_of((u64)factor);",
            part(kind)
        );
    }
    let sign = if inverse { "-" } else { "" };
    let value = if to == Spectrum::Real {
        "z.re * scale".to_owned()
    } else {
        format!("{kind}_of(z.re * scale, {sign}z.im * scale)")
    };
    let put = store(view, "o0", &Names::of(entry).index(), &value);
    let _ = writeln!(text, "        {put}");
}
