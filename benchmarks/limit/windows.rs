//! Stencils of one array: a kernel on shifted windows of a block with a border, into a block without.

use crate::{Way, compare, hand, kernel};
use arrayloom_cpu::Cpu;
use arrayloom_device::{Arg, Buf, Device as _, DeviceError, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Prim, Value};
use arrayloom_types::{DType, Strides};

/// A block with a border of one element on all sides, and its inner elements.
struct Field<T> {
    side: usize,
    rank: u32,
    from: Vec<T>,
    to: Vec<T>,
}

impl<T: Copy> Field<T> {
    fn new(side: usize, rank: u32, value: impl Fn(usize) -> T) -> Field<T> {
        Field {
            side,
            rank,
            from: (0..(side + 2).pow(rank)).map(&value).collect(),
            to: (0..side.pow(rank)).map(value).collect(),
        }
    }

    fn points(&self) -> usize {
        self.to.len()
    }

    /// A window that starts at number `first` of a block whose rows have `row` elements.
    fn view(&self, data: *const T, first: usize, row: usize) -> Arg {
        let size = size_of::<T>();
        let steps = (0..self.rank).rev().map(|axis| size * row.pow(axis));
        Arg::View {
            buf: Buf(data.expose_provenance() as u64),
            offset: (size * first).cast_signed(),
            strides: steps.map(usize::cast_signed).collect::<Strides>(),
        }
    }

    /// Runs a kernel on windows that start at these places of the block with the border.
    fn run(&mut self, cpu: &Cpu, kernel: &Kernel, places: &[usize]) -> Result<(), DeviceError> {
        let ins = places.iter();
        let ins = ins.map(|&at| self.view(self.from.as_ptr(), at, self.side + 2));
        let ins: Vec<Arg> = ins.collect();
        let out = self.to.as_mut_ptr();
        let launch = Launch {
            shape: &vec![self.side; self.rank as usize],
            outs: &[self.view(out, 0, self.side)],
            ins: &ins,
            reduces: &[None],
            flags: None,
        };
        cpu.run(Queue(0), kernel, &launch)
    }
}

/// The ways of a kernel on windows at `places`, and by hand.
fn measure<T: Copy>(
    name: &str,
    field: &mut Field<T>,
    (interpreter, compiler): (&Cpu, &Cpu),
    (kernel, places): (&Kernel, &[usize]),
    by_hand: Way<'_, Field<T>>,
) -> Result<(), DeviceError> {
    let what = (name, field.side, field.points());
    compare(
        what,
        field,
        &[
            ("tier 0", &|field| field.run(interpreter, kernel, places)),
            ("tier 1", &|field| field.run(compiler, kernel, places)),
            ("hand", by_hand),
        ],
    )
}

/// `(c + six neighbours) * (1 / 7)`.
pub(crate) fn jacobi(interpreter: &Cpu, compiler: &Cpu, side: usize) -> Result<(), DeviceError> {
    let mut b = Builder::new();
    let x: Vec<Value> = (0..7).map(|i| b.input(i, DType::F64)).collect();
    let sum = x[1..].iter().fold(x[0], |sum, &v| b.bin(Prim::Add, sum, v));
    let seventh = b.constant(DType::F64, 1.0 / 7.0);
    let mean = b.bin(Prim::Mul, sum, seventh);
    let mut code = kernel(b, 7, &[(mean, Form::Store)]);
    code.rank = 3;
    let wide = side + 2;
    let center = wide * wide + wide + 1;
    let mut places = vec![center];
    for step in [wide * wide, wide, 1] {
        places.extend([center - step, center + step]);
    }
    let mut field = Field::new(side, 3, |i| (i as f64 * 0.3).sin());
    let by_hand = |field: &mut Field<f64>| {
        hand::jacobi(field.side, &field.from, &mut field.to);
        Ok(())
    };
    let cpus = (interpreter, compiler);
    measure("jacobi", &mut field, cpus, (&code, &places), &by_hand)
}

/// `(n == 3) | ((n == 2) & (c == 1))` for the sum `n` of the eight neighbours.
pub(crate) fn life(interpreter: &Cpu, compiler: &Cpu, rows: usize) -> Result<(), DeviceError> {
    let mut b = Builder::new();
    let x: Vec<Value> = (0..9).map(|i| b.input(i, DType::U8)).collect();
    let sum = x[2..].iter().fold(x[1], |sum, &v| b.bin(Prim::Add, sum, v));
    let [one, two, three] = [1.0, 2.0, 3.0].map(|v| b.constant(DType::U8, v));
    let born = b.compare(Prim::Eq, sum, three);
    let stays = b.compare(Prim::Eq, sum, two);
    let alive = b.compare(Prim::Eq, x[0], one);
    let stays = b.bin(Prim::And, stays, alive);
    let next = b.bin(Prim::Or, born, stays);
    let next = b.cast(next, DType::U8);
    let mut code = kernel(b, 9, &[(next, Form::Store)]);
    code.inputs = vec![DType::U8; 9];
    let wide = rows + 2;
    let mut places = vec![wide + 1];
    places.extend([0, 1, 2, wide, wide + 2]);
    places.extend([2 * wide, 2 * wide + 1, 2 * wide + 2]);
    let mut field = Field::new(rows, 2, |i| {
        u8::from((i as f64 * i as f64 * 0.37).sin() > 0.2)
    });
    let by_hand = |field: &mut Field<u8>| {
        hand::life(field.side, &field.from, &mut field.to);
        Ok(())
    };
    let cpus = (interpreter, compiler);
    measure("life", &mut field, cpus, (&code, &places), &by_hand)
}
