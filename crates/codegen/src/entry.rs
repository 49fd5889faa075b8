//! What is compiled once: a kernel of one form, without sizes.

use crate::access::{register, unit};
use crate::conditions::Watch;
use crate::filter;
use crate::fourier::{self, FourierPass};
use crate::philox;
use crate::product::Reading;
use crate::sort::{self, SortPass};
use crate::window;
use arrayloom_ir::{Ins, ReduceOp, ScatterMode};
use arrayloom_types::DType;
use smallvec::SmallVec;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Items of a group, in every kernel.
pub const GROUP: u32 = 128;

/// What is known of a step when the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stride {
    /// The operand repeats.
    Zero,
    /// One element follows the other.
    Unit,
    /// A parameter.
    Any,
}

/// An operand in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The dtype of its elements.
    pub dtype: DType,
    /// Elements lie at multiples of their size (of their parts' for complex numbers).
    pub aligned: bool,
    /// For each dimension.
    pub strides: SmallVec<[Stride; 4]>,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// One value, which is a parameter.
    Value(DType),
    /// A view.
    View(View),
    /// A view of which elements are read by number.
    Table(View),
}

/// What the kernel makes of its values.
///
/// Dimensions stand outermost first. In folds the first `kept` ones name a result, the others are
/// folded in loop order, and the last `stream` ones make one run (see `ReduceOrder`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Every value is written to its place. One item for a point.
    Map,
    /// A fold in the order of the launch. One item for a result.
    Fold {
        /// The fold.
        op: ReduceOp,
        /// True when there is a value to start from.
        initial: bool,
    },
    /// A fold that may be taken in parts: one item for a part of the points of a result.
    Chunk {
        /// The fold.
        op: ReduceOp,
    },
    /// NumPy's tree in parts: one item for a part of a piece.
    Tree,
    /// The rest of the trees: one group for a result.
    Combine,
    /// A running fold along the last dimension. One item for a line.
    Scan {
        /// The fold.
        op: ReduceOp,
    },
    /// The place of an extreme. One item for a result.
    Place {
        /// True for the largest.
        max: bool,
    },
    /// The place of an extreme in a part of the points.
    PlaceChunk {
        /// True for the largest.
        max: bool,
    },
    /// The best of the parts. One item for a result.
    PlaceCombine {
        /// True for the largest.
        max: bool,
    },
    /// Values at places by number, which lie in scratch.
    Scatter {
        /// What becomes of an element.
        mode: ScatterMode,
        /// Which part of the work it is.
        pass: Pass,
    },
    /// A part of a sort.
    Sort(SortPass),
    /// A product of matrices over rows, columns and the shared axis. One group for a square of results.
    Product(Reading),
    /// Random numbers. One item for a value of the counter.
    Philox,
    /// A part of a Fourier transform.
    Fourier {
        /// Which part of the work it is.
        pass: FourierPass,
        /// Numbers have double precision.
        wide: bool,
    },
    /// A pass of a filter along an axis. One item for a few neighbours along it.
    Filter(filter::Pass),
    /// A filter over a window of any shape. One item for a voxel.
    Window(window::Window),
    /// A pass of a filter along the last axis. One group for neighbours, which brings what it reads to local memory.
    Tile(filter::Pass),
    /// A pass of a filter along an axis whose windows are joined from boxes of powers of two. One item for a result.
    Boxes(filter::Pass),
    /// A pass of a filter along an axis whose windows are joined from cuts. One item for a result.
    Cuts(filter::Pass),
}

/// The kernels of a scatter, after the one that writes the places down. Points go to bins by a hash of their
/// place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// All points one after another, by one item.
    Whole,
    /// How many points of a part of them go to each bin. One item for a part.
    Count,
    /// How many points of a bin come before those of each part. One item for a bin.
    Sum,
    /// The numbers of the points, bin by bin, in C order in each. One item for a part.
    Sort,
    /// The points of a bin one after another. One item for a bin.
    Bins,
}

