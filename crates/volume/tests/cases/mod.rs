//! Random expressions on random volumes.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType, Region};
use arrayloom_volume::ops::{
    BoxExtremum, BoxRange, Correlate, Distance, Extremum, FootprintExtremum, Heights, Linear,
    LinearAxis, Neighbourhood, NlMeans, Rank, Statistic, WindowAxis, local,
};
use arrayloom_volume::{Ctx, Expr, Mode, Op, Sink, Source, View, ViewMut, VolumeError, copy_box};
use std::sync::{Arc, Mutex};

/// Numbers that look random and are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    pub(crate) fn small(&mut self, n: usize) -> i64 {
        i64::try_from(self.below(n)).unwrap()
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A volume in memory that counts the voxels that are read of it.
pub(crate) struct Memory {
    shape: Vec<i64>,
    size: usize,
    data: Vec<u8>,
    pub(crate) read: Mutex<u64>,
    pub(crate) regions: Mutex<Vec<Region>>,
    /// Whether operations look at it where it lies.
    pub(crate) resident: bool,
    pub(crate) granule: Option<Coords>,
}

impl Memory {
    pub(crate) fn new(shape: &[i64], size: usize, data: Vec<u8>) -> Memory {
        Memory {
            shape: shape.to_vec(),
            size,
            data,
            read: Mutex::new(0),
            regions: Mutex::new(Vec::new()),
            resident: false,
            granule: None,
        }
    }
}

impl Source for Memory {
    fn read(&self, region: &Region, to: &mut [u8]) -> Result<(), String> {
        let whole = Region::whole(&self.shape);
        assert!(whole.contains(region), "reads lie inside: {region}");
        *self.read.lock().unwrap() += region.voxels();
        self.regions.lock().unwrap().push(region.clone());
        copy_box((&whole, &self.data), (region, to), region, self.size);
        Ok(())
    }

    fn in_memory(&self) -> Option<&[u8]> {
        self.resident.then_some(&self.data[..])
    }

    fn is_mapped(&self) -> bool {
        self.resident
    }

    fn granule(&self) -> Option<Coords> {
        self.granule.clone()
    }
}

/// A result in memory that takes each voxel once.
pub(crate) struct Once {
    shape: Vec<i64>,
    size: usize,
    pub(crate) state: Mutex<(Vec<u8>, Vec<Region>)>,
}

impl Once {
    pub(crate) fn new(shape: &[i64], size: usize) -> Once {
        let voxels: i64 = shape.iter().product();
        let bytes = usize::try_from(voxels).unwrap() * size;
        Once {
            shape: shape.to_vec(),
            size,
            state: Mutex::new((vec![0; bytes], Vec::new())),
        }
    }
}

impl Sink for Once {
    fn write(&self, region: &Region, from: &[u8]) -> Result<(), String> {
        let mut state = self.state.lock().unwrap();
        assert!(
            state.1.iter().all(|r| r.clip(region).is_empty()),
            "each voxel is written once"
        );
        state.1.push(region.clone());
        copy_box(
            (region, from),
            (&Region::whole(&self.shape), &mut state.0),
            region,
            self.size,
        );
        Ok(())
    }
}

/// The second operand minus the first, in single precision.
struct Difference(usize);

impl Op for Difference {
    fn name(&self) -> &'static str {
        "difference"
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        (0..self.0).map(AxisNeed::same).collect()
    }

    fn scratch(&self, _: &[i64], _: &[i64], _: usize) -> u64 {
        0
    }

    fn cost_ns(&self) -> f64 {
        1.0
    }

    fn takes_exactly(&self) -> bool {
        true
    }

    fn run(&self, _: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        assert!(
            inputs
                .iter()
                .all(|i| i.region.extents() == out.region.extents()),
            "cropped"
        );
        let word = |b: &[u8]| f32::from_ne_bytes(b.try_into().unwrap());
        let pairs = inputs[0]
            .data
            .chunks_exact(4)
            .zip(inputs[1].data.chunks_exact(4));
        for (to, (a, b)) in out.data.chunks_exact_mut(4).zip(pairs) {
            to.copy_from_slice(&(word(b) - word(a)).to_ne_bytes());
        }
        Ok(())
    }
}

const MODES: [Mode; 7] = [
    Mode::Reflect,
    Mode::Mirror,
    Mode::Nearest,
    Mode::Wrap,
    Mode::Constant(1.5),
    Mode::Constant(2.0),
    Mode::Renormalize,
];

pub(crate) fn window(random: &mut Random, rank: usize, most: usize) -> Vec<WindowAxis> {
    (0..rank)
        .map(|_| {
            let len = 1 + random.below(most);
            let before = random.small(len);
            WindowAxis {
                len,
                before,
                mode: random.pick(&MODES),
            }
        })
        .collect()
}

