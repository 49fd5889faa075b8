//! NumPy's choice of the loop, with weak Python numbers (NEP 50).

use crate::{LoopSig, Loops, OpDef, Rule};
use arrayloom_types::{ALL_DTYPES, DType, Kind, Operand, can_cast_safely};
use smallvec::SmallVec;

/// A set of dtypes, one bit for each discriminant.
type Set = u16;

impl OpDef {
    /// The loop NumPy takes for these operands. `None` where NumPy raises an error, or takes a loop
    /// outside our dtypes, and where no operand is strong: the caller then leaves the call to NumPy.
    pub fn resolve(&self, operands: &[Operand]) -> Option<LoopSig> {
        if operands.len() != usize::from(self.arity) {
            return None;
        }
        let strongest = operands.iter().filter_map(|o| strong_kind(*o)).max()?;
        match self.rule {
            Rule::NotBool if operands.iter().all(|o| *o == Operand::Strong(DType::Bool)) => None,
            Rule::TrueDivide if operands.iter().all(|o| is_whole(*o)) => {
                self.find_loop(|_, dtype| dtype == DType::F64)
            }
            Rule::Logical => {
                let common = match operands[0] {
                    Operand::Strong(d) if operands.iter().all(|o| *o == operands[0]) => d,
                    _ => DType::Bool,
                };
                self.find_loop(|_, dtype| dtype == common)
            }
            _ => {
                let sets: SmallVec<[Set; 4]> =
                    operands.iter().map(|&o| accepted(o, strongest)).collect();
                self.find_loop(|place, dtype| sets[place] & bit(dtype) != 0)
            }
        }
    }

    /// The loop with exactly these operand dtypes.
    pub fn loop_of(&self, dtypes: &[DType]) -> Option<LoopSig> {
        if dtypes.len() != usize::from(self.arity) {
            return None;
        }
        self.find_loop(|place, dtype| dtypes[place] == dtype)
    }

    /// All loops in NumPy's order.
    pub fn signatures(&self) -> impl Iterator<Item = LoopSig> {
        self.loops.iter().flat_map(|group| {
            let (ins, outs) = group.sides();
            group.letters().map(move |letter| LoopSig {
                ins: ins.iter().map(|&c| dtype_at(c, letter)).collect(),
                outs: outs.iter().map(|&c| dtype_at(c, letter)).collect(),
            })
        })
    }

    /// The first loop all of whose operand dtypes fit at their places.
    fn find_loop(&self, fits: impl Fn(usize, DType) -> bool) -> Option<LoopSig> {
        for group in self.loops {
            let (ins, outs) = group.sides();
            for letter in group.letters() {
                let mut places = ins.iter().enumerate();
                if places.all(|(place, &c)| fits(place, dtype_at(c, letter))) {
                    return Some(LoopSig {
                        ins: ins.iter().map(|&c| dtype_at(c, letter)).collect(),
                        outs: outs.iter().map(|&c| dtype_at(c, letter)).collect(),
                    });
                }
            }
        }
        None
    }
}

impl Loops {
    /// The letters of the operands and those of the results.
    pub(crate) fn sides(&self) -> (&'static [u8], &'static [u8]) {
        let form = self.form.as_bytes();
        let arrow = form
            .iter()
            .position(|&c| c == b'-')
            .unwrap_or(form.len() - 2);
        (&form[..arrow], &form[arrow + 2..])
    }

    fn letters(&self) -> impl Iterator<Item = u8> + use<> {
        self.over.bytes()
    }
}

/// The dtype of each letter that stands in a form.
static BY_LETTER: [DType; 128] = {
    let mut table = [DType::Bool; 128];
    let mut i = 0;
    while i < ALL_DTYPES.len() {
        table[ALL_DTYPES[i].letter() as usize] = ALL_DTYPES[i];
        i += 1;
    }
    table
};

fn dtype_at(place: u8, letter: u8) -> DType {
    let letter = if place == b'T' { letter } else { place };
    BY_LETTER[usize::from(letter & 127)]
}

const fn bit(dtype: DType) -> Set {
    1 << dtype as u8
}

fn set_of(test: impl Fn(DType) -> bool) -> Set {
    ALL_DTYPES
        .iter()
        .filter(|d| test(**d))
        .fold(0, |all, d| all | bit(*d))
}

/// The dtypes that an operand casts to safely. A weak number casts to all dtypes of its kind and
/// above; if no array is of its kind or above, it is an array of Python's own type.
fn accepted(operand: Operand, strongest: Kind) -> Set {
    static SAFE: std::sync::LazyLock<[Set; 14]> =
        std::sync::LazyLock::new(|| ALL_DTYPES.map(|from| set_of(|to| can_cast_safely(from, to))));
    let above = |kind, own: DType| {
        if strongest >= kind {
            set_of(|d| d.kind() >= kind)
        } else {
            SAFE[own as usize]
        }
    };
    match operand {
        Operand::Strong(dtype) => SAFE[dtype as usize],
        Operand::WeakInt => above(Kind::Signed, DType::I64),
        Operand::WeakFloat => above(Kind::Float, DType::F64),
        // Any float decides the precision, not only another complex number.
        Operand::WeakComplex if strongest == Kind::Float => bit(DType::C64) | bit(DType::C128),
        Operand::WeakComplex => above(Kind::Complex, DType::C128),
    }
}

fn strong_kind(operand: Operand) -> Option<Kind> {
    match operand {
        Operand::Strong(dtype) => Some(dtype.kind()),
        _ => None,
    }
}

/// True for integers and bools.
fn is_whole(operand: Operand) -> bool {
    match operand {
        Operand::Strong(dtype) => dtype.kind() < Kind::Float,
        Operand::WeakInt => true,
        _ => false,
    }
}
