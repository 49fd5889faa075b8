//! Kernels that write every value to its place.

use crate::access::store;
use crate::conditions::{declared, ended, looked, told};
use crate::entry::{Entry, GROUP, Param};
use crate::value::statements;
use std::fmt::Write as _;

/// Points of an item that has a loop over many.
pub(crate) const PART: usize = 256;

/// The text of the kernel: the innermost dimension on the grid's first axis, the next two on the others,
/// and what is left divided by multiplication.
pub(crate) fn text(entry: &Entry) -> Result<String, String> {
    let dims = usize::from(entry.dims);
    let mut text = head(entry);
    text.push_str(ended(entry));
    text.push_str(&declared(entry));
    let index: Vec<String> = (0..dims).map(|d| format!("d{d}")).collect();
    let (indent, last) = ("        ", dims.saturating_sub(1));
    match dims {
        0 | 1 => {}
        2 => text.push_str("    EACH_Y(d0, n0)"),
        3 => text.push_str("    EACH_Z(d0, n0) EACH_Y(d1, n1)"),
        _ => {
            text.push_str("    EACH_Z(row, (ix)rows) {\n    u32 rest = (u32)row;\n");
            for dim in (1..dims - 2).rev() {
                let _ = writeln!(
                    text,
                    "    const u32 q{dim} = (u32)(((u64)mulhi_u32(rest, magic{dim}) + rest) >> shift{dim});\n    \
                     const ix d{dim} = (ix)(rest - q{dim} * (u32)n{dim});\n    rest = q{dim};"
                );
            }
            let _ = write!(
                text,
                "    const ix d0 = (ix)rest;\n    EACH_Y(d{0}, n{0})",
                dims - 2
            );
        }
    }
    let space = if dims > 1 { " " } else { "    " };
    if entry.leaves {
        let _ = writeln!(
            text,
            "{space}EACH_X(part, n{last} / {PART} + 1) {{\n{indent}const ix start = part * {PART};\n{indent}\
             const ix end = n{last} - start < {PART} ? n{last} : start + {PART};\n{indent}\
             for (ix d{last} = start; d{last} < end; d{last}++) {{"
        );
    } else {
        let _ = writeln!(text, "{space}EACH_X(d{last}, n{last}) {{");
    }
    text.push_str(&statements(entry, &index, indent)?);
    for (i, (value, view)) in entry.outs.iter().enumerate() {
        let put = store(view, &format!("o{i}"), &index, &format!("v{value}"));
        let _ = writeln!(text, "{indent}{put}");
    }
    text.push_str(&looked(entry, indent));
    text.push_str(if entry.leaves {
        "        }\n    }\n"
    } else {
        "    }\n"
    });
    text.push_str(if dims > 3 { "    }\n" } else { "" });
    text.push_str(&told(entry));
    text.push_str("}\n");
    Ok(text)
}

/// Name, parameters and the first elements of all views.
pub(crate) fn head(entry: &Entry) -> String {
    let params = entry.params();
    let list: Vec<String> = params.iter().map(|p| entry.declared(*p)).collect();
    let mut text = format!(
        "KERNEL({}, {GROUP})({}) {{\n",
        entry.name(),
        list.join(", ")
    );
    for param in params {
        let _ = match param {
            Param::InOffset(i) => writeln!(text, "    pi{i} += oi{i};"),
            Param::OutOffset(i) => writeln!(text, "    po{i} += oo{i};"),
            _ => Ok(()),
        };
    }
    text
}
