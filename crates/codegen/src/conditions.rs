//! Floating-point conditions: which values a kernel looks at, and which instruction met what.
//!
//! Nearly every condition leaves a value that is not finite. Kernels only look for such values, and only at
//! those where all others would show ([`shown`]). If one is found, another step computes all values once
//! more and notes for each instruction what it met, from its operands and its result ([`met`]). Where
//! results lie on operands, that step comes first.

use crate::Step;
use crate::access::register;
use crate::draft::number_of;
use crate::entry::Entry;
use arrayloom_ir::{FpFlags, Ins, Prim};
use arrayloom_types::{DType, Kind};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};

/// What an entry tells of its values, in words at the parameter `met`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Watch {
    /// Nothing.
    #[default]
    Nothing,
    /// Word 0 is not 0 if one of these values is not finite, or met a condition that does not show.
    Some(Vec<u32>),
    /// The classes of results of a fold, in the word `slot`.
    Results,
    /// What each instruction met, in the word of its number; and the classes of these values, 4 bits up.
    All {
        /// The values.
        classes: Vec<u32>,
        /// Nothing is to be done if word 0 is 0.
        after: bool,
    },
}

/// What is watched in a launch.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What finds out which instruction met what.
    pub step: Step,
    /// The step comes before all others, because they write over operands. Else it is only needed when one
    /// of the words is not 0 after the others.
    pub first: bool,
    /// The block of scratch with the words, which are 0 at first.
    pub scratch: usize,
    /// For each instruction of the step, the one of the kernel.
    pub(crate) origin: Vec<usize>,
    /// For each output of the kernel that is folded: its place among the words, and its value in the step.
    pub(crate) folds: Vec<(usize, u32)>,
}

impl Watched {
    /// The number of words, which are `u32`.
    pub fn words(&self) -> usize {
        let slots = self.folds.iter().map(|(slot, _)| slot + 1);
        slots.max().unwrap_or(0).max(1 + self.origin.len())
    }

    /// All steps of a launch whose own are `list`, in order: they leave in the words what was met.
    pub fn steps<'a>(&'a self, list: &'a [Step]) -> Vec<&'a Step> {
        let own = |wanted: bool| Some(&self.step).filter(|_| wanted);
        let list = own(self.first).into_iter().chain(list);
        list.chain(own(!self.first)).collect()
    }

    /// Runs the steps of a launch, notes what they met, and waits: for a launch that comes once, whose own step
    /// is compiled only if something was met. `send` copies the words to the device, `put` puts
    /// steps into the queue, and `fetch` copies the words back and waits.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn run<E>(
        &self,
        (list, flags): (&[Step], &[AtomicU8]),
        send: impl FnOnce(&[u32]) -> Result<(), E>,
        put: impl Fn(&[&Step]) -> Result<(), E>,
        fetch: impl Fn(&mut [u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut words = vec![0; self.words()];
        let all = || {
            send(&words)?;
            if self.first {
                put(&self.steps(list))?;
                return fetch(&mut words);
            }
            put(&list.iter().collect::<Vec<_>>())?;
            fetch(&mut words)?;
            if words.iter().any(|word| *word != 0) {
                put(&[&self.step])?;
                fetch(&mut words)?;
            }
            Ok(())
        };
        let done = all();
        if done.is_ok() {
            self.note(&words, flags);
        } else {
            // A device that failed may still write to them.
            let _left_to_it = words.leak();
        }
        done
    }

    /// Notes what the words say. They are those after all steps.
    pub fn note(&self, words: &[u32], flags: &[AtomicU8]) {
        let at = |i: usize| words.get(i).copied().unwrap_or(0);
        let mut found: Vec<u8> = (0..self.origin.len())
            .map(|i| (at(1 + i) & 15) as u8)
            .collect();
        for &(slot, value) in &self.folds {
            let (result, values) = (at(slot), at(1 + value as usize) >> 4);
            let (nan, infinite) = (result & 1 != 0, result & 2 != 0);
            let met = match (values & 1 != 0, values & 2 != 0) {
                (false, false) if nan => FpFlags::INVALID.0 | FpFlags::OVERFLOW.0,
                (false, false) if infinite => FpFlags::OVERFLOW.0,
                (false, true) if nan => FpFlags::INVALID.0,
                _ => 0,
            };
            found[value as usize] |= met;
        }
        for (&place, met) in self.origin.iter().zip(found) {
            if let Some(flag) = flags.get(place).filter(|_| met != 0) {
                flag.fetch_or(met, Ordering::Relaxed);
            }
        }
    }
}

/// True for values that may be endless or no numbers.
fn shows(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Float | Kind::Complex)
}

/// True when the result is not finite whenever operand number `operand` is not.
fn passes_on(ins: &Ins, operand: usize) -> bool {
    use Prim::{Abs, Add, Cast, Div, Mul, Neg, Sqrt, Square, Sub};
    match ins.prim {
        Add | Sub | Mul | Neg | Abs | Square | Sqrt => true,
        Cast => shows(ins.dtype),
        Div => operand == 0,
        _ => false,
    }
}