/// One kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The instructions; inputs are numbered as `ins`.
    pub code: Vec<Ins>,
    /// The inputs.
    pub ins: Vec<Source>,
    /// The results: number of the value, and where it goes.
    pub outs: Vec<(u32, View)>,
    /// What is made of the values.
    pub form: Form,
    /// Number of dimensions.
    pub dims: u8,
    /// How many of the first name a result.
    pub kept: u8,
    /// How many of the last make one run.
    pub stream: u8,
    /// Which dimension an axis is whose index is read.
    pub iota: SmallVec<[(u32, u8); 2]>,
    /// Places do not fit 32 bits.
    pub wide: bool,
    /// No result shares memory with an operand.
    pub apart: bool,
    /// An item has a loop over many values, and sums compute the values of a leaf first, and then add them:
    /// what runs an item has vector registers.
    pub leaves: bool,
    /// What it tells of floating-point conditions.
    pub watch: Watch,
}

/// One parameter of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// The memory of an input.
    In(usize),
    /// The memory of a result.
    Out(usize),
    /// Units from its start to the first element of an input.
    InOffset(usize),
    /// The same for a result.
    OutOffset(usize),
    /// The step of an input on a dimension.
    InStride(usize, usize),
    /// The step of a result on a dimension.
    OutStride(usize, usize),
    /// An input that is one value.
    Value(usize),
    /// The extent of a dimension.
    Extent(usize),
    /// Factor and shift for dividing by the extent of a dimension.
    Magic(usize),
    /// The rest of [`Param::Magic`].
    Shift(usize),
    /// Memory between the steps.
    Scratch(usize),
    /// A number that a form needs: its meaning is in the form's text.
    Number(&'static str),
    /// The value that a fold starts from.
    Initial,
    /// The words of floating-point conditions.
    Met,
}

