//! How much work a launch is, to tell whether threads are worth it: in steps, of which one core does about forty in
//! a nanosecond.

use arrayloom_device::{Arg, Launch, Sweep};
use arrayloom_ir::{Form, Ins, Kernel, Prim};

/// Bytes of a usual value: one operation takes so many narrower ones at a time as have its bytes.
const WORD: usize = 8;
/// Bytes of a line of the caches.
const LINE: usize = 64;
/// Steps of reading a value, and more where elements are apart: they are read one by one and bring what lies between them
/// into the caches, up to a line.
const INPUT: usize = 2;
const APART: usize = 8;
/// Steps of storing a value, and of folding it.
const STORE: usize = 4;
const FOLD: usize = 2;

/// Steps of one launch of a kernel.
pub(crate) fn of_launch(kernel: &Kernel, launch: &Launch<'_>) -> usize {
    let points: usize = launch.shape.iter().product();
    let widest = kernel.code.iter().map(|ins| ins.dtype.size()).max();
    let code = kernel.code.iter();
    let computed: usize = code.map(|ins| steps(ins, launch)).sum();
    let kept = kernel.outputs.iter().map(|output| match output.form {
        Form::Store | Form::Scan { .. } | Form::Scatter { .. } => STORE,
        Form::Reduce { .. } | Form::Arg { .. } => FOLD,
    });
    let steps = computed + kept.sum::<usize>();
    let bytes = points.saturating_mul(widest.unwrap_or(WORD));
    bytes.saturating_mul(steps) / WORD
}

/// True if a kernel stores arrays.
pub(crate) fn stores(kernel: &Kernel) -> bool {
    let mut forms = kernel.outputs.iter().map(|output| &output.form);
    forms.any(|form| !matches!(form, Form::Reduce { .. } | Form::Arg { .. }))
}

/// Steps of all stages of a sweep.
pub(crate) fn of_sweep(sweep: &Sweep<'_>) -> usize {
    let stages = sweep.stages.iter();
    stages.map(|s| of_launch(s.kernel, &s.launch)).sum()
}

/// Steps of one instruction at a point.
fn steps(ins: &Ins, launch: &Launch<'_>) -> usize {
    let size = ins.dtype.size();
    match (ins.prim, launch.ins.get(ins.a as usize)) {
        (Prim::Input, Some(Arg::View { strides, .. })) => match strides.last() {
            None | Some(0) => INPUT,
            Some(step) if step.cast_unsigned() == size => INPUT,
            Some(step) => APART + INPUT * step.unsigned_abs().clamp(size, LINE.max(size)) / size,
        },
        _ => usual(ins.prim),
    }
}

/// Steps of one instruction, on values that lie side by side in the caches.
fn usual(prim: Prim) -> usize {
    use Prim::{
        Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cbrt, Const, Cos, Cosh, Div, Exp, Exp2,
        Expm1, FloatPow, FloorDiv, Fmod, Gather, Gcd, Hypot, Input, Lcm, Log, Log1p, Log2, Log10,
        LogAddExp, LogAddExp2, Pow, Reciprocal, Rem, Sin, Sinh, Sqrt, Tan, Tanh,
    };
    match prim {
        Const => 0,
        Input => INPUT,
        Gather => APART,
        Div | Reciprocal | Sqrt | FloorDiv | Rem => 16,
        Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Asin | Acos | Atan
        | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh | Cbrt | Pow | FloatPow | Atan2 | Hypot
        | LogAddExp | LogAddExp2 | Fmod | Gcd | Lcm => 36,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_device::Buf;
    use arrayloom_ir::{Builder, Output};
    use arrayloom_types::DType;

    fn kernel(prim: Prim, dtype: DType, form: Form) -> Kernel {
        let mut b = Builder::new();
        let x = b.input(0, dtype);
        let value = b.un(prim, x).0;
        Kernel {
            code: b.finish(),
            inputs: vec![dtype],
            outputs: vec![Output { value, form }],
            ..Kernel::default()
        }
    }

    fn of(prim: Prim, dtype: DType, step: isize) -> usize {
        let strides = [0, step * dtype.size().cast_signed()].as_slice().into();
        let from = Arg::View {
            buf: Buf(0),
            offset: 0,
            strides,
        };
        let launch = Launch {
            shape: &[100, 8],
            outs: &[],
            ins: &[from],
            reduces: &[None],
            flags: None,
        };
        of_launch(&kernel(prim, dtype, Form::Store), &launch)
    }

    #[test]
    fn folds_store_no_arrays() {
        let fold = Form::Arg {
            max: true,
            axes: 0b10,
        };
        assert!(stores(&kernel(Prim::Neg, DType::F64, Form::Store)));
        assert!(!stores(&kernel(Prim::Neg, DType::F64, fold)));
    }

    #[test]
    fn narrow_values_count_less_and_slow_functions_more() {
        assert_eq!(of(Prim::Neg, DType::F64, 1), 800 * (2 + 1 + 4));
        assert_eq!(of(Prim::Neg, DType::F32, 1), 400 * (2 + 1 + 4));
        assert_eq!(of(Prim::Exp, DType::F64, 1), 800 * (2 + 36 + 4));
        assert!(of(Prim::Sqrt, DType::F64, 1) < of(Prim::Exp, DType::F64, 1));
    }

    #[test]
    fn elements_apart_bring_others_along_up_to_a_line() {
        let reads = |dtype, step| of(Prim::Neg, dtype, step) / (100 * dtype.size()) - (1 + 4);
        assert_eq!([0, 1].map(|step| reads(DType::F64, step)), [2; 2]);
        assert_eq!(reads(DType::F64, -1), 8 + 2);
        assert_eq!(reads(DType::F64, -2), 8 + 4);
        assert_eq!(reads(DType::F32, 3), 8 + 6);
        assert_eq!(reads(DType::C128, 100), 8 + 8);
        assert_eq!(
            [8, 9, 1000].map(|step| reads(DType::F64, step)),
            [8 + 16; 3]
        );
    }
}
