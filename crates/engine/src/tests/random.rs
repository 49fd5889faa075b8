//! Random programs over overlapping views: recorded and fused, they must give what they give one by one.

use super::*;
use proptest::prelude::*;

/// A source of small numbers, made from one word of the test case.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

const ROWS: usize = 7;
const COLUMNS: usize = 9;
const UNARY: [&str; 4] = ["negative", "absolute", "square", "rint"];
const BINARY: [&str; 5] = ["add", "subtract", "multiply", "maximum", "minimum"];

/// A view of one of the arrays with extents `shape`: shifted, stepped, reversed.
fn view(dice: &mut Dice, arrays: &[Array], shape: &[usize]) -> Array {
    let array = &arrays[dice.roll(arrays.len())];
    let room = [ROWS - shape[0], COLUMNS - shape[1]];
    let start = [dice.roll(room[0] + 1), dice.roll(room[1] + 1)];
    match dice.roll(5) {
        0 => {
            let last = [start[0] + shape[0] - 1, start[1] + shape[1] - 1];
            array.window(&last, shape, -1)
        }
        _ => array.window(&start, shape, 1),
    }
}

/// The same bytes as integers.
fn as_integers(view: &Array) -> Array {
    let mut view = view.clone();
    view.layout.dtype = DType::I64;
    view
}

/// The part of `out` that a fold over `axes` fills.
fn folded(out: &Array, axes: u32) -> Array {
    let shape: Vec<usize> = (0..2)
        .map(|i| {
            if axes >> i & 1 == 1 {
                1
            } else {
                out.layout.shape[i]
            }
        })
        .collect();
    out.window(&[0, 0], &shape, 1)
}

fn step(w: &World, dice: &mut Dice, arrays: &mut [Array]) -> Result<(), EngineError> {
    let shapes: [&[usize]; 4] = [&[ROWS, COLUMNS], &[5, 7], &[5, 7], &[1, 7]];
    let shape = shapes[dice.roll(4)];
    let a = view(dice, arrays, shape);
    let b = view(dice, arrays, shape);
    let out = view(dice, arrays, shape);
    match dice.roll(14) {
        0..=2 => w.map(UNARY[dice.roll(4)], &out, &[read(&a)]),
        3..=5 => {
            let name = BINARY[dice.roll(5)];
            let number = number([0.0, 0.75, 1.5, 2.25, 3.0][dice.roll(5)]);
            w.map(name, &out, &[read(&a), number])
        }
        6..=7 => w.map(BINARY[dice.roll(5)], &out, &[read(&a), read(&b)]),
        8 => {
            let mask = w.lazy(DType::Bool, shape);
            w.tell(&mask, vec![0; shape.iter().product()]);
            w.map("less", &mask, &[read(&a), read(&b)])?;
            let node = map_node("add", &out, &[read(&a), number(1.5)], Some(read(&mask)));
            let done = w.record(node);
            w.engine.release(mask.slot);
            done
        }
        9 => {
            let axes = 1 + u32::try_from(dice.roll(3)).unwrap();
            let op = [ReduceOp::Add, ReduceOp::Max, ReduceOp::Mul][dice.roll(3)];
            w.record(reduce_node(op, axes, &a, &folded(&out, axes)))
        }
        10 => {
            let mut node = reduce_node(ReduceOp::Add, 0, &a, &out);
            let axis = u8::try_from(dice.roll(2)).unwrap();
            node.action = Action::Scan {
                op: ReduceOp::Add,
                axis,
            };
            w.record(node)
        }
        11 => {
            let axes = 1 + u32::try_from(dice.roll(3)).unwrap();
            let mut node = reduce_node(ReduceOp::Add, axes, &a, &folded(&out, axes));
            node.action = Action::Arg {
                max: dice.roll(2) == 0,
                axes,
            };
            node.sig.outs = smallvec![DType::I64];
            w.record(node)
        }
        12 => w.map("_copy", &as_integers(&out), &[read(&as_integers(&a))]),
        _ => {
            let fresh = w.lazy(DType::F64, &[ROWS, COLUMNS]);
            w.tell(&fresh, vec![0; ROWS * COLUMNS * 8]);
            w.map("_copy", &fresh, &[number(0.5)])?;
            let at = dice.roll(arrays.len());
            let old = std::mem::replace(&mut arrays[at], fresh);
            w.engine.release(old.slot);
            Ok(())
        }
    }
}

