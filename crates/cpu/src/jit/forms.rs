//! One instruction in the widths it comes in.

use iced_x86::code_asm::{
    AsmMemoryOperand, AsmRegisterXmm, AsmRegisterYmm, AsmRegisterZmm, registers,
};

/// The width of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    X,
    Y,
    Z,
}

/// A last operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rm {
    Register(usize),
    Memory(AsmMemoryOperand),
}

/// All registers of a width.
macro_rules! registers {
    ($width:ident: $($name:ident)*) => { [$(registers::$width::$name),*] };
}

pub(super) fn x(register: usize) -> AsmRegisterXmm {
    const ALL: [AsmRegisterXmm; 32] = registers!(xmm: xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 xmm8 xmm9 xmm10 xmm11 xmm12 xmm13 xmm14 xmm15 xmm16 xmm17 xmm18 xmm19 xmm20 xmm21 xmm22 xmm23 xmm24 xmm25 xmm26 xmm27 xmm28 xmm29 xmm30 xmm31);
    ALL[register]
}
pub(super) fn y(register: usize) -> AsmRegisterYmm {
    const ALL: [AsmRegisterYmm; 32] = registers!(ymm: ymm0 ymm1 ymm2 ymm3 ymm4 ymm5 ymm6 ymm7 ymm8 ymm9 ymm10 ymm11 ymm12 ymm13 ymm14 ymm15 ymm16 ymm17 ymm18 ymm19 ymm20 ymm21 ymm22 ymm23 ymm24 ymm25 ymm26 ymm27 ymm28 ymm29 ymm30 ymm31);
    ALL[register]
}
pub(super) fn z(register: usize) -> AsmRegisterZmm {
    const ALL: [AsmRegisterZmm; 32] = registers!(zmm: zmm0 zmm1 zmm2 zmm3 zmm4 zmm5 zmm6 zmm7 zmm8 zmm9 zmm10 zmm11 zmm12 zmm13 zmm14 zmm15 zmm16 zmm17 zmm18 zmm19 zmm20 zmm21 zmm22 zmm23 zmm24 zmm25 zmm26 zmm27 zmm28 zmm29 zmm30 zmm31);
    ALL[register]
}
/// `op to, a, b` of one width, with more operands behind.
macro_rules! three {
    ($s:ident, $op:ident, $w:expr, $to:expr, $a:expr, $b:expr $(, $more:expr)*) => {{
        let (to, a): (usize, usize) = ($to, $a);
        match ($w, $b) {
            (Width::X, Rm::Register(b)) => $s.a.$op($s.xd(to), x(a), x(b) $(, $more)*),
            (Width::Y, Rm::Register(b)) => $s.a.$op($s.yd(to), y(a), y(b) $(, $more)*),
            (Width::Z, Rm::Register(b)) => $s.a.$op($s.zd(to), z(a), z(b) $(, $more)*),
            (Width::X, Rm::Memory(b)) => $s.a.$op($s.xd(to), x(a), b $(, $more)*),
            (Width::Y, Rm::Memory(b)) => $s.a.$op($s.yd(to), y(a), b $(, $more)*),
            (Width::Z, Rm::Memory(b)) => $s.a.$op($s.zd(to), z(a), b $(, $more)*),
        }
    }};
}

/// `op to, a` of one width, with more operands behind.
macro_rules! two {
    ($s:ident, $op:ident, $w:expr, $to:expr, $a:expr $(, $more:expr)*) => {{
        let to: usize = $to;
        match ($w, $a) {
            (Width::X, Rm::Register(a)) => $s.a.$op($s.xd(to), x(a) $(, $more)*),
            (Width::Y, Rm::Register(a)) => $s.a.$op($s.yd(to), y(a) $(, $more)*),
            (Width::Z, Rm::Register(a)) => $s.a.$op($s.zd(to), z(a) $(, $more)*),
            (Width::X, Rm::Memory(a)) => $s.a.$op($s.xd(to), a $(, $more)*),
            (Width::Y, Rm::Memory(a)) => $s.a.$op($s.yd(to), a $(, $more)*),
            (Width::Z, Rm::Memory(a)) => $s.a.$op($s.zd(to), a $(, $more)*),
        }
    }};
}

/// `op to, memory` of one width.
macro_rules! spread {
    ($s:ident, $op:ident, $w:expr, $to:expr, $from:expr) => {
        match $w {
            Width::X => $s.a.$op($s.xd($to), $from),
            Width::Y => $s.a.$op($s.yd($to), $from),
            Width::Z => $s.a.$op($s.zd($to), $from),
        }
    };
}

/// `op k, a, b, more` of one width.
macro_rules! into_mask {
    ($s:ident, $op:ident, $w:expr, $k:expr, $a:expr, $b:expr $(, $more:expr)*) => {{
        let (k, a): (AsmRegisterK, usize) = ($k, $a);
        match ($w, $b) {
            (Width::X, Rm::Register(b)) => $s.a.$op(k, x(a), x(b) $(, $more)*),
            (Width::Y, Rm::Register(b)) => $s.a.$op(k, y(a), y(b) $(, $more)*),
            (Width::Z, Rm::Register(b)) => $s.a.$op(k, z(a), z(b) $(, $more)*),
            (Width::X, Rm::Memory(b)) => $s.a.$op(k, x(a), b $(, $more)*),
            (Width::Y, Rm::Memory(b)) => $s.a.$op(k, y(a), b $(, $more)*),
            (Width::Z, Rm::Memory(b)) => $s.a.$op(k, z(a), b $(, $more)*),
        }
    }};
}

/// A conversion to elements of twice the size.
macro_rules! widen {
    ($s:ident, $op:ident, $w:expr, $to:expr, $a:expr) => {
        match $w {
            Width::Z => $s.a.$op($s.zd($to), y($a)),
            Width::Y => $s.a.$op($s.yd($to), x($a)),
            Width::X => $s.a.$op($s.xd($to), x($a)),
        }
    };
}

/// A conversion from a fourth or an eighth of the size.
macro_rules! widen_more {
    ($s:ident, $op:ident, $w:expr, $to:expr, $a:expr) => {
        match $w {
            Width::Z => $s.a.$op($s.zd($to), x($a)),
            Width::Y => $s.a.$op($s.yd($to), x($a)),
            Width::X => $s.a.$op($s.xd($to), x($a)),
        }
    };
}

/// A conversion to half the size; `w` is the width of the operand.
macro_rules! narrow {
    ($s:ident, $op:ident, $w:expr, $to:expr, $a:expr) => {
        match $w {
            Width::Z => $s.a.$op($s.yd($to), z($a)),
            Width::Y => $s.a.$op($s.xd($to), y($a)),
            Width::X => $s.a.$op($s.xd($to), x($a)),
        }
    };
}

/// A conversion to a fourth or an eighth.
macro_rules! narrow_more {
    ($s:ident, $op:ident, $w:expr, $to:expr, $a:expr) => {
        match $w {
            Width::Z => $s.a.$op($s.xd($to), z($a)),
            Width::Y => $s.a.$op($s.xd($to), y($a)),
            Width::X => $s.a.$op($s.xd($to), x($a)),
        }
    };
}

pub(super) use {into_mask, narrow, narrow_more, spread, three, two, widen, widen_more};
