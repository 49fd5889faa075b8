//! Operations on vector registers, for AVX-512 with masks and for AVX2 without.
//!
//! Every operation writes its result with its last instruction, so the result may lie in the register
//! of an operand. Bools are bytes of 0 and 1 with masks, and whole elements of zeros or ones without.

use super::forms::{
    Rm, Width, into_mask, narrow, narrow_more, spread, three, two, widen, widen_more, x, y, z,
};
use super::plain;
use super::ssa::{Mop, Pred, Ty};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmMemoryOperand, AsmRegisterK, AsmRegisterXmm, AsmRegisterYmm, AsmRegisterZmm, CodeAssembler,
    dword_bcst, eax, k2, qword_bcst,
};

/// The assembler and what it works for.
pub(super) struct Asm {
    pub(super) a: CodeAssembler,
    /// AVX-512.
    pub(super) masks: bool,
    pub(super) lanes: usize,
    /// Bytes of the largest element.
    pub(super) widest: usize,
    /// In the tail.
    pub(super) masked: bool,
    /// The instruction counts parts of complex numbers, and so does its mask.
    pub(super) parts: bool,
    /// Registers for the work inside of operations; the last one holds operands of the tail.
    pub(super) scratch: [usize; 3],
}

/// The number of a comparison of floats; none of them minds a quiet NaN.
pub(super) fn float_pred(pred: Pred) -> i32 {
    match pred {
        Pred::Eq => 0x00,
        Pred::Ne => 0x04,
        Pred::Lt => 0x11,
        Pred::Le => 0x12,
        Pred::NotLt => 0x15,
        Pred::NotGt => 0x1a,
        Pred::Unordered => 0x03,
        Pred::Ordered => 0x07,
    }
}

/// The number of a comparison of integers.
fn integer_pred(pred: Pred) -> i32 {
    match pred {
        Pred::Eq | Pred::Unordered | Pred::Ordered => 0,
        Pred::Lt => 1,
        Pred::Le | Pred::NotGt => 2,
        Pred::Ne => 4,
        Pred::NotLt => 5,
    }
}

impl Asm {
    pub(super) fn xd(&self, to: usize) -> AsmRegisterXmm {
        match (self.masked, self.parts) {
            (false, _) => x(to),
            (true, false) => x(to).k1().z(),
            (true, true) => x(to).k3().z(),
        }
    }
    pub(super) fn yd(&self, to: usize) -> AsmRegisterYmm {
        match (self.masked, self.parts) {
            (false, _) => y(to),
            (true, false) => y(to).k1().z(),
            (true, true) => y(to).k3().z(),
        }
    }
    pub(super) fn zd(&self, to: usize) -> AsmRegisterZmm {
        match (self.masked, self.parts) {
            (false, _) => z(to),
            (true, false) => z(to).k1().z(),
            (true, true) => z(to).k3().z(),
        }
    }

    /// Bytes of an element in a register.
    pub(super) fn lane(&self, ty: Ty) -> usize {
        if ty == Ty::Bool && !self.masks {
            self.widest
        } else {
            ty.size()
        }
    }

    pub(super) fn width(&self, ty: Ty) -> Width {
        match self.lanes * self.lane(ty) {
            64.. => Width::Z,
            32.. => Width::Y,
            _ => Width::X,
        }
    }

    /// True if the elements of a vector fill a register, the least that a memory operand reads.
    pub(super) fn fills_register(&self, ty: Ty) -> bool {
        self.lanes * ty.size() >= 16
    }

    /// Brings elements into a register.
    pub(super) fn load(
        &mut self,
        ty: Ty,
        to: usize,
        from: AsmMemoryOperand,
    ) -> Result<(), IcedError> {
        if ty == Ty::Bool && !self.masks {
            return plain::load_truth(self, to, from);
        }
        self.parts = ty == Ty::C128;
        let w = self.width(ty);
        if self.masked {
            return match ty.size() {
                1 => spread!(self, vmovdqu8, w, to, from),
                2 => spread!(self, vmovdqu16, w, to, from),
                4 => spread!(self, vmovdqu32, w, to, from),
                _ => spread!(self, vmovdqu64, w, to, from),
            };
        }
        match self.lanes * ty.size() {
            4 => self.a.vmovd(x(to), from),
            8 => self.a.vmovq(x(to), from),
            _ => spread!(self, vmovupd, w, to, from),
        }
    }