/// The values that must be looked at so that no condition goes unseen, when those of `seen` show anyhow.
pub(crate) fn shown(code: &[Ins], seen: &[u32]) -> Vec<u32> {
    let mut must: Vec<bool> = (0..code.len()).map(|i| met(code, i).is_some()).collect();
    let mut found = Vec::new();
    for i in 0..code.len() {
        let number = number_of(i);
        if !must[i] || seen.contains(&number) {
            continue;
        }
        let on = |ins: &Ins| {
            let operands = crate::draft::used(ins);
            let mut places = operands.iter().enumerate();
            places.any(|(at, &v)| v == number && passes_on(ins, at))
        };
        let next = code.iter().skip(i + 1).position(on);
        match next.filter(|_| shows(code[i].dtype)) {
            Some(by) => must[i + 1 + by] = true,
            None => found.push(number),
        }
    }
    found
}

/// The class of a value, as an expression.
fn class(code: &[Ins], v: u32) -> String {
    let dtype = code[v as usize].dtype;
    if shows(dtype) {
        format!("class_{}(v{v})", register(dtype))
    } else {
        "0u".to_owned()
    }
}

/// True for zero, as an expression.
fn is_zero(code: &[Ins], v: u32) -> String {
    if code[v as usize].dtype.is_complex() {
        format!("(b8)(v{v}.re == 0 && v{v}.im == 0)")
    } else {
        format!("(b8)(v{v} == 0)")
    }
}

/// Primitives that move bits, choose or ask, and meet nothing.
fn is_exact(prim: Prim) -> bool {
    use Prim::{Complex, Conj, CopySign, FrexpMant, Imag, ModfFrac, Neg, Real, Sign};
    let moves = matches!(prim, Conj | Neg | Real | Imag | CopySign | Complex);
    let chooses = matches!(
        prim,
        Prim::Input | Prim::Const | Prim::Iota | Prim::Gather | Prim::Select
    );
    moves || chooses || matches!(prim, Sign | FrexpMant | ModfFrac)
}

/// What instruction `i` met, as an expression; `None` if it meets nothing.
fn met(code: &[Ins], i: usize) -> Option<String> {
    let ins = &code[i];
    if is_exact(ins.prim) {
        return None;
    }
    let from = code[ins.a as usize].dtype;
    let (a, result) = (class(code, ins.a), class(code, number_of(i)));
    if ins.prim == Prim::Cast {
        return cast(ins, from, &a, &result);
    }
    let zero = |v| is_zero(code, v);
    if from.is_integer() {
        return integer(code, ins);
    }
    let second = (crate::draft::used(ins).len() > 1).then(|| class(code, ins.b));
    let Some(b) = second else {
        let infinite = match ins.prim {
            Prim::Reciprocal => format!("({} ? 1u : 2u)", zero(ins.a)),
            Prim::Log | Prim::Log2 | Prim::Log10 | Prim::Log1p | Prim::Atan | Prim::Atanh => {
                "1u".to_owned()
            }
            Prim::Spacing if from != DType::F16 => return None,
            _ => "2u".to_owned(),
        };
        return shows(ins.dtype).then(|| format!("met_one({a}, {result}, {infinite})"));
    };
    if matches!(ins.prim, Prim::Lt | Prim::Le) && from.is_complex() {
        let (kind, a, b) = (register(from), ins.a, ins.b);
        return Some(format!("met_unordered_{kind}(v{a}, v{b})"));
    }
    if !shows(ins.dtype) {
        return None;
    }
    Some(match ins.prim {
        Prim::Div => format!("met_div({a}, {b}, {result}, {})", zero(ins.b)),
        Prim::Pow | Prim::FloatPow => format!("met_pow({a}, {b}, {result}, {})", zero(ins.a)),
        Prim::FloorDiv => {
            let most = if from == DType::F16 { "2u" } else { "10u" };
            format!("met_two({a}, {b}, {result}, {} ? 1u : {most})", zero(ins.b))
        }
        Prim::NextAfter => format!("met_next({a}, {b}, {result})"),
        Prim::LogAddExp | Prim::LogAddExp2 => format!("met_log({a}, {b}, {result})"),
        _ => format!("met_two({a}, {b}, {result}, 2u)"),
    })
}

/// What a conversion met.
fn cast(ins: &Ins, from: DType, class: &str, result: &str) -> Option<String> {
    if shows(ins.dtype) {
        let widens = shows(from) && ins.dtype.real().size() >= from.real().size();
        return (!widens && from != DType::Bool).then(|| format!("met_one({class}, {result}, 2u)"));
    }
    if ins.dtype == DType::Bool || !shows(from) {
        return None;
    }
    let part = if from.is_complex() { ".re" } else { "" };
    let name = match ins.dtype {
        DType::U64 => "met_unsigned",
        DType::I64 | DType::U32 => "met_wide",
        _ => "met_narrow",
    };
    Some(format!("{name}((f64)v{}{part})", ins.a))
}