/// The bytes with one kind of NaN and of zero: which NaN survives and the sign of a smallest zero are
/// not promised.
fn plain(bytes: &[u8]) -> Vec<u8> {
    let numbers = bytes
        .chunks(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()));
    let plain = numbers.map(|x| if x.is_nan() { f64::NAN } else { x + 0.0 });
    plain.flat_map(f64::to_le_bytes).collect()
}

fn run(w: &World, words: &[u64], peeks: bool) -> Vec<Vec<u8>> {
    let quarters = (0..11).map(|i| f64::from(i) * 0.25 - 1.0).cycle();
    let start: Vec<f64> = quarters.take(ROWS * COLUMNS).collect();
    let source = w.ready(DType::F64, &[ROWS, COLUMNS], &start);
    let mut arrays: Vec<Array> = (0..3)
        .map(|_| w.lazy(DType::F64, &[ROWS, COLUMNS]))
        .collect();
    w.tell(&source, w.peek(&source));
    for array in &arrays {
        w.tell(array, vec![0; ROWS * COLUMNS * 8]);
        w.map("_copy", array, &[read(&source)]).unwrap();
    }
    arrays.push(source);
    for &word in words {
        let mut dice = Dice(word);
        step(w, &mut dice, &mut arrays).unwrap();
        let touched = &arrays[dice.roll(arrays.len())];
        match dice.roll(12) {
            0 if peeks => drop(w.bytes(touched)),
            1 if peeks => drop(w.peek(touched)),
            2 if peeks => w.engine.sync_write(touched.slot).unwrap(),
            3 if peeks => w.engine.run_first(dice.roll(6)).unwrap(),
            _ => {}
        }
    }
    let results: Vec<Vec<u8>> = arrays.iter().map(|a| plain(&w.bytes(a))).collect();
    if let Some(naive) = &w.naive {
        let naive = naive.lock().unwrap();
        let expected: Vec<Vec<u8>> = arrays.iter().map(|a| plain(&naive.bytes(a.slot))).collect();
        assert!(results == expected, "one by one is what the nodes mean");
    }
    for array in &arrays {
        w.engine.release(array.slot);
    }
    results
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn fused_is_one_by_one(words in proptest::collection::vec(any::<u64>(), 1..40)) {
        let (w, _turn) = guarded();
        let slots = w.engine.slots_in_use();
        w.engine.reset_stats();
        let mut eager = World::eager();
        eager.naive = Some(Mutex::default());
        let expected = run(&eager, &words, false);
        prop_assert!(run(w, &words, false) == expected);
        prop_assert!(run(w, &words, true) == expected);
        prop_assert_eq!(w.engine.slots_in_use(), slots);
        prop_assert_eq!(w.engine.stats().unfused_kernels, 0, "the device takes every group");
    }
}

#[test]
fn threads_record_at_the_same_time() {
    let (w, _turn) = guarded();
    let slots = w.engine.slots_in_use();
    let programs: Vec<Vec<u64>> = (0..4u64)
        .map(|seed| {
            let mut dice = Dice(seed);
            (0..300)
                .map(|_| dice.roll(usize::MAX) as u64 ^ seed << 40)
                .collect()
        })
        .collect();
    let expected: Vec<_> = programs
        .iter()
        .map(|p| run(&World::eager(), p, false))
        .collect();
    for _ in 0..10 {
        std::thread::scope(|scope| {
            for (program, expected) in programs.iter().zip(&expected) {
                scope.spawn(move || assert!(run(w, program, true) == *expected));
            }
        });
    }
    assert_eq!(w.engine.slots_in_use(), slots);
}
