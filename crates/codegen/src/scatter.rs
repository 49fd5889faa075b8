//! Results at places by number. A first kernel writes down where every point goes. Points then go to bins by a
//! hash of their place, as in a stable counting sort: each part of the points is counted, the counts are
//! added, and the numbers of the points are written bin by bin. The last kernel has an item for each bin, which
//! takes its points in C order: points that share an element come one after another, and no element has two
//! items. Every kernel reads each point once.

use crate::access::{address, register};
use crate::dims::{merged, points};
use crate::draft::{Lowering, Operand};
use crate::entry::{Entry, Form, Pass};
use crate::fold::Names;
use crate::lower::{Memory, groups};
use crate::map::head;
use arrayloom_ir::{Output, ScatterMode};
use arrayloom_types::{DType, contiguous_strides};
use std::fmt::Write as _;

/// The most bins.
const BINS: usize = 8192;
/// Fewer points than this do not pay for another bin.
const POINTS: usize = 64;
/// The most counts, of all parts and bins.
const COUNTS: usize = 1 << 20;

impl Lowering<'_> {
    /// The kernels of an output that goes by number.
    pub(super) fn scatter(
        &mut self,
        number: usize,
        mode: ScatterMode,
        at: u32,
    ) -> Result<(), String> {
        let total: usize = self.launch.shape.iter().product();
        if total == 0 {
            return Ok(());
        }
        self.scratch(&[total * 8, 0, 0]);
        let axes: Vec<usize> = (0..self.launch.shape.len()).collect();
        // The number of the place is an output of no launch: it goes to scratch.
        let place = Output {
            value: at,
            form: arrayloom_ir::Form::Store,
        };
        let mut draft = self.draft_of(&[(number, place)], Form::Map);
        let last = draft.operands.len() - 1;
        draft.operands[last] = Operand {
            memory: Memory::Scratch(0),
            dtype: DType::I64,
        };
        let mut dims = self.dims(&draft, &axes);
        let steps = contiguous_strides(self.launch.shape, 8);
        for (dim, step) in dims.iter_mut().zip(steps) {
            dim.strides[last] = step;
        }
        draft.dims = merged(dims);
        self.every_point(draft)?;
        let bins = self.target.lanes.min(BINS).min(total / POINTS).max(1);
        let parts = self.target.lanes.min(COUNTS / bins).min(total / POINTS);
        let part = total.div_ceil(parts.max(1));
        let parts = total.div_ceil(part);
        let passes = if bins == 1 {
            [(Pass::Whole, 1)].as_slice()
        } else {
            self.scratch(&[total * 8, total * 8, (parts + 1) * bins * 8]);
            let (count, sum) = ((Pass::Count, parts), (Pass::Sum, bins));
            &[count, sum, (Pass::Sort, parts), (Pass::Bins, bins)]
        };
        for &(pass, items) in passes {
            let mut draft = self.draft(&[number], Form::Scatter { mode, pass });
            draft.dims = merged(self.dims(&draft, &axes));
            debug_assert_eq!(points(&draft.dims), total, "every point has a place");
            let numbers = [
                ("items", items),
                ("total", total),
                ("part", part),
                ("parts", parts),
                ("bins", bins),
            ];
            self.push(&draft, [groups(items), 1, 1], &numbers, None)?;
        }
        Ok(())
    }
}

/// A place that stands for none.
const NOWHERE: &str = "(i64)((u64)1 << 63)";

/// The text of the kernels after the first.
pub(crate) fn text(entry: &Entry, mode: ScatterMode, pass: Pass) -> Result<String, String> {
    let names = Names::of(entry);
    let takes = matches!(pass, Pass::Whole | Pass::Bins);
    let mut text = if takes {
        names.value(entry)?
    } else {
        String::new()
    };
    text.push_str(&head(entry));
    text.push_str("    EACH_X(item, (ix)items) {\n");
    let (kind, view) = (register(entry.folded()), &entry.outs[0].1);
    debug_assert!(!view.aligned, "elements are reached by bytes");
    let place = format!("GLB u8 *to = {} + by;", address(view, "o0", &names.index()));
    let there = format!("load_bytes_{kind}(to)");
    let value = match mode.prim() {
        None => names.here(),
        Some(prim) => {
            let name = prim.name().to_ascii_lowercase();
            format!("{name}_{kind}({there}, {})", names.here())
        }
    };
    let take = format!("store_bytes_{kind}(to, {value});");
    match pass {
        Pass::Whole => walk(&mut text, &names, ("0", "total"), &[&place, &take]),
        Pass::Count => {
            text.push_str(
                "        GLB i64 *own = scratch2 + (i64)item * bins;
        for (i64 bin = 0; bin < bins; bin++) own[bin] = 0;\n",
            );
            walk(&mut text, &names, OF_PART, &[&place, BIN, "own[bin]++;"]);
        }
        Pass::Sum => text.push_str(
            "        i64 sum = 0;
        for (i64 at = item; at < parts * bins; at += bins) {
            const i64 count = scratch2[at];
            scratch2[at] = sum;
            sum += count;
        }
        scratch2[parts * bins + item] = sum;\n",
        ),
        Pass::Sort => {
            text.push_str(
                "        GLB i64 *own = scratch2 + (i64)item * bins;
        i64 before = 0;
        for (i64 bin = 0; bin < bins; bin++) {
            own[bin] += before;
            before += scratch2[parts * bins + bin];
        }\n",
            );
            let put = "scratch1[own[bin]++] = at;";
            walk(&mut text, &names, OF_PART, &[&place, BIN, put]);
        }
        Pass::Bins => bins(&mut text, &names, &[&place, &take]),
    }
    text.push_str("    }\n}\n");
    Ok(text)
}

/// First and last point of the part that is an item.
const OF_PART: (&str, &str) = (
    "(i64)item * part",
    "((i64)item + 1) * part < total ? ((i64)item + 1) * part : total",
);

/// The bin of a place.
const BIN: &str = "const u64 spread = (u64)(to - po0) * (u64)0x9E3779B97F4A7C15;
                const u32 bin = mulhi_u32((u32)(spread >> 32), (u32)bins);";

/// A loop over points in C order, with these statements for those that go somewhere.
fn walk(text: &mut String, names: &Names, (start, end): (&str, &str), statements: &[&str]) {
    let _ = writeln!(
        text,
        "        const i64 start = {start}, end = {end};\n        ix rest = (ix)start;"
    );
    text.push_str(&Names::split(0..names.dims, "        ", false));
    let _ = writeln!(
        text,
        "        for (i64 at = start; at < end; at++) {{
            const i64 by = scratch0[at];
            if (by != {NOWHERE}) {{
                {}
            }}
            {}
        }}",
        statements.join("\n                "),
        Names::next(0..names.dims)
    );
}

/// A loop over the points of a bin. After sorting, the counts of the last part are where bins end.
fn bins(text: &mut String, names: &Names, statements: &[&str]) {
    let _ = writeln!(
        text,
        "        const GLB i64 *ends = scratch2 + (parts - 1) * bins + item;
        for (i64 i = item == 0 ? 0 : ends[-1]; i < ends[0]; i++) {{
            const i64 at = scratch1[i], by = scratch0[at];
            ix rest = (ix)at;"
    );
    text.push_str(&Names::split(0..names.dims, "            ", true));
    let _ = writeln!(
        text,
        "            {}\n        }}",
        statements.join("\n            ")
    );
}
