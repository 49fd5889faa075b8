//! How much work a launch is, to tell whether threads are worth it: in steps, of which one core does about forty in
//! a nanosecond.

use crate::exec::LINE;
use crate::setup::Setup;
use arrayloom_device::{Stage, Sweep};
use arrayloom_ir::{Form, Ins, Kernel, Prim};

/// Bytes of a usual value: one operation takes so many narrower ones at a time as have its bytes.
const WORD: usize = 8;
/// Steps of reading a value, and more where elements are apart: they are read one by one and bring what lies between them
/// into the caches, up to a line.
const INPUT: usize = 2;
const APART: usize = 8;
/// Steps of storing a value, and of folding it.
const STORE: usize = 4;
const FOLD: usize = 2;

/// Steps of the loops of a launch.
pub(crate) fn of_loops(kernel: &Kernel, setup: &Setup) -> usize {
    of_points(kernel, setup.nest.len(), |ins| {
        let lane = match ins.prim {
            Prim::Input => setup.sources[ins.a as usize].lane(),
            _ => None,
        };
        match lane.map(|lane| setup.nest.step(lane)) {
            Some(step) => reading(ins.dtype.size(), step),
            None => steps(ins.prim),
        }
    })
}

/// Steps of a kernel at so many points, of which an instruction takes `steps` at each.
fn of_points(kernel: &Kernel, points: usize, steps: impl Fn(&Ins) -> usize) -> usize {
    let widest = kernel.code.iter().map(|ins| ins.dtype.size()).max();
    let computed: usize = kernel.code.iter().map(steps).sum();
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
    let of = |stage: &Stage<'_>| {
        let points = stage.launch.shape.iter().product();
        of_points(stage.kernel, points, |ins| steps(ins.prim))
    };
    stages.map(of).sum()
}

/// Steps of reading elements of `size` bytes that lie `step` bytes apart.
fn reading(size: usize, step: isize) -> usize {
    if step == 0 || step == size.cast_signed() {
        INPUT
    } else {
        APART + INPUT * step.unsigned_abs().clamp(size, LINE) / size
    }
}

/// Steps of one instruction, on values that lie side by side in the caches.
fn steps(prim: Prim) -> usize {
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
    use crate::setup::setup;
    use arrayloom_device::{Arg, Buf, Launch};
    use arrayloom_ir::{Builder, Output};
    use arrayloom_types::DType;

    fn kernel(prim: Prim, dtype: DType, form: Form) -> Kernel {
        let mut b = Builder::new();
        let x = b.input(0, dtype);
        let value = b.un(prim, x).0;
        Kernel {
            code: b.finish(),
            rank: 2,
            inputs: vec![dtype],
            outputs: vec![Output { value, form }],
        }
    }

    /// Steps of a launch over `[100, 8]` points, whose steps are so many elements.
    fn walked(prim: Prim, dtype: DType, from: [isize; 2], to: [isize; 2]) -> usize {
        let view = |steps: [isize; 2]| Arg::View {
            buf: Buf(0),
            offset: 0,
            strides: steps
                .map(|step| step * dtype.size().cast_signed())
                .as_slice()
                .into(),
        };
        let launch = Launch {
            shape: &[100, 8],
            outs: &[view(to)],
            ins: &[view(from)],
            reduces: &[None],
            flags: None,
        };
        let kernel = kernel(prim, dtype, Form::Store);
        of_loops(&kernel, &setup(&kernel, &launch).unwrap())
    }

    fn of(prim: Prim, dtype: DType) -> usize {
        walked(prim, dtype, [8, 1], [8, 1])
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

    #[test]
    fn elements_apart_bring_others_along_up_to_a_line() {
        let reads = |dtype: DType, step: isize| {
            let steps = walked(Prim::Neg, dtype, [9 * step, step], [8, 1]);
            steps / (100 * dtype.size()) - (1 + 4)
        };
        assert_eq!([0, 1].map(|step| reads(DType::F64, step)), [2; 2]);
        assert_eq!(reads(DType::F64, -1), 8 + 2);
        assert_eq!(reads(DType::F64, -2), 8 + 4);
        assert_eq!(reads(DType::F32, 3), 8 + 6);
        assert_eq!(reads(DType::C128, 20), 8 + 8);
        assert_eq!([8, 9, 50].map(|step| reads(DType::F64, step)), [8 + 16; 3]);
    }

    #[test]
    fn the_order_of_the_walk_tells_what_is_apart() {
        let columns = [1, 100];
        assert_eq!(
            walked(Prim::Neg, DType::F64, columns, columns),
            of(Prim::Neg, DType::F64)
        );
        assert!(walked(Prim::Neg, DType::F64, [1, 10], [8, 1]) > of(Prim::Neg, DType::F64));
    }
}