    /// Fills a register with one value.
    pub(super) fn repeat(
        &mut self,
        ty: Ty,
        to: usize,
        from: AsmMemoryOperand,
        konst: bool,
    ) -> Result<(), IcedError> {
        // The value is there for dead lanes too.
        let masked = std::mem::replace(&mut self.masked, false);
        let w = self.width(ty);
        let done = match if konst { 8 } else { ty.size() } {
            1 => spread!(self, vpbroadcastb, w, to, from),
            2 => spread!(self, vpbroadcastw, w, to, from),
            4 => spread!(self, vpbroadcastd, w, to, from),
            8 => spread!(self, vpbroadcastq, w, to, from),
            _ if self.masks => self.a.vbroadcastf64x2(z(to), from),
            _ => self.a.vbroadcastf128(y(to), from),
        };
        self.masked = masked;
        done?;
        if ty == Ty::Bool && !self.masks && !konst {
            plain::spread_truth(self, to)?;
        }
        Ok(())
    }

    /// Writes a register.
    pub(super) fn store(
        &mut self,
        ty: Ty,
        to: AsmMemoryOperand,
        from: usize,
        around: bool,
    ) -> Result<(), IcedError> {
        if ty == Ty::Bool && !self.masks {
            return plain::store_truth(self, to, from);
        }
        let w = self.width(ty);
        if self.masked {
            let to = if ty.size() == 16 { to.k3() } else { to.k1() };
            return match (ty.size(), w) {
                (1, Width::X) => self.a.vmovdqu8(to, x(from)),
                (1, Width::Y) => self.a.vmovdqu8(to, y(from)),
                (1, Width::Z) => self.a.vmovdqu8(to, z(from)),
                (2, Width::X) => self.a.vmovdqu16(to, x(from)),
                (2, Width::Y) => self.a.vmovdqu16(to, y(from)),
                (2, Width::Z) => self.a.vmovdqu16(to, z(from)),
                (4, Width::X) => self.a.vmovdqu32(to, x(from)),
                (4, Width::Y) => self.a.vmovdqu32(to, y(from)),
                (4, Width::Z) => self.a.vmovdqu32(to, z(from)),
                (_, Width::X) => self.a.vmovdqu64(to, x(from)),
                (_, Width::Y) => self.a.vmovdqu64(to, y(from)),
                (_, Width::Z) => self.a.vmovdqu64(to, z(from)),
            };
        }
        match (w, around) {
            _ if self.lanes * ty.size() == 4 => self.a.vmovd(to, x(from)),
            _ if self.lanes * ty.size() == 8 => self.a.vmovq(to, x(from)),
            (Width::X, false) => self.a.vmovupd(to, x(from)),
            (Width::Y, false) => self.a.vmovupd(to, y(from)),
            (Width::Z, false) => self.a.vmovupd(to, z(from)),
            (Width::X, true) => self.a.vmovntdq(to, x(from)),
            (Width::Y, true) => self.a.vmovntdq(to, y(from)),
            (Width::Z, true) => self.a.vmovntdq(to, z(from)),
        }
    }

