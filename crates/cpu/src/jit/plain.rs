//! Operations without masks: AVX2, where bools are whole elements of zeros or ones.

use super::forms::{Rm, Width, x, y};
use super::ops::{Asm, float_pred};
use super::ssa::{Mop, Pred, Ty};
use iced_x86::IcedError;
use iced_x86::code_asm::AsmMemoryOperand;

/// Turns elements that are zero or not into zeros or ones of whole elements.
pub(super) fn spread_truth(asm: &mut Asm, to: usize) -> Result<(), IcedError> {
    let zero = asm.scratch[0];
    asm.a.vpxor(y(zero), y(zero), y(zero))?;
    equal(asm, asm.widest, to, to, zero)?;
    equal(asm, asm.widest, to, to, zero)
}

fn equal(asm: &mut Asm, size: usize, to: usize, a: usize, b: usize) -> Result<(), IcedError> {
    if size == 8 {
        asm.a.vpcmpeqq(y(to), y(a), y(b))
    } else {
        asm.a.vpcmpeqd(y(to), y(a), y(b))
    }
}

pub(super) fn load_truth(
    asm: &mut Asm,
    to: usize,
    from: AsmMemoryOperand,
) -> Result<(), IcedError> {
    if asm.widest == 8 {
        asm.a.vpmovzxbq(y(to), from)?;
    } else {
        asm.a.vpmovzxbd(y(to), from)?;
    }
    spread_truth(asm, to)
}

pub(super) fn store_truth(
    asm: &mut Asm,
    to: AsmMemoryOperand,
    from: usize,
) -> Result<(), IcedError> {
    let s = asm.scratch[0];
    if asm.widest == 8 {
        halve(asm, s, from)?;
        asm.a.vpackssdw(x(s), x(s), x(s))?;
    } else {
        asm.a.vextracti128(x(s), y(from), 1)?;
        asm.a.vpackssdw(x(s), x(from), x(s))?;
    }
    asm.a.vpacksswb(x(s), x(s), x(s))?;
    asm.a.vpabsb(x(s), x(s))?;
    if asm.widest == 8 {
        asm.a.vmovd(to, x(s))
    } else {
        asm.a.vmovq(to, x(s))
    }
}

/// The low halves of four elements of eight bytes; uses the second scratch register.
fn halve(asm: &mut Asm, to: usize, from: usize) -> Result<(), IcedError> {
    let high = asm.scratch[1];
    asm.a.vextracti128(x(high), y(from), 1)?;
    asm.a.vshufps(x(to), x(from), x(high), 0x88)
}

pub(super) fn round(asm: &mut Asm, ty: Ty, to: usize, a: usize, how: i32) -> Result<(), IcedError> {
    match (ty, asm.width(ty)) {
        (Ty::F64, Width::X) => asm.a.vroundpd(x(to), x(a), how),
        (Ty::F64, _) => asm.a.vroundpd(y(to), y(a), how),
        (_, Width::X) => asm.a.vroundps(x(to), x(a), how),
        _ => asm.a.vroundps(y(to), y(a), how),
    }
}

