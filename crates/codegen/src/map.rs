//! Kernels that write every value to its place.

use crate::access::store;
use crate::entry::{Entry, GROUP, Param};
use crate::value::statements;
use std::fmt::Write as _;

/// The text of the kernel: the innermost dimension on the grid's first axis, the next two on the others,
/// and what is left divided by multiplication.
pub(crate) fn text(entry: &Entry) -> Result<String, String> {
    let dims = usize::from(entry.dims);
    let mut text = head(entry);
    let index: Vec<String> = (0..dims).map(|d| format!("d{d}")).collect();
    match dims {
        0 | 1 => text.push_str("    EACH_X(d0, n0) {\n"),
        2 => text.push_str("    EACH_Y(d0, n0) EACH_X(d1, n1) {\n"),
        3 => text.push_str("    EACH_Z(d0, n0) EACH_Y(d1, n1) EACH_X(d2, n2) {\n"),
        _ => {
            text.push_str("    EACH_Z(row, (ix)rows) {\n    u32 rest = (u32)row;\n");
            for dim in (1..dims - 2).rev() {
                let _ = writeln!(
                    text,
                    "    const u32 q{dim} = (u32)(((u64)mulhi_u32(rest, magic{dim}) + rest) >> shift{dim});\n    \
                     const ix d{dim} = (ix)(rest - q{dim} * (u32)n{dim});\n    rest = q{dim};"
                );
            }
            let _ = writeln!(
                text,
                "    const ix d0 = (ix)rest;\n    EACH_Y(d{}, n{}) EACH_X(d{}, n{}) {{",
                dims - 2,
                dims - 2,
                dims - 1,
                dims - 1
            );
        }
    }
    text.push_str(&statements(entry, &index, "        ")?);
    for (i, (value, view)) in entry.outs.iter().enumerate() {
        let put = store(view, &format!("o{i}"), &index, &format!("v{value}"));
        let _ = writeln!(text, "        {put}");
    }
    text.push_str(if dims > 3 {
        "    }\n    }\n}\n"
    } else {
        "    }\n}\n"
    });
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
