//! Kernels that find the place of the smallest or largest value.

use crate::access::{register, store};
use crate::entry::{Entry, Form};
use crate::fold::{Names, nothing};
use crate::map::head;
use std::fmt::Write as _;

/// The text of the kernel: whole, for a part of the points, or over the parts.
pub(crate) fn text(entry: &Entry) -> Result<String, String> {
    let names = Names::of(entry);
    let (max, parts) = match entry.form {
        Form::PlaceChunk { max } => (max, true),
        Form::PlaceCombine { max } => return Ok(combine(entry, &names, max)),
        Form::Place { max } => (max, false),
        _ => (false, false),
    };
    let (dims, kept) = (usize::from(entry.dims), usize::from(entry.kept));
    let mut text = names.value(entry)?;
    text.push_str(&head(entry));
    text.push_str("    EACH_X(item, (ix)items) {\n        ix rest = item;\n");
    if parts {
        text.push_str(
            "        i64 at = (i64)(rest % (ix)parts) * part;\n        rest /= (ix)parts;\n",
        );
        text.push_str("        const i64 end = total - at < part ? total : at + part;\n");
    } else {
        text.push_str("        i64 at = 0;\n        const i64 end = total;\n");
    }
    text.push_str(&Names::split(0..kept, "        ", true));
    text.push_str("        rest = (ix)at;\n");
    text.push_str(&Names::split(kept..dims, "        ", false));
    let _ = writeln!(
        text,
        "        {0} best = {1};\n        i64 place = at;\n        for (at++; at < end; at++) {{\n            {2}\n            \
         const {0} x = {1};\n            if ({3}) {{\n                best = x;\n                place = at;\n            }}\n        }}",
        names.kind,
        names.here(),
        Names::next(kept..dims),
        wins(&names.kind, max)
    );
    if parts {
        text.push_str(
            "        scratch0[item] = best;\n        scratch1[item] = place;\n    }\n}\n",
        );
    } else {
        let put = store(&entry.outs[0].1, "o0", &index(dims), "place");
        let _ = writeln!(text, "        {put}\n    }}\n}}");
    }
    Ok(text)
}

fn index(dims: usize) -> Vec<String> {
    (0..dims).map(|d| format!("d{d}")).collect()
}

/// Whether `x` wins over what was `best` before it.
fn wins(kind: &str, max: bool) -> String {
    let (low, high) = if max { ("best", "x") } else { ("x", "best") };
    format!("!isnan_{kind}(best) && (isnan_{kind}(x) || lt_{kind}({low}, {high}))")
}

fn combine(entry: &Entry, names: &Names, max: bool) -> String {
    let kept = usize::from(entry.kept);
    let kind = register(entry.folded());
    let mut text = head(entry);
    text.push_str("    EACH_X(item, (ix)items) {\n        ix rest = item;\n");
    text.push_str(&Names::split(0..kept, "        ", true));
    let put = store(
        &entry.outs[0].1,
        "o0",
        &index(usize::from(entry.dims)),
        "place",
    );
    let _ = writeln!(
        text,
        "        const i64 from = (i64)item * parts;
        {kind} best = {};
        i64 place = 0;
        for (i64 i = 0; i < parts; i++) {{
            const {kind} x = scratch0[from + i];
            if (i == 0 || ({})) {{
                best = x;
                place = scratch1[from + i];
            }}
        }}
        {put}
    }}
}}",
        nothing(entry.folded()),
        wins(&names.kind, max)
    );
    text
}