    /// Computes a value of type `types.1` from operands of which the first has type `types.0`.
    /// `memory` is the last operand, if it is no register, and whether it is one value.
    pub(super) fn operation(
        &mut self,
        mop: Mop,
        types: (Ty, Ty),
        to: usize,
        operands: &[usize],
        memory: Option<(AsmMemoryOperand, bool)>,
    ) -> Result<(), IcedError> {
        let (first, ty) = types;
        self.parts = ty.is_complex();
        let last = match memory {
            Some((place, true)) if first.size() == 4 => Rm::Memory(dword_bcst(place)),
            Some((place, true)) => Rm::Memory(qword_bcst(place)),
            Some((place, false)) => Rm::Memory(place),
            None => Rm::Register(operands[operands.len() - 1]),
        };
        let (a, w) = (operands[0], self.width(ty));
        match mop {
            Mop::Add | Mop::Sub | Mop::Mul | Mop::Div => self.arithmetic(mop, ty, to, a, last),
            Mop::And | Mop::Or | Mop::Xor | Mop::AndNot => self.bits(mop, ty, to, a, last),
            Mop::Sqrt if ty == Ty::F64 => two!(self, vsqrtpd, w, to, last),
            Mop::Sqrt => two!(self, vsqrtps, w, to, last),
            Mop::Round(how) if self.masks && ty == Ty::F64 => {
                two!(self, vrndscalepd, w, to, last, i32::from(how))
            }
            Mop::Round(how) if self.masks => two!(self, vrndscaleps, w, to, last, i32::from(how)),
            Mop::Round(how) => plain::round(self, ty, to, a, i32::from(how)),
            Mop::Abs => match ty.size() {
                1 => two!(self, vpabsb, w, to, last),
                2 => two!(self, vpabsw, w, to, last),
                4 => two!(self, vpabsd, w, to, last),
                _ => two!(self, vpabsq, w, to, last),
            },
            Mop::Min | Mop::Max => self.extreme(mop, ty, to, a, last),
            Mop::Shl | Mop::Shr => self.shift(mop, ty, to, a, last),
            Mop::Convert if self.masks => self.convert(first, ty, to, a),
            Mop::Convert => plain::convert(self, first, ty, to, a),
            Mop::Cmp(pred) if self.masks => {
                self.compare(k2, first, pred, a, last)?;
                self.truth(to)
            }
            Mop::Cmp(pred) => plain::compare_truth(self, (first, pred), to, a, operands[1]),
            Mop::Pick(pred, second) if self.masks => {
                let number = if second { operands[1] } else { a };
                self.compare(k2, ty, pred, a, last)?;
                let ordered = float_pred(Pred::Ordered);
                let other = Rm::Register(number);
                match ty {
                    Ty::F64 => into_mask!(self, vcmppd, w, k2.k2(), number, other, ordered)?,
                    _ => into_mask!(self, vcmpps, w, k2.k2(), number, other, ordered)?,
                }
                self.blend(ty, to, a, operands[1])
            }
            Mop::Pick(pred, second) => plain::pick(self, (ty, pred, second), to, a, operands[1]),
            Mop::Select if self.masks => {
                let w = self.width(Ty::Bool);
                let truth = if ty == Ty::C128 {
                    // One for each part.
                    let twice = self.scratch[0];
                    self.a.vpunpcklbw(x(twice), x(a), x(a))?;
                    twice
                } else {
                    a
                };
                into_mask!(self, vptestmb, w, k2, truth, Rm::Register(truth))?;
                self.blend(ty, to, operands[2], operands[1])
            }
            Mop::Select => plain::select(self, ty, to, operands),
            Mop::SelectCmp(pred) if self.masks => {
                self.compare(k2, first, pred, a, Rm::Register(operands[1]))?;
                self.blend(ty, to, operands[3], operands[2])
            }
            Mop::SelectCmp(pred) => plain::select_compare(self, (first, pred), ty, to, operands),
            Mop::Twice(_) | Mop::Swap | Mop::Ends => self.shuffle(mop, ty, to, (a, last)),
            Mop::MulSubAdd => {
                let s = self.scratch[0];
                let (c, b) = (Rm::Register(operands[2]), Rm::Register(operands[1]));
                two!(self, vmovapd, w, s, c)?;
                match ty.parts() {
                    Ty::F64 => three!(self, vfmaddsub231pd, w, s, a, b)?,
                    _ => three!(self, vfmaddsub231ps, w, s, a, b)?,
                }
                two!(self, vmovapd, w, to, Rm::Register(s))
            }
        }
    }