impl Entry {
    /// The name of the kernel in its program.
    pub fn name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        format!("k{:016x}", hasher.finish())
    }

    /// The type of indices.
    pub(crate) fn index(&self) -> &'static str {
        if self.wide { "i64" } else { "i32" }
    }

    /// The parameters in order.
    pub fn params(&self) -> Vec<Param> {
        let mut all = Vec::new();
        for (i, source) in self.ins.iter().enumerate() {
            match source {
                Source::Value(_) => all.push(Param::Value(i)),
                Source::View(view) | Source::Table(view) => {
                    all.extend([Param::In(i), Param::InOffset(i)]);
                    let any = (0..view.strides.len()).filter(|&d| view.strides[d] == Stride::Any);
                    all.extend(any.map(|d| Param::InStride(i, d)));
                }
            }
        }
        for (i, (_, view)) in self.outs.iter().enumerate() {
            all.extend([Param::Out(i), Param::OutOffset(i)]);
            let any = (0..view.strides.len()).filter(|&d| view.strides[d] == Stride::Any);
            all.extend(any.map(|d| Param::OutStride(i, d)));
        }
        all.extend((0..usize::from(self.dims)).map(Param::Extent));
        match self.form {
            Form::Map if self.dims > 3 => {
                all.push(Param::Number("rows"));
                for dim in 1..usize::from(self.dims) - 2 {
                    all.extend([Param::Magic(dim), Param::Shift(dim)]);
                }
            }
            Form::Map | Form::Product(_) => {}
            Form::Fold { initial, .. } => {
                all.extend([Param::Number("items"), Param::Number("piece")]);
                all.extend(initial.then_some(Param::Initial));
            }
            Form::Chunk { .. } | Form::PlaceChunk { .. } => {
                all.extend(["items", "total", "part", "parts"].map(Param::Number));
            }
            Form::Tree => {
                all.extend(["items", "run", "piece", "pieces", "parts"].map(Param::Number));
            }
            Form::Combine => {
                let numbers = ["items", "outers", "run", "piece", "pieces", "parts"];
                all.extend(numbers.map(Param::Number));
                all.push(Param::Initial);
            }
            Form::Scan { .. } => all.push(Param::Number("items")),
            Form::Place { .. } => all.extend(["items", "total"].map(Param::Number)),
            Form::Scatter { .. } => {
                all.extend(["items", "total", "part", "parts", "bins"].map(Param::Number));
            }
            Form::PlaceCombine { .. } => all.extend(["items", "parts"].map(Param::Number)),
            Form::Sort(_) => all.extend(sort::NUMBERS.map(Param::Number)),
            Form::Philox => all.extend(philox::NUMBERS.map(Param::Number)),
            Form::Fourier { .. } => all.extend(fourier::NUMBERS.map(Param::Number)),
            Form::Filter(pass) | Form::Boxes(pass) => {
                all.extend(pass.numbers().map(Param::Number));
            }
            Form::Tile(pass) => {
                all.extend(pass.numbers().map(Param::Number));
                all.push(Param::Number("brought"));
            }
            Form::Cuts(pass) => {
                all.extend(pass.numbers().map(Param::Number));
                all.push(Param::Number("cut"));
            }
            Form::Window(known) => all.extend(known.numbers().map(Param::Number)),
        }
        let scratch = match self.form {
            Form::Chunk { .. } | Form::Tree | Form::Combine => 1,
            Form::Scatter { .. } => 3,
            Form::Sort(_) => 6,
            Form::Fourier { .. } => 4,
            Form::PlaceChunk { .. } | Form::PlaceCombine { .. } => 2,
            _ => 0,
        };
        all.extend((0..scratch).map(Param::Scratch));
        if self.watch != Watch::Nothing {
            all.push(Param::Met);
        }
        if self.watch == Watch::Results {
            all.push(Param::Number("slot"));
        }
        all
    }

    /// True if the items of a group work together, so that the grid has exactly the groups that are asked for.
    pub(crate) fn in_groups(&self) -> bool {
        match self.form {
            Form::Combine | Form::Product(_) | Form::Tile(_) => true,
            Form::Sort(pass) => pass.in_groups(),
            _ => false,
        }
    }

    /// The dtype of the value that is folded.
    pub(crate) fn folded(&self) -> DType {
        match self.outs.first() {
            Some((value, view)) => {
                let made = self.code.get(*value as usize);
                made.map_or(view.dtype, |ins| ins.dtype)
            }
            None => DType::F64,
        }
    }

    /// The type of the running value of a fold: sums of `float16` are `float32`.
    pub(crate) fn scratch_type(&self, number: usize) -> String {
        if let Form::Sort(pass) = self.form {
            return pass.scratch_type(number);
        }
        if let Form::Fourier { wide, .. } = self.form {
            return if wide { "f64" } else { "f32" }.to_owned();
        }
        if number == 1 || matches!(self.form, Form::Scatter { .. }) {
            return "i64".to_owned();
        }
        register(self.folded())
    }

    /// A parameter in the text.
    pub(crate) fn declared(&self, param: Param) -> String {
        let restrict = if self.apart { " restrict" } else { "" };
        let input = |i: usize| match &self.ins[i] {
            Source::View(view) => unit(view),
            _ => "u8".to_owned(),
        };
        match param {
            Param::In(i) => format!("GLB const {} *{restrict} pi{i}", input(i)),
            Param::Out(i) => format!("GLB {} *{restrict} po{i}", unit(&self.outs[i].1)),
            Param::InOffset(i) => format!("const i64 oi{i}"),
            Param::OutOffset(i) => format!("const i64 oo{i}"),
            Param::InStride(i, d) => format!("const ix si{i}_{d}"),
            Param::OutStride(i, d) => format!("const ix so{i}_{d}"),
            Param::Value(i) => match &self.ins[i] {
                Source::Value(DType::F16) => format!("const u16 x{i}"),
                Source::Value(d) if d.is_complex() => {
                    let part = register(d.real());
                    format!("const {part} x{i}_re, const {part} x{i}_im")
                }
                Source::Value(d) => format!("const {} x{i}", register(*d)),
                Source::View(_) | Source::Table(_) => String::new(),
            },
            Param::Extent(d) => format!("const ix n{d}"),
            Param::Magic(d) => format!("const u32 magic{d}"),
            Param::Shift(d) => format!("const u32 shift{d}"),
            Param::Scratch(i) => format!("GLB {} *scratch{i}", self.scratch_type(i)),
            Param::Number(name) => format!("const i64 {name}"),
            Param::Met => "GLB u32 *met".to_owned(),
            Param::Initial => match self.folded() {
                DType::F16 => "const u16 initial".to_owned(),
                d if d.is_complex() => {
                    let part = register(d.real());
                    format!("const {part} initial_re, const {part} initial_im")
                }
                d => format!("const {} initial", register(d)),
            },
        }
    }
}
