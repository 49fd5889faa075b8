//! Random stencil programs: chains of shifted windows, intermediates that die, updates in place. In one
//! pass over rows they must give what they give one by one, for any number of rows and threads.

use super::random::Dice;
use super::*;
use proptest::prelude::*;

const DTYPES: [DType; 4] = [DType::F64, DType::F32, DType::I32, DType::C128];
const BINARY: [&str; 4] = ["add", "subtract", "multiply", "add"];

/// One program: the extents and dtype of its arrays, and the arrays.
struct Field<'a> {
    w: &'a World,
    dice: Dice,
    shape: Vec<usize>,
    dtype: DType,
    arrays: Vec<Array>,
    temporaries: Vec<Array>,
    /// Results of folds.
    results: Vec<Array>,
}

impl<'a> Field<'a> {
    fn new(w: &'a World, seed: u64) -> Field<'a> {
        let mut dice = Dice(seed);
        let shapes: [&[usize]; 6] = [
            &[157],
            &[40, 5],
            &[23, 33],
            &[61, 17],
            &[9, 6, 7],
            &[31, 4, 3],
        ];
        let shape = shapes[dice.roll(6)].to_vec();
        let dtype = DTYPES[dice.roll(4)];
        let mut field = Field {
            w,
            dice,
            shape,
            dtype,
            arrays: Vec::new(),
            temporaries: Vec::new(),
            results: Vec::new(),
        };
        for start in 0..3 {
            let count: usize = field.shape.iter().product();
            let values = (0..11u8).map(|i| f64::from(i * 7 % 11) * 0.23 - 1.0);
            let values: Vec<f64> = values.cycle().skip(start * 3).take(count).collect();
            let source = w.ready(dtype, &field.shape, &values);
            let array = w.lazy(dtype, &field.shape);
            w.map("_copy", &array, &[read(&source)]).unwrap();
            w.engine.flush().unwrap();
            w.engine.release(source.slot);
            field.arrays.push(array);
        }
        field
    }

    /// Extents of a window: a little smaller than `shape`.
    fn extents(&mut self, shape: &[usize]) -> Vec<usize> {
        let less = [0, 0, 1, 2];
        shape
            .iter()
            .map(|&n| n.saturating_sub(less[self.dice.roll(4)]).max(1))
            .collect()
    }

    /// An array or a temporary that has room for a window of `shape`, and such a window.
    fn operand(&mut self, shape: &[usize]) -> Array {
        let all: Vec<Array> = self
            .arrays
            .iter()
            .chain(&self.temporaries)
            .cloned()
            .collect();
        let fits = |a: &&Array| a.layout.shape.iter().zip(shape).all(|(n, m)| n >= m);
        let fitting: Vec<&Array> = all.iter().filter(fits).collect();
        let from = fitting[self.dice.roll(fitting.len())];
        let start: Vec<usize> = from
            .layout
            .shape
            .iter()
            .zip(shape)
            .map(|(&n, &m)| self.dice.roll((n - m + 1).min(3)))
            .collect();
        from.window(&start, shape, 1)
    }

    fn scalar(&mut self) -> Operand {
        let value = [0.5, 2.0, 3.0, 0.25][self.dice.roll(4)];
        let value = if self.dtype == DType::I32 { 3.0 } else { value };
        Operand::Scalar(Scalar::from_f64(self.dtype, value))
    }

    /// A chain of operations into a new temporary.
    fn compute(&mut self) {
        let whole = self.shape.clone();
        let shape = self.extents(&whole);
        let mut last: Option<Array> = None;
        for _ in 0..=self.dice.roll(3) {
            let first = match &last {
                Some(value) => read(value),
                None => read(&self.operand(&shape)),
            };
            let second = match self.dice.roll(3) {
                0 => self.scalar(),
                _ => read(&self.operand(&shape)),
            };
            let out = self.w.lazy(self.dtype, &shape);
            let name = BINARY[self.dice.roll(4)];
            self.w.map(name, &out, &[first, second]).unwrap();
            if let Some(old) = last.replace(out) {
                self.w.engine.release(old.slot);
            }
        }
        self.temporaries.extend(last);
    }

    /// A new temporary of two pieces: a shift that comes in again at the other end, or parts of two arrays.
    fn assemble(&mut self) {
        let whole = self.shape.clone();
        let shape = self.extents(&whole);
        let out = self.w.lazy(self.dtype, &shape);
        let axis = self.dice.roll(shape.len());
        let (n, at) = (shape[axis], self.dice.roll(shape[axis]));
        let shifted = (self.dice.roll(3) > 0).then(|| self.operand(&shape));
        let mut pieces = vec![(0, n - at, at), (at, 0, n - at)];
        pieces.rotate_left(self.dice.roll(2));
        for (to, from, length) in pieces.into_iter().filter(|piece| piece.2 > 0) {
            let mut extents = shape.clone();
            extents[axis] = length;
            let start = |at: usize| {
                let mut start = vec![0; shape.len()];
                start[axis] = at;
                start
            };
            let source = match &shifted {
                Some(array) => array.window(&start(from), &extents, 1),
                None => self.operand(&extents),
            };
            let place = out.window(&start(to), &extents, 1);
            self.w.map("_copy", &place, &[read(&source)]).unwrap();
        }
        self.temporaries.push(out);
    }

    /// Writes into a window of an array: a stored temporary, an update, or a line of the border.
    fn store(&mut self) {
        let at = self.dice.roll(self.arrays.len());
        let array = self.arrays[at].clone();
        let whole = self.shape.clone();
        let mut shape = self.extents(&whole);
        if self.dice.roll(4) == 0 {
            let axis = self.dice.roll(shape.len());
            shape[axis] = 1;
        }
        let start: Vec<usize> = whole
            .iter()
            .zip(&shape)
            .map(|(&n, &m)| self.dice.roll((n - m + 1).min(3)))
            .collect();
        let out = array.window(&start, &shape, 1);
        let value = self.operand(&shape);
        match self.dice.roll(3) {
            0 => self.w.map("_copy", &out, &[read(&value)]).unwrap(),
            1 => {
                let ins = [read(&out), read(&value)];
                self.w.map("add", &out, &ins).unwrap();
            }
            _ => {
                let scalar = self.scalar();
                self.w
                    .map("subtract", &out, &[read(&value), scalar])
                    .unwrap();
            }
        }
    }

    /// A sum or an extreme of a temporary, of all of it, of rows or of columns, and a use of the results.
    fn fold(&mut self) {
        let whole = self.shape.clone();
        let shape = self.extents(&whole);
        let from = self.operand(&shape);
        let rank = shape.len();
        let all = (1u32 << rank) - 1;
        let axes = match self.dice.roll(4) {
            0 if rank > 1 => all - 1,
            1 | 2 if rank > 1 => 1,
            _ => all,
        };
        let kept: Vec<usize> = (0..rank)
            .map(|axis| {
                if axes >> axis & 1 == 1 {
                    1
                } else {
                    shape[axis]
                }
            })
            .collect();
        let out = self.w.lazy(self.dtype, &kept);
        let op = [ReduceOp::Add, ReduceOp::Add, ReduceOp::Max][self.dice.roll(3)];
        self.w.record(reduce_node(op, axes, &from, &out)).unwrap();
        if axes != all {
            let spread = self.w.lazy(self.dtype, &shape);
            let ins = [read(&from), read(&out)];
            self.w.map("subtract", &spread, &ins).unwrap();
            self.temporaries.push(spread);
        }
        self.results.push(out);
    }

    fn drop_one(&mut self) {
        if !self.temporaries.is_empty() {
            let at = self.dice.roll(self.temporaries.len());
            let old = self.temporaries.swap_remove(at);
            self.w.engine.release(old.slot);
        }
    }

    /// Runs the program; the bytes of all arrays. Every other program runs parts of its list on the way.
    fn run(mut self, steps: usize) -> Vec<Vec<u8>> {
        let in_parts = self.dice.roll(2) == 0;
        for _ in 0..steps {
            if in_parts && self.dice.roll(5) == 0 {
                self.w.engine.run_first(self.dice.roll(6)).unwrap();
            }
            match self.dice.roll(13) {
                0..=3 => self.compute(),
                8 | 9 => self.fold(),
                4 | 5 => self.store(),
                6 => self.drop_one(),
                10..=12 => self.assemble(),
                _ => {
                    while self.temporaries.len() > 1 {
                        self.drop_one();
                    }
                }
            }
        }
        self.w.engine.flush().unwrap();
        let all = self.arrays.iter().chain(&self.temporaries);
        let all = all.chain(&self.results);
        let bytes = all.map(|array| self.w.bytes(array)).collect();
        let all = self.arrays.iter().chain(&self.temporaries);
        for array in all.chain(&self.results) {
            self.w.engine.release(array.slot);
        }
        bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn sweeps_are_one_by_one(seed in any::<u64>(), steps in 2usize..24) {
        let (w, _turn) = guarded();
        let slots = w.engine.slots_in_use();
        let expected = Field::new(&World::eager(), seed).run(steps);
        for choice in 0..w.device.choices() {
            w.device.choose(choice);
            prop_assert!(Field::new(w, seed).run(steps) == expected, "choice {choice}");
        }
        w.device.choose(0);
        prop_assert_eq!(w.engine.slots_in_use(), slots);
    }
}

#[test]
fn stencils_share_passes() {
    let (w, _turn) = guarded();
    w.engine.reset_stats();
    for seed in 0..60u64 {
        Field::new(w, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).run(16);
    }
    let stats = w.engine.stats();
    assert!(stats.sweeps > 60, "{} sweeps", stats.sweeps);
}
