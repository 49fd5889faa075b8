//! Results at places by number. A first kernel writes down where every point goes. The second has an item for
//! each bin of elements, by a hash of their place: every item walks all points in C order and takes those of
//! its bin, so that points that share an element come one after another, and no element has two items.

use crate::access::{address, register};
use crate::dims::{merged, points};
use crate::draft::{Lowering, Operand};
use crate::entry::{Entry, Form};
use crate::fold::Names;
use crate::lower::{Memory, groups};
use crate::map::head;
use arrayloom_ir::{Output, ScatterMode};
use arrayloom_types::{DType, contiguous_strides};
use std::fmt::Write as _;

/// The most bins. More of them would read the same places without ever being busy at once.
const BINS: usize = 8192;
/// Fewer points than this do not pay for another bin.
const POINTS: usize = 64;

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
        self.scratch(&[total * 8]);
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
        let mut draft = self.draft(&[number], Form::Scatter { mode });
        draft.dims = merged(self.dims(&draft, &axes));
        debug_assert_eq!(points(&draft.dims), total, "every point has a place");
        let bins = self
            .target
            .lanes
            .min(BINS)
            .min(total.div_ceil(POINTS))
            .max(1);
        let numbers = [("items", bins), ("total", total)];
        self.push(&draft, [groups(bins), 1, 1], &numbers, None)
    }
}

/// The text of the second kernel.
pub(crate) fn text(entry: &Entry, mode: ScatterMode) -> Result<String, String> {
    let names = Names::of(entry);
    let mut text = names.value(entry)?;
    text.push_str(&head(entry));
    text.push_str("    EACH_X(item, (ix)items) {\n");
    for dim in 0..names.dims {
        let _ = writeln!(text, "        ix d{dim} = 0;");
    }
    let (kind, view) = (register(entry.folded()), &entry.outs[0].1);
    let there = format!("load_bytes_{kind}(to)");
    let value = match mode.prim() {
        None => names.here(),
        Some(prim) => {
            let name = prim.name().to_ascii_lowercase();
            format!("{name}_{kind}({there}, {})", names.here())
        }
    };
    let _ = writeln!(
        text,
        "        for (i64 at = 0; at < total; at++) {{
            const i64 by = scratch0[at];
            if (by != (i64)((u64)1 << 63)) {{
                GLB u8 *to = {} + by;
                const u64 spread = (u64)(to - po0) * (u64)0x9E3779B97F4A7C15;
                if (mulhi_u32((u32)(spread >> 32), (u32)items) == (u32)item) store_bytes_{kind}(to, {value});
            }}
            {}
        }}
    }}
}}",
        address(view, "o0", &names.index()),
        Names::next(0..names.dims)
    );
    debug_assert!(!view.aligned, "elements are reached by bytes");
    Ok(text)
}
