//! NumPy's inner loops for the CPU device: the same functions give the same bits. Where the device's own
//! functions are faster, it is left to them, unless NumPy's bits are asked for.
#![expect(
    unsafe_code,
    reason = "reads NumPy's ufunc objects and vouches for their loops"
)]

use crate::modules;
use arrayloom_cpu::{HostLoop, HostLoops, Isa};
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use numpy::npyffi::PyUFuncObject;
use pyo3::prelude::*;
use std::ffi::c_char;

/// Primitives whose values depend on the mathematics library, and NumPy's ufuncs for them.
const NAMES: [(Prim, &str); 41] = [
    (Prim::Cbrt, "cbrt"),
    (Prim::Exp, "exp"),
    (Prim::Exp2, "exp2"),
    (Prim::Expm1, "expm1"),
    (Prim::Log, "log"),
    (Prim::Log2, "log2"),
    (Prim::Log10, "log10"),
    (Prim::Log1p, "log1p"),
    (Prim::Sin, "sin"),
    (Prim::Cos, "cos"),
    (Prim::Tan, "tan"),
    (Prim::Asin, "arcsin"),
    (Prim::Acos, "arccos"),
    (Prim::Atan, "arctan"),
    (Prim::Sinh, "sinh"),
    (Prim::Cosh, "cosh"),
    (Prim::Tanh, "tanh"),
    (Prim::Asinh, "arcsinh"),
    (Prim::Acosh, "arccosh"),
    (Prim::Atanh, "arctanh"),
    (Prim::Sqrt, "sqrt"),
    (Prim::Spacing, "spacing"),
    (Prim::Sign, "sign"),
    (Prim::Abs, "absolute"),
    (Prim::Square, "square"),
    (Prim::Reciprocal, "reciprocal"),
    (Prim::Div, "divide"),
    (Prim::Mul, "multiply"),
    (Prim::FloorDiv, "floor_divide"),
    (Prim::Rem, "remainder"),
    (Prim::Fmod, "fmod"),
    (Prim::Pow, "power"),
    (Prim::FloatPow, "float_power"),
    (Prim::Atan2, "arctan2"),
    (Prim::Hypot, "hypot"),
    (Prim::Gcd, "gcd"),
    (Prim::Lcm, "lcm"),
    (Prim::Rint, "rint"),
    (Prim::NextAfter, "nextafter"),
    (Prim::LogAddExp, "logaddexp"),
    (Prim::LogAddExp2, "logaddexp2"),
];

/// Which functions of NumPy give way to the device's own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Functions {
    /// None: the bits are NumPy's.
    None,
    /// The few that are slow although NumPy has vector loops for AVX-512.
    Few,
    /// Those that are the C library's, one element at a time.
    Most,
    /// All that the device has.
    All,
}

/// Which loops of NumPy give way.
#[derive(Clone, Copy)]
struct Replaced {
    functions: Functions,
    /// Arithmetic of complex numbers: the device's has the bits of NumPy's loops with fused multiply-adds.
    arithmetic: bool,
}

impl Replaced {
    /// By the number of the choice among "numpy" and "own"; without one, what is slower than the device's
    /// own on this processor, with this NumPy.
    fn new(py: Python<'_>, choice: Option<usize>) -> PyResult<Replaced> {
        let features = py
            .import("numpy._core._multiarray_umath")?
            .getattr("__cpu_features__")?;
        let has = |name: &str| {
            features
                .call_method1("get", (name, false))
                .and_then(|there| there.is_truthy())
        };
        // The device's functions need fused multiply-adds; elsewhere nothing was measured.
        let fused = Isa::detect() != Isa::Baseline;
        // Only its builds for Linux have loops for AVX-512.
        let vectors = cfg!(target_os = "linux") && (has("AVX512_SKX")? || has("X86_V4")?);
        Ok(Replaced {
            functions: match choice {
                Some(0) => Functions::None,
                Some(_) => Functions::All,
                None if !fused => Functions::None,
                None if vectors => Functions::Few,
                None => Functions::Most,
            },
            arithmetic: fused && (has("FMA3")? || has("X86_V3")?),
        })
    }

    /// True when the device's own is to be taken.
    fn has(self, prim: Prim, dtype: DType) -> bool {
        let few = matches!(prim, Prim::Sin | Prim::Cos | Prim::Tanh | Prim::Hypot);
        let function = matches!(
            prim,
            Prim::Cbrt | Prim::Pow | Prim::FloatPow | Prim::Atan2 | Prim::Hypot
        ) || (prim >= Prim::Exp && prim <= Prim::Tanh);
        // In single precision NumPy has vector loops for the commonest ones with AVX2 already.
        let common = few && prim != Prim::Hypot
            || matches!(prim, Prim::Exp | Prim::Log | Prim::Pow | Prim::FloatPow);
        match (self.functions, dtype) {
            (functions, DType::C64 | DType::C128) => match prim {
                Prim::Mul | Prim::Square | Prim::Div | Prim::Reciprocal | Prim::Abs => {
                    self.arithmetic
                }
                _ => functions != Functions::None && COMPLEX.contains(&prim),
            },
            (Functions::All, DType::F32 | DType::F64) | (Functions::Most, DType::F64) => function,
            (Functions::Most, DType::F32) => function && !common,
            (Functions::Few, DType::F64) => few,
            (Functions::Few, DType::F32) => prim == Prim::Hypot,
            _ => false,
        }
    }
}

