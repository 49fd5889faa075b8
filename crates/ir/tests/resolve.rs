//! Compares the choice of loops with NumPy's, for all operations and all operands.
//!
//! `golden/resolve.txt` holds NumPy's answers; `golden/make.py` writes it and tells its format.

use arrayloom_ir::{LoopSig, ops};
use arrayloom_types::{ALL_DTYPES, DType, Operand};

const GOLDEN: &str = include_str!("golden/resolve.txt");

fn kinds() -> Vec<Operand> {
    let strong = ALL_DTYPES.iter().map(|d| Operand::Strong(*d));
    let weak = [Operand::WeakInt, Operand::WeakFloat, Operand::WeakComplex];
    strong.chain(weak).collect()
}

fn text(sig: &LoopSig) -> String {
    let letters = |dtypes: &[DType]| dtypes.iter().map(|d| d.letter()).collect::<String>();
    format!("{}->{}", letters(&sig.ins), letters(&sig.outs))
}

#[test]
fn every_call_finds_numpys_loop() {
    let kinds = kinds();
    let mut checked = 0;
    for line in GOLDEN.lines().filter(|l| !l.starts_with("fold")) {
        let fields: Vec<&str> = line.split(' ').collect();
        let op = ops::find(fields[0]).unwrap_or_else(|| panic!("{} has no row", fields[0]));
        let arity: u32 = fields[1].parse().unwrap();
        let palette: Vec<&str> = fields[2].split(',').collect();
        assert_eq!(u32::from(op.arity), arity, "{}", op.name);
        for (number, place) in fields[3].char_indices() {
            let operands: Vec<Operand> = (0..arity)
                .rev()
                .map(|digit| kinds[number / kinds.len().pow(digit) % kinds.len()])
                .collect();
            let digits = "0123456789abcdefghijklmnopqrstuvwxyz";
            let expected = digits.find(place).map(|i| palette[i]);
            let found = op.resolve(&operands).map(|sig| text(&sig));
            assert_eq!(found.as_deref(), expected, "{} {operands:?}", op.name);
            checked += 1;
        }
    }
    assert!(checked > 15_000);
}

#[test]
fn every_fold_has_numpys_dtype() {
    let mut checked = 0;
    for line in GOLDEN.lines().filter(|l| l.starts_with("fold ")) {
        let fields: Vec<&str> = line.split(' ').collect();
        let op = ops::find(fields[1]).unwrap();
        for (dtype, expected) in ALL_DTYPES.iter().zip(fields[2].chars()) {
            let found = op
                .resolve_fold(*dtype, None)
                .map(|sig| sig.outs[0].letter());
            assert_eq!(
                found,
                Some(expected).filter(|c| *c != '.'),
                "{} {dtype}",
                op.name
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 11 * 14);
}

#[test]
fn every_requested_fold_has_numpys_dtype() {
    let mut checked = 0;
    for line in GOLDEN.lines().filter(|l| l.starts_with("foldas ")) {
        let fields: Vec<&str> = line.split(' ').collect();
        let op = ops::find(fields[1]).unwrap();
        let source = DType::from_letter(fields[2].chars().next().unwrap()).unwrap();
        for (wanted, expected) in ALL_DTYPES.iter().zip(fields[3].chars()) {
            let found = op
                .resolve_fold(source, Some(*wanted))
                .map(|sig| sig.outs[0].letter());
            let expected = Some(expected).filter(|c| *c != '.');
            assert_eq!(found, expected, "{} {source} {wanted}", op.name);
            checked += 1;
        }
    }
    assert_eq!(checked, 11 * 14 * 14);
}

#[test]
fn a_fold_takes_the_requested_dtype() {
    let add = ops::find("add").unwrap();
    let out = |dtype, wanted| add.resolve_fold(dtype, Some(wanted)).map(|sig| sig.outs[0]);
    assert_eq!(out(DType::I8, DType::F32), Some(DType::F32));
    assert_eq!(out(DType::F64, DType::I32), Some(DType::I32));
    assert_eq!(out(DType::C64, DType::F64), None);
    assert_eq!(out(DType::C64, DType::C128), Some(DType::C128));
    assert!(
        ops::find("logical_xor")
            .unwrap()
            .resolve_fold(DType::Bool, None)
            .is_none()
    );
}

#[test]
fn internal_operations_take_all_dtypes() {
    for dtype in ALL_DTYPES {
        let strong = Operand::Strong(dtype);
        let copy = ops::find("_copy").unwrap().resolve(&[strong]).unwrap();
        assert_eq!(copy.outs[0], dtype);
        let choose = ops::find("_where").unwrap();
        let sig = choose.resolve(&[
            Operand::Strong(DType::Bool),
            strong,
            Operand::Strong(DType::I16),
        ]);
        assert_eq!(
            sig.unwrap().outs[0],
            arrayloom_types::promote(dtype, DType::I16)
        );
    }
}