/// The same for boxes, one of six of which is long along an axis or two, some with a single point along all others.
fn sides(random: &mut Random, rank: usize, most: usize) -> Vec<WindowAxis> {
    let long = random.below(6) == 0;
    let most = if long && random.below(2) == 0 {
        1
    } else {
        most
    };
    let mut axes = window(random, rank, most);
    for _ in 0..if long { 1 + random.below(2) } else { 0 } {
        let axis = random.below(rank);
        axes[axis].len = 12 + random.below(92);
        axes[axis].before = random.small(axes[axis].len);
    }
    axes
}

/// A long window along one axis.
fn line(random: &mut Random, rank: usize) -> Neighbourhood {
    let mut axes = window(random, rank, 1);
    let along = random.below(rank);
    let len = 32 + random.below(60);
    axes[along].len = len;
    axes[along].before = random.small(len);
    Neighbourhood::new(axes, &vec![true; len]).unwrap()
}

fn neighbourhood(random: &mut Random, rank: usize) -> Neighbourhood {
    let axes = window(random, rank, 4);
    let size: usize = axes.iter().map(|a| a.len).product();
    let mut mask: Vec<bool> = (0..size).map(|_| random.below(3) > 0).collect();
    mask[size / 2] = true;
    Neighbourhood::new(axes, &mask).unwrap()
}

fn tenths(random: &mut Random, n: usize) -> f64 {
    0.1 * f64::from(u8::try_from(random.below(n)).unwrap())
}

/// The weights of a mean of so many points.
fn equal(n: usize) -> Vec<f64> {
    vec![1.0 / f64::from(u16::try_from(n).unwrap()); n]
}

fn statistic(random: &mut Random, points: usize) -> Statistic {
    match random.below(9) {
        0 => Statistic::Variance,
        1 => Statistic::Deviation,
        2 => Statistic::Variation,
        3 => Statistic::Wiener(1.0 + tenths(random, 99)),
        4 => Statistic::Niblack(0.2),
        5 => Statistic::Sauvola { k: 0.2, r: 9.0 },
        6 => Statistic::Entropy {
            low: -5.0,
            high: 20.0,
            bins: 1 + random.below(20),
        },
        7 => Statistic::Diffusion {
            kappa: 5.0,
            step: 0.1,
            rational: random.below(2) == 0,
        },
        _ => Statistic::Bilateral {
            weights: (0..points).map(|_| 0.1 + tenths(random, 9)).collect(),
            sigma: 4.0,
        },
    }
}

/// A weighted sum, a mean or a Laplacian.
fn linear(random: &mut Random, rank: usize, dtype: DType) -> Arc<dyn Op> {
    let laplacian = random.below(3) == 0;
    let mean = !laplacian && random.below(2) == 0;
    let axes = if mean {
        sides(random, rank, 15)
    } else {
        window(random, rank, 7)
    };
    let axes = axes.into_iter().enumerate().map(|(axis, w)| LinearAxis {
        axis,
        taps: if mean {
            equal(w.len)
        } else {
            (0..w.len).map(|_| 0.05 + tenths(random, 5)).collect()
        },
        derive: if laplacian {
            (0..w.len).map(|_| 0.2 - tenths(random, 5)).collect()
        } else {
            Vec::new()
        },
        before: w.before,
        mode: w.mode,
    });
    Arc::new(Linear::new(rank, axes.collect(), dtype).unwrap())
}

