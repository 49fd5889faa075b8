//! The random stream of NumPy's `Philox`: four words for each value of a counter.
//!
//! Source: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), Philox4x64 with ten rounds.
//! NumPy adds one to the counter before it makes four words.

use crate::access::store;
use crate::draft::{Draft, Lowering, Operand};
use crate::entry::{Entry, Form};
use crate::lower::{Memory, Target, groups};
use crate::map::head;
use crate::operation::Made;
use arrayloom_device::{ExtCall, Launch};
use arrayloom_ir::{Builder, Form as IrForm, Kernel, Output};
use arrayloom_types::DType;
use std::fmt::Write as _;

/// The numbers that the kernel takes: items, words, the counter from its lowest word, the key.
pub(crate) const NUMBERS: [&str; 8] = ["items", "total", "c0", "c1", "c2", "c3", "key0", "key1"];

/// The operation `philox`: a vector of words (`uint64`), or of numbers from 0 to 1 (`float64`, `float32`). The
/// attributes are the four words of the counter before the first block, and the two of the key.
///
/// # Errors
/// The words for what it does not take.
pub(crate) fn philox(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let none = || "no random numbers for these arrays".to_owned();
    let ([], [to]) = (call.ins, call.outs) else {
        return Err(none());
    };
    let dtype = to.layout.dtype;
    let &[total] = &*to.layout.shape else {
        return Err(none());
    };
    if !matches!(dtype, DType::U64 | DType::F64 | DType::F32) || call.attrs.len() != 48 {
        return Err(none());
    }
    let mut made = Made {
        outs: vec![to.arg()],
        ..Made::default()
    };
    if total == 0 {
        return Ok(made);
    }
    let mut b = Builder::new();
    let value = b.constant(dtype, 0.0).0;
    let form = IrForm::Store;
    let kernel = Kernel {
        code: b.finish(),
        inputs: Vec::new(),
        outputs: vec![Output { value, form }],
        rank: 1,
    };
    let launch = Launch {
        shape: &[total],
        outs: &made.outs,
        ins: &[],
        reduces: &[],
        flags: None,
    };
    let mut work = Lowering::new(&kernel, &launch, target);
    let mut draft = Draft::empty(Form::Philox);
    let memory = Memory::Out(0);
    draft.operands = vec![Operand { memory, dtype }];
    draft.outs = vec![(0, 0)];
    draft.dims = work.dims(&draft, &[0]);
    draft.kept = 1;
    let items = total.div_ceil(values(dtype));
    let mut numbers = vec![("items", items), ("total", total)];
    let words = call.attrs.as_chunks::<8>().0.iter();
    let words = words.map(|word| usize::try_from(u64::from_le_bytes(*word)).unwrap_or(usize::MAX));
    numbers.extend(NUMBERS[2..].iter().copied().zip(words));
    work.push(&draft, [groups(items), 1, 1], &numbers, None)?;
    made.steps = work.steps;
    Ok(made)
}

/// Values of one block of four words: `float32` takes half a word.
fn values(dtype: DType) -> usize {
    if dtype == DType::F32 { 8 } else { 4 }
}

/// The text of the kernel. One item makes a block.
pub(crate) fn text(entry: &Entry) -> String {
    let mut text = head(entry);
    text.push_str(
        "    EACH_X(item, (ix)items) {
        u64 x0 = (u64)c0 + (u64)item + 1, x1 = (u64)c1, x2 = (u64)c2, x3 = (u64)c3;
        if (x0 <= (u64)item && ++x1 == 0 && ++x2 == 0) x3++;
        u64 k0 = (u64)key0, k1 = (u64)key1;
        for (u32 round = 0; round < 10; round++) {
            const u64 first = (u64)0xD2E7470EE14C6C93, second = (u64)0xCA5A826395121157;
            const u64 high0 = mulhi_u64(first, x0), high1 = mulhi_u64(second, x2);
            const u64 y1 = second * x2, y3 = first * x0;
            x0 = high1 ^ x1 ^ k0;
            x2 = high0 ^ x3 ^ k1;
            x1 = y1;
            x3 = y3;
            k0 += (u64)0x9E3779B97F4A7C15;
            k1 += (u64)0xBB67AE8584CAA73B;
        }\n",
    );
    let (_, view) = &entry.outs[0];
    let each = values(view.dtype);
    let _ = writeln!(text, "        const i64 start = (i64)item * {each};");
    for n in 0..each {
        let value = match view.dtype {
            DType::F64 => format!("(f64)(x{n} >> 11) * (1.0 / 9007199254740992.0)"),
            DType::F32 => {
                let half = if n % 2 == 0 { "" } else { " >> 32" };
                format!("(f32)((u32)(x{}{half}) >> 8) * (1.0f / 16777216.0f)", n / 2)
            }
            _ => format!("x{n}"),
        };
        let index = [format!("(ix)(start + {n})")];
        let put = store(view, "o0", &index, &value);
        let _ = writeln!(text, "        if (start + {n} < total) {put}");
    }
    text.push_str("    }\n}\n");
    text
}