/// A comparison into elements of the compared size.
fn compare(
    asm: &mut Asm,
    what: (Ty, Pred),
    to: usize,
    a: usize,
    b: usize,
) -> Result<(), IcedError> {
    let (ty, pred) = what;
    let (small, number) = (asm.width(ty) == Width::X, float_pred(pred));
    match ty {
        Ty::F64 => return asm.a.vcmppd(y(to), y(a), y(b), number),
        Ty::F32 if small => return asm.a.vcmpps(x(to), x(a), x(b), number),
        Ty::F32 => return asm.a.vcmpps(y(to), y(a), y(b), number),
        _ => {}
    }
    let (high, low) = if pred == Pred::Le { (a, b) } else { (b, a) };
    let equals = matches!(pred, Pred::Eq | Pred::Ne);
    match (equals, ty.size(), small) {
        (true, 8, _) => asm.a.vpcmpeqq(y(to), y(a), y(b))?,
        (true, _, true) => asm.a.vpcmpeqd(x(to), x(a), x(b))?,
        (true, _, false) => asm.a.vpcmpeqd(y(to), y(a), y(b))?,
        (false, 8, _) => asm.a.vpcmpgtq(y(to), y(high), y(low))?,
        (false, _, true) => asm.a.vpcmpgtd(x(to), x(high), x(low))?,
        (false, _, false) => asm.a.vpcmpgtd(y(to), y(high), y(low))?,
    }
    if matches!(pred, Pred::Ne | Pred::Le) {
        let zero = asm.scratch[1];
        asm.a.vpxor(y(zero), y(zero), y(zero))?;
        match (ty.size(), small) {
            (8, _) => asm.a.vpcmpeqq(y(to), y(to), y(zero))?,
            (_, true) => asm.a.vpcmpeqd(x(to), x(to), x(zero))?,
            (_, false) => asm.a.vpcmpeqd(y(to), y(to), y(zero))?,
        }
    }
    Ok(())
}

/// Truth of elements of `from` bytes as truth of elements of `size` bytes.
fn resize(
    asm: &mut Asm,
    from: usize,
    size: usize,
    to: usize,
    truth: usize,
) -> Result<(), IcedError> {
    match (from, size) {
        (4, 8) => asm.a.vpmovsxdq(y(to), x(truth)),
        (8, 4) => halve(asm, to, truth),
        _ if to == truth => Ok(()),
        _ => asm.a.vmovapd(y(to), y(truth)),
    }
}

pub(super) fn compare_truth(
    asm: &mut Asm,
    what: (Ty, Pred),
    to: usize,
    a: usize,
    b: usize,
) -> Result<(), IcedError> {
    let s = asm.scratch[0];
    compare(asm, what, s, a, b)?;
    resize(asm, what.0.size(), asm.widest, to, s)
}

/// `yes` where the truth holds, else `no`.
fn blend(
    asm: &mut Asm,
    ty: Ty,
    to: usize,
    choice: [usize; 2],
    truth: usize,
) -> Result<(), IcedError> {
    let [no, yes] = choice;
    match (asm.lane(ty), asm.width(ty)) {
        (8, _) => asm.a.vblendvpd(y(to), y(no), y(yes), y(truth)),
        (_, Width::X) => asm.a.vblendvps(x(to), x(no), x(yes), x(truth)),
        _ => asm.a.vblendvps(y(to), y(no), y(yes), y(truth)),
    }
}

pub(super) fn pick(
    asm: &mut Asm,
    what: (Ty, Pred, bool),
    to: usize,
    a: usize,
    b: usize,
) -> Result<(), IcedError> {
    let (ty, pred, second) = what;
    let [s, t, _] = asm.scratch;
    let number = if second { b } else { a };
    compare(asm, (ty, pred), s, a, b)?;
    compare(asm, (ty, Pred::Ordered), t, number, number)?;
    asm.a.vandpd(y(s), y(s), y(t))?;
    blend(asm, ty, to, [a, b], s)
}

pub(super) fn select(
    asm: &mut Asm,
    ty: Ty,
    to: usize,
    operands: &[usize],
) -> Result<(), IcedError> {
    let s = asm.scratch[0];
    resize(asm, asm.widest, asm.lane(ty), s, operands[0])?;
    blend(asm, ty, to, [operands[2], operands[1]], s)
}

pub(super) fn select_compare(
    asm: &mut Asm,
    what: (Ty, Pred),
    ty: Ty,
    to: usize,
    operands: &[usize],
) -> Result<(), IcedError> {
    let s = asm.scratch[0];
    compare(asm, what, s, operands[0], operands[1])?;
    resize(asm, what.0.size(), asm.lane(ty), s, s)?;
    blend(asm, ty, to, [operands[3], operands[2]], s)
}

