//! Small integers and `float32` are weighed in single precision: nearly the same as in double.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

use arrayloom_types::{DType, Region};
use arrayloom_volume::ops::{Distance, Neighbourhood, NlMeans, Statistic, WindowAxis, local};
use arrayloom_volume::{Ctx, Meter, Mode, Op, View, ViewMut};
use std::sync::Arc;

const SHAPE: [i64; 2] = [13, 70];

fn values() -> impl Iterator<Item = u8> {
    let each = 0..u64::try_from(SHAPE[0] * SHAPE[1]).unwrap();
    each.map(|i| ((i * i * 2_654_435_761) >> 20).to_le_bytes()[0] / 2 + 100)
}

fn run(op: &dyn Op, dtype: DType, data: &[u8]) -> Vec<u8> {
    let whole = Region::whole(&SHAPE);
    let ctx = Ctx {
        threads: 1,
        meter: Meter::new(1 << 30),
    };
    let view = View {
        region: &whole,
        shape: &SHAPE,
        dtype,
        data,
    };
    let voxels = usize::try_from(whole.voxels()).unwrap();
    let mut out = vec![0; voxels * op.dtype().size()];
    let to = ViewMut {
        region: &whole,
        dtype: op.dtype(),
        data: &mut out,
    };
    op.run(&ctx, &[view], to).unwrap();
    out
}

/// The operations with this mode at faces, for a result of `out`.
fn ops(mode: Mode, out: DType) -> Vec<Arc<dyn Op>> {
    let axis = WindowAxis {
        len: 5,
        before: 2,
        mode,
    };
    let window = Neighbourhood::new(vec![axis; 2], &[true; 25]).unwrap();
    let bilateral = |sigma: f64| {
        let weights = (0..25).map(|i| 1.0 / f64::from(1 + i % 7)).collect();
        local(window.clone(), Statistic::Bilateral { weights, sigma }, out).unwrap()
    };
    let means = NlMeans::new(&[(3, 1, mode), (2, 2, mode)], 12.0, Distance::Squares, out);
    vec![bilateral(9.0), bilateral(1e-30), Arc::new(means.unwrap())]
}

#[test]
fn single_precision_is_near_double_precision() {
    let bytes: Vec<u8> = values().collect();
    let singles: Vec<u8> = values().flat_map(|v| f32::from(v).to_ne_bytes()).collect();
    let doubles: Vec<u8> = values().flat_map(|v| f64::from(v).to_ne_bytes()).collect();
    for mode in [Mode::Reflect, Mode::Renormalize, Mode::Constant(120.0)] {
        for (single, double) in ops(mode, DType::F32).iter().zip(ops(mode, DType::F64)) {
            let wanted = run(&*double, DType::F64, &doubles);
            let wanted = wanted
                .as_chunks::<8>()
                .0
                .iter()
                .map(|v| f64::from_ne_bytes(*v));
            let found = run(&**single, DType::F32, &singles);
            assert!(found == run(&**single, DType::U8, &bytes), "of bytes");
            let found = found
                .as_chunks::<4>()
                .0
                .iter()
                .map(|v| f32::from_ne_bytes(*v));
            for (at, (found, wanted)) in found.zip(wanted).enumerate() {
                let far = (f64::from(found) - wanted).abs();
                assert!(
                    far <= 2e-6 * wanted,
                    "{} {mode:?} {at}: {found} {wanted}",
                    single.name()
                );
            }
        }
    }
}