    fn arithmetic(
        &mut self,
        mop: Mop,
        ty: Ty,
        to: usize,
        a: usize,
        b: Rm,
    ) -> Result<(), IcedError> {
        let (w, ty) = (self.width(ty), ty.parts());
        match (mop, ty, ty.size()) {
            (Mop::Add, Ty::F64, _) => three!(self, vaddpd, w, to, a, b),
            (Mop::Add, Ty::F32, _) => three!(self, vaddps, w, to, a, b),
            (Mop::Add, _, 8) => three!(self, vpaddq, w, to, a, b),
            (Mop::Add, _, 4) => three!(self, vpaddd, w, to, a, b),
            (Mop::Add, _, 2) => three!(self, vpaddw, w, to, a, b),
            (Mop::Add, _, _) => three!(self, vpaddb, w, to, a, b),
            (Mop::Sub, Ty::F64, _) => three!(self, vsubpd, w, to, a, b),
            (Mop::Sub, Ty::F32, _) => three!(self, vsubps, w, to, a, b),
            (Mop::Sub, _, 8) => three!(self, vpsubq, w, to, a, b),
            (Mop::Sub, _, 4) => three!(self, vpsubd, w, to, a, b),
            (Mop::Sub, _, 2) => three!(self, vpsubw, w, to, a, b),
            (Mop::Sub, _, _) => three!(self, vpsubb, w, to, a, b),
            (Mop::Div, Ty::F64, _) => three!(self, vdivpd, w, to, a, b),
            (Mop::Div, _, _) => three!(self, vdivps, w, to, a, b),
            (_, Ty::F64, _) => three!(self, vmulpd, w, to, a, b),
            (_, Ty::F32, _) => three!(self, vmulps, w, to, a, b),
            (_, _, 8) => three!(self, vpmullq, w, to, a, b),
            (_, _, 4) => three!(self, vpmulld, w, to, a, b),
            _ => three!(self, vpmullw, w, to, a, b),
        }
    }

    /// Parts of complex numbers in other places.
    fn shuffle(&mut self, mop: Mop, ty: Ty, to: usize, of: (usize, Rm)) -> Result<(), IcedError> {
        let (a, last) = of;
        let w = self.width(ty);
        match (mop, ty.parts()) {
            (Mop::Twice(false), Ty::F64) => two!(self, vmovddup, w, to, last),
            (Mop::Twice(true), Ty::F64) => two!(self, vpermilpd, w, to, last, 0xff),
            (Mop::Twice(false), _) => two!(self, vmovsldup, w, to, last),
            (Mop::Twice(true), _) => two!(self, vmovshdup, w, to, last),
            (Mop::Swap, Ty::F64) => two!(self, vpermilpd, w, to, last, 0x55),
            (Mop::Swap, _) => two!(self, vpermilps, w, to, last, 0xb1),
            _ => three!(self, vshufpd, w, to, a, last, 0xaa),
        }
    }

    pub(super) fn bits(
        &mut self,
        mop: Mop,
        ty: Ty,
        to: usize,
        a: usize,
        b: Rm,
    ) -> Result<(), IcedError> {
        // A mask would count elements of these instructions, not bytes.
        let masked = std::mem::replace(&mut self.masked, false);
        let w = self.width(ty);
        let done = match (mop, ty.size()) {
            (Mop::And, 4) => three!(self, vandps, w, to, a, b),
            (Mop::And, _) => three!(self, vandpd, w, to, a, b),
            (Mop::Or, 4) => three!(self, vorps, w, to, a, b),
            (Mop::Or, _) => three!(self, vorpd, w, to, a, b),
            (Mop::Xor, 4) => three!(self, vxorps, w, to, a, b),
            (Mop::Xor, _) => three!(self, vxorpd, w, to, a, b),
            (_, 4) => three!(self, vandnps, w, to, a, b),
            _ => three!(self, vandnpd, w, to, a, b),
        };
        self.masked = masked;
        done
    }

