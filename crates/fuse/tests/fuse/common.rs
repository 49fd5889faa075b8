//! Programs as they are recorded, for tests.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where something is missing"
)]
use arrayloom_fuse::{Slots, split};
use arrayloom_ir::{Action, LoopSig, Node, Operand, ReduceOp, SlotId, ops};
use arrayloom_types::{DType, Layout, Scalar};
use smallvec::smallvec;

/// A program as it is recorded.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) live: Vec<bool>,
}

impl Slots for Program {
    fn is_live(&self, slot: SlotId) -> bool {
        self.live[slot.0 as usize]
    }
    fn nbytes(&self, slot: SlotId) -> usize {
        self.sizes[slot.0 as usize]
    }
}

pub(crate) type View = (SlotId, Layout);

impl Program {
    /// An `f64` array; a temporary unless `live`.
    pub(crate) fn array(&mut self, shape: &[usize], live: bool) -> View {
        let layout = Layout::contiguous(DType::F64, shape);
        self.sizes.push(layout.len() * 8);
        self.live.push(live);
        (SlotId(u32::try_from(self.sizes.len() - 1).unwrap()), layout)
    }

    pub(crate) fn push(&mut self, node: Node) {
        let Program { nodes, sizes, live } = self;
        nodes.extend(split(node, &mut |bytes| {
            sizes.push(bytes);
            live.push(false);
            SlotId(u32::try_from(sizes.len() - 1).unwrap())
        }));
    }

    /// `out = name(ins)`.
    pub(crate) fn map(&mut self, name: &str, out: &View, ins: &[Operand]) {
        let op = ops::find(name).unwrap();
        self.push(Node {
            action: Action::Map(op),
            sig: LoopSig {
                ins: ins.iter().map(|_| DType::F64).collect(),
                outs: smallvec![out.1.dtype],
            },
            outs: smallvec![out.clone()],
            ins: ins.iter().map(|o| broadcast(o, &out.1.shape)).collect(),
            mask: None,
            site: 0,
            told: false,
            part: false,
        });
    }

    /// A new temporary `name(ins)`.
    pub(crate) fn temp(&mut self, name: &str, ins: &[Operand]) -> View {
        let shape = ins
            .iter()
            .find_map(|o| match o {
                Operand::View(_, layout) => Some(layout.shape.clone()),
                Operand::Scalar(_) | Operand::Table(..) => None,
            })
            .unwrap();
        let out = self.array(&shape, false);
        self.map(name, &out, ins);
        out
    }

    pub(crate) fn sum(&mut self, of: &View, axes: u32, live: bool) -> View {
        let shape: Vec<usize> = (0..)
            .zip(&of.1.shape)
            .map(|(a, &n)| if axes >> a & 1 == 1 { 1 } else { n })
            .collect();
        let out = self.array(&shape, live);
        self.push(Node {
            action: Action::Reduce {
                op: ReduceOp::Add,
                axes,
                initial: None,
            },
            sig: LoopSig {
                ins: smallvec![DType::F64],
                outs: smallvec![DType::F64],
            },
            outs: smallvec![out.clone()],
            ins: smallvec![read(of)],
            mask: None,
            site: 0,
            told: false,
            part: false,
        });
        out
    }
}

fn broadcast(operand: &Operand, shape: &[usize]) -> Operand {
    match operand {
        Operand::View(slot, layout) => Operand::View(*slot, layout.broadcast_to(shape)),
        Operand::Scalar(_) | Operand::Table(..) => operand.clone(),
    }
}

pub(crate) fn read(view: &View) -> Operand {
    Operand::View(view.0, view.1.clone())
}

pub(crate) fn number(value: f64) -> Operand {
    Operand::Scalar(Scalar::from_f64(DType::F64, value))
}

/// The window of a 2-D array that begins at `(i, j)`.
pub(crate) fn window(of: &View, (i, j): (isize, isize), shape: [usize; 2]) -> View {
    let mut layout = of.1.clone();
    layout.offset += i * layout.strides[0] + j * layout.strides[1];
    layout.shape = shape.as_slice().into();
    (of.0, layout)
}

impl Program {
    fn op(&mut self, name: &str, a: &View, b: &View) -> View {
        self.temp(name, &[read(a), read(b)])
    }

    fn times(&mut self, number_: f64, a: &View) -> View {
        self.temp("multiply", &[number(number_), read(a)])
    }

    /// `u**2 / h + 4.9 * h**2`.
    fn flux(&mut self, h: &View, u: &View) -> View {
        let u2 = self.temp("square", &[read(u)]);
        let left = self.op("divide", &u2, h);
        let h2 = self.temp("square", &[read(h)]);
        let right = self.times(4.9, &h2);
        self.op("add", &left, &right)
    }