/// What an operation of integers met.
fn integer(code: &[Ins], ins: &Ins) -> Option<String> {
    let dtype = code[ins.a as usize].dtype;
    let (a, b) = (ins.a, ins.b);
    match ins.prim {
        Prim::Reciprocal => Some(format!("(v{a} == 0 ? 9u : 0u)")),
        Prim::FloorDiv if dtype.kind() == Kind::Signed => {
            let kind = register(dtype);
            let least = format!("({kind})((u64)1 << {})", dtype.size() * 8 - 1);
            Some(format!(
                "(v{b} == 0 ? 1u : v{b} == ({kind})-1 && v{a} == {least} ? 2u : 0u)"
            ))
        }
        Prim::FloorDiv | Prim::Rem | Prim::Fmod => Some(format!("(v{b} == 0 ? 1u : 0u)")),
        _ => None,
    }
}

/// The statement that looks at the values of a point: into `bad`, or into words of their own.
pub(crate) fn looked(entry: &Entry, indent: &str) -> String {
    let code = &entry.code;
    let mut text = String::new();
    match &entry.watch {
        Watch::Some(values) => {
            for &v in values {
                let of_value = shows(code[v as usize].dtype).then(|| class(code, v));
                let own = of_value.or_else(|| met(code, v as usize));
                let _ = writeln!(text, "{indent}bad |= {};", own.unwrap_or_default());
            }
        }
        Watch::All { classes, .. } => {
            for i in 0..code.len() {
                let number = number_of(i);
                let of_value = || format!("{} << 4", class(code, number));
                let own = classes.contains(&number).then(of_value);
                let all: Vec<String> = met(code, i).into_iter().chain(own).collect();
                if !all.is_empty() {
                    let _ = writeln!(text, "{indent}met{i} |= {};", all.join(" | "));
                }
            }
        }
        Watch::Nothing | Watch::Results => {}
    }
    text
}

/// A line for each instruction that meets something or is folded.
fn each(entry: &Entry, line: impl Fn(usize) -> String) -> String {
    let classes = match &entry.watch {
        Watch::All { classes, .. } => classes.as_slice(),
        _ => &[],
    };
    let counts = |i: &usize| met(&entry.code, *i).is_some() || classes.contains(&number_of(*i));
    let all: Vec<String> = (0..entry.code.len()).filter(counts).map(line).collect();
    all.concat()
}

/// The end of an item that has nothing to look for.
pub(crate) fn ended(entry: &Entry) -> &'static str {
    match entry.watch {
        Watch::All { after: true, .. } => "    if (met[0] == 0u) return;\n",
        _ => "",
    }
}

/// Declarations of what [`looked`] adds to.
pub(crate) fn declared(entry: &Entry) -> String {
    match &entry.watch {
        Watch::Some(_) => "    u32 bad = 0u;\n".to_owned(),
        Watch::All { .. } => each(entry, |i| format!("    u32 met{i} = 0u;\n")),
        Watch::Nothing | Watch::Results => String::new(),
    }
}

/// What is told at the end of an item.
pub(crate) fn told(entry: &Entry) -> String {
    match &entry.watch {
        Watch::Some(_) => "    if (bad) OR_INTO(met, bad);\n".to_owned(),
        Watch::All { .. } => each(entry, |i| {
            format!("    if (met{i}) OR_INTO(met + {}, met{i});\n", i + 1)
        }),
        Watch::Nothing | Watch::Results => String::new(),
    }
}

/// The statement that looks at a result of a fold, which is the variable `sum`.
pub(crate) fn result(entry: &Entry, indent: &str) -> String {
    if entry.watch != Watch::Results {
        return String::new();
    }
    let (kind, dtype) = (register(entry.folded()), entry.folded());
    let sum = if dtype == DType::F16 {
        "rounded_f16(sum)"
    } else {
        "sum"
    };
    let class = format!("class_{kind}({sum})");
    format!("{indent}if ({class}) {{ OR_INTO(met + slot, {class}); OR_INTO(met, 1u); }}\n")
}

/// True for folds whose results tell what they met.
pub(crate) fn tells(prim: Prim, dtype: DType) -> bool {
    shows(dtype) && matches!(prim, Prim::Add | Prim::Mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_ir::Builder;

    #[test]
    fn few_values_show_all_conditions() {
        let mut b = Builder::new();
        let (x, y) = (b.input(0, DType::F64), b.input(1, DType::F64));
        let sum = b.bin(Prim::Add, x, y);
        let half = b.un(Prim::Abs, sum);
        let same = b.cast(half, DType::F32);
        let ratio = b.bin(Prim::Div, x, sum);
        let most = b.bin(Prim::Max, ratio, y);
        let code = b.finish();
        // The quotient may be finite where its divisor is not; the larger of two may be the finite one.
        assert_eq!(shown(&code, &[]), [same.0, ratio.0, most.0]);
        assert_eq!(shown(&code, &[same.0]), [ratio.0, most.0]);
    }

    #[test]
    fn integers_are_looked_at_themselves() {
        let mut b = Builder::new();
        let (x, y) = (b.input(0, DType::I32), b.input(1, DType::I32));
        let down = b.bin(Prim::FloorDiv, x, y);
        b.bin(Prim::Mul, down, y);
        let code = b.finish();
        assert_eq!(shown(&code, &[]), [down.0]);
    }
}