    fn extreme(&mut self, mop: Mop, ty: Ty, to: usize, a: usize, b: Rm) -> Result<(), IcedError> {
        let (w, min) = (self.width(ty), mop == Mop::Min);
        match (ty, min) {
            (Ty::I8, true) => three!(self, vpminsb, w, to, a, b),
            (Ty::I8, false) => three!(self, vpmaxsb, w, to, a, b),
            (Ty::U8, true) => three!(self, vpminub, w, to, a, b),
            (Ty::U8, false) => three!(self, vpmaxub, w, to, a, b),
            (Ty::I16, true) => three!(self, vpminsw, w, to, a, b),
            (Ty::I16, false) => three!(self, vpmaxsw, w, to, a, b),
            (Ty::U16, true) => three!(self, vpminuw, w, to, a, b),
            (Ty::U16, false) => three!(self, vpmaxuw, w, to, a, b),
            (Ty::I32, true) => three!(self, vpminsd, w, to, a, b),
            (Ty::I32, false) => three!(self, vpmaxsd, w, to, a, b),
            (Ty::U32, true) => three!(self, vpminud, w, to, a, b),
            (Ty::U32, false) => three!(self, vpmaxud, w, to, a, b),
            (Ty::I64, true) => three!(self, vpminsq, w, to, a, b),
            (Ty::I64, false) => three!(self, vpmaxsq, w, to, a, b),
            (_, true) => three!(self, vpminuq, w, to, a, b),
            (_, false) => three!(self, vpmaxuq, w, to, a, b),
        }
    }

    /// A count that is not below the width gives zeros, or copies of the sign.
    fn shift(&mut self, mop: Mop, ty: Ty, to: usize, a: usize, b: Rm) -> Result<(), IcedError> {
        let w = self.width(ty);
        match (mop, ty) {
            (Mop::Shl, Ty::I32 | Ty::U32) => three!(self, vpsllvd, w, to, a, b),
            (Mop::Shl, _) => three!(self, vpsllvq, w, to, a, b),
            (_, Ty::I32) => three!(self, vpsravd, w, to, a, b),
            (_, Ty::U32) => three!(self, vpsrlvd, w, to, a, b),
            (_, Ty::I64) => three!(self, vpsravq, w, to, a, b),
            _ => three!(self, vpsrlvq, w, to, a, b),
        }
    }

    /// A comparison into a mask; dead lanes of the tail do not hold.
    fn compare(
        &mut self,
        k: AsmRegisterK,
        ty: Ty,
        pred: Pred,
        a: usize,
        b: Rm,
    ) -> Result<(), IcedError> {
        let (w, k) = (self.width(ty), if self.masked { k.k1() } else { k });
        let (float, whole) = (float_pred(pred), integer_pred(pred));
        match ty {
            Ty::F64 => into_mask!(self, vcmppd, w, k, a, b, float),
            Ty::F32 => into_mask!(self, vcmpps, w, k, a, b, float),
            Ty::I64 => into_mask!(self, vpcmpq, w, k, a, b, whole),
            Ty::U64 => into_mask!(self, vpcmpuq, w, k, a, b, whole),
            Ty::I32 => into_mask!(self, vpcmpd, w, k, a, b, whole),
            Ty::U32 => into_mask!(self, vpcmpud, w, k, a, b, whole),
            Ty::I16 => into_mask!(self, vpcmpw, w, k, a, b, whole),
            Ty::U16 => into_mask!(self, vpcmpuw, w, k, a, b, whole),
            Ty::I8 => into_mask!(self, vpcmpb, w, k, a, b, whole),
            // Bytes; there is no code that compares complex numbers.
            _ => into_mask!(self, vpcmpub, w, k, a, b, whole),
        }
    }

    /// Bools from the mask.
    fn truth(&mut self, to: usize) -> Result<(), IcedError> {
        let s = self.scratch[0];
        match self.width(Ty::Bool) {
            Width::X => self.a.vpmovm2b(x(s), k2)?,
            Width::Y => self.a.vpmovm2b(y(s), k2)?,
            Width::Z => self.a.vpmovm2b(z(s), k2)?,
        }
        let (w, s) = (self.width(Ty::Bool), Rm::Register(s));
        two!(self, vpabsb, w, to, s)
    }

    /// `yes` where the mask holds, else `no`.
    fn blend(&mut self, ty: Ty, to: usize, no: usize, yes: usize) -> Result<(), IcedError> {
        macro_rules! blend {
            ($op:ident) => {
                match self.width(ty) {
                    Width::X => self.a.$op(x(to).k2(), x(no), x(yes)),
                    Width::Y => self.a.$op(y(to).k2(), y(no), y(yes)),
                    Width::Z => self.a.$op(z(to).k2(), z(no), z(yes)),
                }
            };
        }
        match ty.size() {
            1 => blend!(vpblendmb),
            2 => blend!(vpblendmw),
            4 => blend!(vblendmps),
            _ => blend!(vblendmpd),
        }
    }