fn random_op(random: &mut Random, rank: usize, dtype: DType) -> Arc<dyn Op> {
    match random.below(8) {
        0 => linear(random, rank, dtype),
        1 if random.below(2) == 0 => {
            Arc::new(BoxRange::new(sides(random, rank, 6), dtype).unwrap())
        }
        1 => Arc::new(BoxExtremum::new(Extremum::Minimum, sides(random, rank, 6), dtype).unwrap()),
        2 => Arc::new(FootprintExtremum::new(
            Extremum::Maximum,
            neighbourhood(random, rank),
            dtype,
        )),
        3 if random.below(2) == 0 => {
            let len = 3 + 2 * random.below(if dtype == DType::U8 { 4 } else { 2 });
            let flat = rank.saturating_sub(2);
            let mut axes = window(random, rank, len);
            for (d, axis) in axes.iter_mut().enumerate() {
                axis.len = if d < flat { 1 } else { len };
                axis.before = axis.before.min(i64::try_from(axis.len).unwrap() - 1);
            }
            let points = axes.iter().map(|a| a.len).product::<usize>();
            let w = Neighbourhood::new(axes, &vec![true; points]).unwrap();
            Arc::new(Rank::new(w, points / 2, dtype).unwrap())
        }
        3 => {
            let w = if random.below(4) == 0 {
                line(random, rank)
            } else {
                neighbourhood(random, rank)
            };
            let rank = random.below(w.points.len());
            Arc::new(Rank::new(w, rank, dtype).unwrap())
        }
        4 | 5 => {
            let w = if random.below(2) == 0 {
                neighbourhood(random, rank)
            } else {
                let axes = sides(random, rank, 5);
                let size: usize = axes.iter().map(|a| a.len).product();
                Neighbourhood::new(axes, &vec![true; size]).unwrap()
            };
            let statistic = statistic(random, w.points.len());
            local(w, statistic, dtype).unwrap()
        }
        6 => {
            let reach: Vec<(i64, i64, Mode)> = (0..rank)
                .map(|_| (random.small(3), random.small(2), random.pick(&MODES)))
                .collect();
            Arc::new(NlMeans::new(&reach, 9.0, Distance::Squares, dtype).unwrap())
        }
        _ if dtype == DType::F64 && random.below(2) == 0 => {
            let w = neighbourhood(random, rank);
            let each = (0..w.points.len())
                .map(|_| 0.5 - tenths(random, 9))
                .collect();
            Arc::new(Heights::new(Extremum::Minimum, w, each).unwrap())
        }
        _ => {
            let w = neighbourhood(random, rank);
            let n = w.points.len();
            let weights = match random.below(3) {
                0 => equal(n),
                _ => (0..n).map(|_| 0.5 - tenths(random, 9)).collect(),
            };
            Arc::new(Correlate::new(w, weights, dtype).unwrap())
        }
    }
}

/// An expression whose result has this shape and size of elements.
pub(crate) struct Case {
    pub(crate) expr: Expr,
    pub(crate) shape: Vec<i64>,
    pub(crate) size: usize,
}

/// The bits of elements; those of NaN are not told apart: its sign is that of whichever operand comes first, which
/// is the compiler's choice.
pub(crate) fn bits(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let word = |b: &[u8]| {
        let mut all = [0; 8];
        all[..b.len()].copy_from_slice(b);
        u64::from_le_bytes(all)
    };
    let nan = |w: u64| match dtype {
        DType::F16 => w & 0x7fff > 0x7c00,
        DType::F32 => w & 0x7fff_ffff > 0x7f80_0000,
        DType::F64 => w & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000,
        _ => false,
    };
    let each = bytes.chunks_exact(dtype.size()).map(word);
    each.map(|w| if nan(w) { u64::MAX } else { w }).collect()
}

fn push(data: &mut Vec<u8>, random: &mut Random, dtype: DType) {
    let value = i16::try_from(random.small(200) - 60).unwrap();
    let strange = random.below(400);
    match dtype {
        DType::U8 => data.push(u8::try_from(value + 60).unwrap()),
        DType::I16 => data.extend((value * 100).to_ne_bytes()),
        DType::I64 => data.extend((i64::from(value) << 40).to_ne_bytes()),
        DType::F32 => {
            let plain = f32::from(value) / 7.0;
            let value = [f32::NAN, f32::INFINITY]
                .get(strange)
                .copied()
                .unwrap_or(plain);
            data.extend(value.to_ne_bytes());
        }
        _ => data.extend((f64::from(value) / 7.0).to_ne_bytes()),
    }
}

/// A chain or graph of one to three operations on random voxels, a few of them infinite or NaN; `longest` are
/// the longest axes of volumes of one to four axes.
pub(crate) fn random_case(random: &mut Random, longest: &[usize; 4]) -> Case {
    let rank = 1 + random.below(4);
    let most = longest[rank - 1];
    let shape: Vec<i64> = (0..rank).map(|_| 1 + random.small(most)).collect();
    let dtype = random.pick(&[
        DType::U8,
        DType::I16,
        DType::F32,
        DType::F64,
        DType::I64,
        DType::F32,
    ]);
    let mut data = Vec::new();
    for _ in 0..shape.iter().product::<i64>() {
        push(&mut data, random, dtype);
    }
    let mut expr = Expr::new();
    let mut source = Memory::new(&shape, dtype.size(), data);
    match random.below(3) {
        0 => source.resident = true,
        1 => source.granule = Some(shape.iter().map(|_| 1 + random.small(6)).collect()),
        _ => {}
    }
    let mut last = expr.source(Arc::new(source), &shape, dtype);
    for _ in 0..=random.below(3) {
        let before = last;
        last = expr
            .apply(random_op(random, rank, dtype), &[last], &shape)
            .unwrap();
        if dtype == DType::F32 && random.below(3) == 0 {
            last = expr
                .apply(Arc::new(Difference(rank)), &[before, last], &shape)
                .unwrap();
        }
    }
    Case {
        expr,
        shape,
        size: dtype.size(),
    }
}
