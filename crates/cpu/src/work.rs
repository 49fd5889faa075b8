//! How much work a launch is, to tell whether threads are worth it: in steps, of which one core does about forty in
//! a nanosecond.

use arrayloom_device::Sweep;
use arrayloom_ir::{Form, Kernel, Prim};

/// Bytes of a usual value: one operation takes so many narrower ones at a time as have its bytes.
const WORD: usize = 8;
/// Steps of storing a value, and of folding it.
const STORE: usize = 4;
const FOLD: usize = 2;

/// Steps of one kernel at all points of a shape.
pub(crate) fn of_kernel(kernel: &Kernel, shape: &[usize]) -> usize {
    let points: usize = shape.iter().product();
    let widest = kernel.code.iter().map(|ins| ins.dtype.size()).max();
    let computed: usize = kernel.code.iter().map(|ins| steps(ins.prim)).sum();
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
    stages.map(|s| of_kernel(s.kernel, s.launch.shape)).sum()
}

/// Steps of one instruction, on values in the caches.
fn steps(prim: Prim) -> usize {
    use Prim::{
        Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cbrt, Const, Cos, Cosh, Div, Exp, Exp2,
        Expm1, FloatPow, FloorDiv, Fmod, Gather, Gcd, Hypot, Input, Lcm, Log, Log1p, Log2, Log10,
        LogAddExp, LogAddExp2, Pow, Reciprocal, Rem, Sin, Sinh, Sqrt, Tan, Tanh,
    };
    match prim {
        Const => 0,
        Input => 2,
        Gather => 8,
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

    fn of(prim: Prim, dtype: DType) -> usize {
        of_kernel(&kernel(prim, dtype, Form::Store), &[100, 8])
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
        assert_eq!(of(Prim::Neg, DType::F64), 800 * (2 + 1 + 4));
        assert_eq!(of(Prim::Neg, DType::F32), 400 * (2 + 1 + 4));
        assert_eq!(of(Prim::Exp, DType::F64), 800 * (2 + 36 + 4));
        assert!(of(Prim::Sqrt, DType::F64) < of(Prim::Exp, DType::F64));
    }
}