    /// `(a + b) / 2 - k * (fa - fb)`.
    fn half(&mut self, [a, b]: [&View; 2], [fa, fb]: [&View; 2]) -> View {
        let sum = self.op("add", a, b);
        let mean = self.temp("divide", &[read(&sum), number(2.0)]);
        let difference = self.op("subtract", fa, fb);
        let change = self.times(0.01, &difference);
        self.op("subtract", &mean, &change)
    }

    /// Half steps of height and momenta between windows `a` and `b`.
    fn half_steps(
        &mut self,
        [ha, hb]: [&View; 2],
        [ua, ub]: [&View; 2],
        [va, vb]: [&View; 2],
    ) -> [View; 3] {
        let h = self.half([ha, hb], [ua, ub]);
        let [fa, fb] = [(ha, ua), (hb, ub)].map(|(h, u)| self.flux(h, u));
        let u = self.half([ua, ub], [&fa, &fb]);
        let [fa, fb] = [(ha, ua, va), (hb, ub, vb)].map(|(h, u, v)| {
            let uv = self.op("multiply", u, v);
            self.op("divide", &uv, h)
        });
        let v = self.half([va, vb], [&fa, &fb]);
        [h, u, v]
    }

    /// `state -= 0.02 * (a - b) + 0.02 * (c - d)`.
    fn update(&mut self, state: &View, [a, b, c, d]: [&View; 4]) {
        let (x, y) = (self.op("subtract", a, b), self.op("subtract", c, d));
        let (x, y) = (self.times(0.02, &x), self.times(0.02, &y));
        let change = self.op("add", &x, &y);
        self.map("subtract", state, &[read(state), read(&change)]);
    }
}

/// One step of shallow water on arrays of `n` by `n`.
pub(crate) fn shallow_water(n: usize) -> Program {
    let mut p = Program::default();
    let [h, u, v] = [0; 3].map(|_| p.array(&[n, n], true));
    let last = isize::try_from(n).unwrap() - 1;
    for (edge, inner) in [(0, 1), (last, last - 1)] {
        for state in [&h, &u, &v] {
            let (to, from) = (
                window(state, (0, edge), [n, 1]),
                window(state, (0, inner), [n, 1]),
            );
            p.map("negative", &to, &[read(&from)]);
        }
    }
    for (edge, inner) in [(0, 1), (last, last - 1)] {
        for state in [&h, &u, &v] {
            let (to, from) = (
                window(state, (edge, 0), [1, n]),
                window(state, (inner, 0), [1, n]),
            );
            p.map("negative", &to, &[read(&from)]);
        }
    }
    let across = |of: &View, i: isize| window(of, (i, 1), [n - 1, n - 2]);
    let along = |of: &View, j: isize| window(of, (1, j), [n - 2, n - 1]);
    let [ha, hb, ua, ub, va, vb] =
        [(&h, 1), (&h, 0), (&u, 1), (&u, 0), (&v, 1), (&v, 0)].map(|(s, i)| across(s, i));
    let [hx, ux, vx] = p.half_steps([&ha, &hb], [&ua, &ub], [&va, &vb]);
    let [ha, hb, ua, ub, va, vb] =
        [(&h, 1), (&h, 0), (&u, 1), (&u, 0), (&v, 1), (&v, 0)].map(|(s, j)| along(s, j));
    let [hy, vy, uy] = p.half_steps([&ha, &hb], [&va, &vb], [&ua, &ub]);
    let inner = |of: &View, at: (isize, isize)| window(of, at, [n - 2, n - 2]);
    let [hx, ux, vx] = [hx, ux, vx].map(|s| [inner(&s, (1, 0)), inner(&s, (0, 0))]);
    let [hy, uy, vy] = [hy, uy, vy].map(|s| [inner(&s, (0, 1)), inner(&s, (0, 0))]);
    let [hc, uc, vc] = [h, u, v].map(|s| inner(&s, (1, 1)));
    p.update(&hc, [&ux[0], &ux[1], &vy[0], &vy[1]]);
    let x = [0, 1].map(|i| p.flux(&hx[i], &ux[i]));
    let y = [0, 1].map(|i| {
        let vu = p.op("multiply", &vy[i], &uy[i]);
        p.op("divide", &vu, &hy[i])
    });
    p.update(&uc, [&x[0], &x[1], &y[0], &y[1]]);
    let x = [0, 1].map(|i| {
        let uv = p.op("multiply", &ux[i], &vx[i]);
        p.op("divide", &uv, &hx[i])
    });
    let y = [0, 1].map(|i| p.flux(&hy[i], &vy[i]));
    p.update(&vc, [&x[0], &x[1], &y[0], &y[1]]);
    p
}