/// Functions of complex numbers that the device has. NumPy's are the C library's on every processor, one
/// element at a time.
const COMPLEX: [Prim; 12] = [
    Prim::Exp,
    Prim::Log,
    Prim::Log2,
    Prim::Log10,
    Prim::Sqrt,
    Prim::Sin,
    Prim::Cos,
    Prim::Tan,
    Prim::Sinh,
    Prim::Cosh,
    Prim::Tanh,
    Prim::Pow,
];

/// Collects the loops whose operands are all of one dtype, but for those that are replaced, by the number
/// of the choice of `ARRAYLOOM_MATH`.
pub(crate) fn collect(py: Python<'_>, choice: Option<usize>) -> PyResult<HostLoops> {
    let replaced = Replaced::new(py, choice)?;
    let umath = py.import("numpy._core.umath")?;
    let kind = modules::numpy(py)?.getattr("ufunc")?;
    let mut loops = HostLoops::new();
    for (prim, name) in NAMES {
        let ufunc = umath.getattr(name)?;
        if ufunc.is_instance(&kind)? {
            // SAFETY: the object was checked to be a ufunc; NumPy never frees its own.
            let ufunc = unsafe { &*ufunc.as_ptr().cast::<PyUFuncObject>() };
            add(&mut loops, prim, ufunc, replaced);
        }
    }
    Ok(loops)
}

/// Adds the loops of one ufunc.
fn add(loops: &mut HostLoops, prim: Prim, ufunc: &PyUFuncObject, replaced: Replaced) {
    let fields = &ufunc.fields;
    let size = |n| usize::try_from(n).unwrap_or(0);
    let (operands, nargs, count) = (size(fields.nin), size(fields.nargs), size(fields.ntypes));
    if nargs != operands + 1 || fields.types.is_null() || fields.functions.is_null() {
        return;
    }
    for i in 0..count {
        // SAFETY: the table has `ntypes` rows of `nargs` type numbers.
        let row = unsafe { fields.types.add(i * nargs) };
        // SAFETY: as above.
        let row = unsafe { std::slice::from_raw_parts(row, nargs) };
        let Some(dtype) = homogeneous(prim, row) else {
            continue;
        };
        if replaced.has(prim, dtype) {
            continue;
        }
        // SAFETY: the table has `ntypes` functions.
        let function = unsafe { fields.functions.add(i) };
        // SAFETY: as above.
        let Some(function) = (unsafe { *function }) else {
            continue;
        };
        let data = if fields.data.is_null() {
            std::ptr::null_mut()
        } else {
            // SAFETY: the table has `ntypes` entries.
            let data = unsafe { fields.data.add(i) };
            // SAFETY: as above.
            unsafe { *data }
        };
        // SAFETY: both are pointers to C functions with the same arguments; NumPy's loops only read
        // the counts and steps.
        let function = unsafe { std::mem::transmute::<NumpyLoop, HostLoopFn>(function) };
        if loops.get(prim, dtype).is_none() {
            // SAFETY: NumPy itself runs its numeric loops without the interpreter lock and on several
            // threads at once; the types were checked.
            unsafe { loops.insert(prim, dtype, HostLoop { function, data }) };
        }
    }
}

type NumpyLoop =
    unsafe extern "C" fn(*mut *mut c_char, *mut isize, *mut isize, *mut std::ffi::c_void);
type HostLoopFn = arrayloom_cpu::HostLoopFn;

/// The dtype of all operands, if the result is what the primitive gives for it.
fn homogeneous(prim: Prim, row: &[c_char]) -> Option<DType> {
    let (result, operands) = row.split_last()?;
    let dtype = numbered(*operands.first()?)?;
    let first = operands[0];
    let expected = if prim == Prim::Abs {
        dtype.real()
    } else {
        dtype
    };
    let same = operands.iter().all(|&o| o == first);
    (same && numbered(*result)? == expected).then_some(dtype)
}

/// Our dtype for a type number of NumPy. `longlong` has a loop of its own beside `long`'s.
fn numbered(number: c_char) -> Option<DType> {
    Some(match number {
        0 => DType::Bool,
        1 => DType::I8,
        2 => DType::U8,
        3 => DType::I16,
        4 => DType::U16,
        5 => DType::I32,
        6 => DType::U32,
        7 => DType::I64,
        8 => DType::U64,
        11 => DType::F32,
        12 => DType::F64,
        14 => DType::C64,
        15 => DType::C128,
        23 => DType::F16,
        _ => return None,
    })
}