    fn convert(&mut self, from: Ty, ty: Ty, to: usize, a: usize) -> Result<(), IcedError> {
        let (w, old) = (self.width(ty), self.width(from));
        let same = Rm::Register(a);
        match (from, ty) {
            (Ty::F32, Ty::C64) => {
                self.parts = false;
                widen!(self, vpmovzxdq, w, to, a)
            }
            (Ty::F64, Ty::C128) => {
                self.a.mov(eax, 0x55)?;
                self.a.kmovd(k2, eax)?;
                self.a.vexpandpd(z(to).k2().z(), z(a))
            }
            (Ty::C64, Ty::C128) | (Ty::F32, Ty::F64) => widen!(self, vcvtps2pd, w, to, a),
            (Ty::C128, Ty::C64) | (Ty::F64, Ty::F32) => narrow!(self, vcvtpd2ps, old, to, a),
            (Ty::I32, Ty::F64) => widen!(self, vcvtdq2pd, w, to, a),
            (Ty::U32, Ty::F64) => widen!(self, vcvtudq2pd, w, to, a),
            (Ty::I64, Ty::F64) => two!(self, vcvtqq2pd, w, to, same),
            (Ty::U64, Ty::F64) => two!(self, vcvtuqq2pd, w, to, same),
            (Ty::I32, Ty::F32) => two!(self, vcvtdq2ps, w, to, same),
            (Ty::U32, Ty::F32) => two!(self, vcvtudq2ps, w, to, same),
            (Ty::I64, Ty::F32) => narrow!(self, vcvtqq2ps, old, to, a),
            (Ty::U64, Ty::F32) => narrow!(self, vcvtuqq2ps, old, to, a),
            (Ty::F64, Ty::I32) => narrow!(self, vcvttpd2dq, old, to, a),
            (Ty::F64, _) => two!(self, vcvttpd2qq, w, to, same),
            (Ty::F32, Ty::I32) => two!(self, vcvttps2dq, w, to, same),
            (Ty::F32, _) => widen!(self, vcvttps2qq, w, to, a),
            _ => self.convert_integer(from, ty, to, a),
        }
    }

    /// Low bits, or more bits with the sign of the type that was.
    fn convert_integer(&mut self, from: Ty, ty: Ty, to: usize, a: usize) -> Result<(), IcedError> {
        let (w, old) = (self.width(ty), self.width(from));
        match (from.size(), ty.size(), from.is_signed()) {
            (1, 2, true) => widen!(self, vpmovsxbw, w, to, a),
            (1, 2, false) => widen!(self, vpmovzxbw, w, to, a),
            (1, 4, true) => widen_more!(self, vpmovsxbd, w, to, a),
            (1, 4, false) => widen_more!(self, vpmovzxbd, w, to, a),
            (1, 8, true) => widen_more!(self, vpmovsxbq, w, to, a),
            (1, 8, false) => widen_more!(self, vpmovzxbq, w, to, a),
            (2, 4, true) => widen!(self, vpmovsxwd, w, to, a),
            (2, 4, false) => widen!(self, vpmovzxwd, w, to, a),
            (2, 8, true) => widen_more!(self, vpmovsxwq, w, to, a),
            (2, 8, false) => widen_more!(self, vpmovzxwq, w, to, a),
            (4, 8, true) => widen!(self, vpmovsxdq, w, to, a),
            (4, 8, false) => widen!(self, vpmovzxdq, w, to, a),
            (8, 4, _) => narrow!(self, vpmovqd, old, to, a),
            (8, 2, _) => narrow_more!(self, vpmovqw, old, to, a),
            (8, 1, _) => narrow_more!(self, vpmovqb, old, to, a),
            (4, 2, _) => narrow!(self, vpmovdw, old, to, a),
            (4, 1, _) => narrow_more!(self, vpmovdb, old, to, a),
            (2, 1, _) => narrow!(self, vpmovwb, old, to, a),
            _ => self.bits(Mop::Or, ty, to, a, Rm::Register(a)),
        }
    }
}