pub(super) fn convert(
    asm: &mut Asm,
    from: Ty,
    ty: Ty,
    to: usize,
    a: usize,
) -> Result<(), IcedError> {
    let small = asm.width(ty) == Width::X;
    match (from, ty) {
        (Ty::F32, Ty::C64) => asm.a.vpmovzxdq(y(to), x(a)),
        (Ty::F64, Ty::C128) => {
            let [s, zero, _] = asm.scratch;
            asm.a.vpermpd(y(s), y(a), 0b0101_0000)?;
            asm.a.vxorpd(y(zero), y(zero), y(zero))?;
            asm.a.vblendpd(y(to), y(s), y(zero), 0b1010)
        }
        (Ty::F32, Ty::F64) | (Ty::C64, Ty::C128) => asm.a.vcvtps2pd(y(to), x(a)),
        (Ty::F64, Ty::F32) | (Ty::C128, Ty::C64) => asm.a.vcvtpd2ps(x(to), y(a)),
        (Ty::I32, Ty::F64) => asm.a.vcvtdq2pd(y(to), x(a)),
        (Ty::F64, Ty::I32) => asm.a.vcvttpd2dq(x(to), y(a)),
        (Ty::I32, Ty::F32) if small => asm.a.vcvtdq2ps(x(to), x(a)),
        (Ty::I32, Ty::F32) => asm.a.vcvtdq2ps(y(to), y(a)),
        (Ty::F32, Ty::I32) if small => asm.a.vcvttps2dq(x(to), x(a)),
        (Ty::F32, Ty::I32) => asm.a.vcvttps2dq(y(to), y(a)),
        (Ty::Bool, _) => {
            let s = asm.scratch[0];
            resize(asm, asm.widest, ty.size(), s, a)?;
            match (ty.size(), small) {
                (8, _) => asm.a.vpsrlq(y(to), y(s), 63),
                (_, true) => asm.a.vpsrld(x(to), x(s), 31),
                (_, false) => asm.a.vpsrld(y(to), y(s), 31),
            }
        }
        _ => match (from.size(), ty.size(), from.is_signed()) {
            (4, 8, true) => asm.a.vpmovsxdq(y(to), x(a)),
            (4, 8, false) => asm.a.vpmovzxdq(y(to), x(a)),
            (8, 4, _) => halve(asm, to, a),
            _ => asm.bits(Mop::Or, ty, to, a, Rm::Register(a)),
        },
    }
}

/// True when AVX2 has the operation; `first` is the type of its first operand.
pub(super) fn has(mop: Mop, first: Ty, ty: Ty) -> bool {
    let known = |ty: Ty| ty == Ty::Bool || ty.size() >= 4;
    let eight = |ty: Ty| matches!(ty, Ty::I64 | Ty::U64);
    if first.is_complex() || ty.is_complex() {
        return mop != Mop::Select;
    }
    let unsigned = matches!(first, Ty::U32 | Ty::U64);
    known(first)
        && known(ty)
        && match mop {
            Mop::Mul | Mop::Min | Mop::Max | Mop::Abs => !eight(ty),
            Mop::Shr => ty != Ty::I64,
            Mop::Cmp(pred) | Mop::SelectCmp(pred) => {
                first != Ty::Bool && (!unsigned || matches!(pred, Pred::Eq | Pred::Ne))
            }
            Mop::Convert => {
                let whole = !first.is_float() && !ty.is_float() && ty != Ty::Bool;
                let from_bool = first == Ty::Bool;
                whole
                    || (!from_bool
                        && matches!(
                            (first, ty),
                            (Ty::F32, Ty::F64 | Ty::I32)
                                | (Ty::F64, Ty::F32 | Ty::I32)
                                | (Ty::I32, Ty::F32 | Ty::F64)
                        ))
            }
            _ => true,
        }
}
