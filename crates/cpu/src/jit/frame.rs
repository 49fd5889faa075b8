//! The function around the body: registers saved, addresses fetched, the loop, the tail.
//!
//! `fn(args, n, rows, steps) -> done`: `args` are addresses; in each of `rows` rows, `steps` bytes apart,
//! `n` elements are asked for, `done` of them computed. With masks the tail is done under a mask, so
//! `done` is `n`; without, less than one vector is left, and there is one row.

use super::alloc::{Action, Home, Plan, argument_uses};
use super::ops::Asm;
use super::ssa::{Code, KONSTS, Node, Source};
use crate::Isa;
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmMemoryOperand, AsmRegister64, CodeAssembler, CodeLabel, k1, k3, qword_ptr, r8, r9, r10, r11,
    r12, r13, r14, r15, rax, rbp, rbx, rcx, rdi, rdx, rsi, rsp,
};

/// Registers for addresses; those from [`SAVED`] on belong to the caller.
const ADDRESSES: [AsmRegister64; 11] = [rdx, r8, r9, r10, r11, rbx, rbp, r12, r13, r14, r15];
const SAVED: usize = 5;

/// Vector registers for values: the rest is for the work inside of operations.
pub(crate) fn registers(isa: Isa) -> usize {
    if isa == Isa::Avx512 { 29 } else { 12 }
}

/// Elements of a vector: those of the largest type fill a register.
pub(crate) fn lanes(isa: Isa, code: &Code) -> usize {
    let vector = if isa == Isa::Avx512 { 64 } else { 32 };
    vector / code.widest()
}

/// Operations that make a loop body worth less unrolling.
const LONG_BODY: usize = 24;

/// How far ahead lines are asked for, in bytes: a memory access takes as long as the work on that.
const AHEAD: i32 = 2048;

/// The state of writing one function.
struct Frame<'a> {
    code: &'a Code,
    plan: &'a Plan,
    asm: Asm,
    /// The register that holds the address of an argument.
    addresses: Vec<Option<AsmRegister64>>,
}

/// The bytes of the function for `code` with `args` arguments, to stand anywhere.
pub(crate) fn assemble(
    code: &Code,
    plan: &Plan,
    args: usize,
    isa: Isa,
) -> Result<Vec<u8>, IcedError> {
    let uses = argument_uses(code, plan, args);
    let mut wanted: Vec<usize> = (0..args).filter(|&arg| uses[arg] > 0).collect();
    wanted.sort_by_key(|&arg| std::cmp::Reverse(uses[arg]));
    wanted.truncate(ADDRESSES.len());
    let mut addresses = vec![None; args];
    for (&arg, register) in wanted.iter().zip(ADDRESSES) {
        addresses[arg] = Some(register);
    }
    let mut a = CodeAssembler::new(64)?;
    a.set_prefer_vex(isa != Isa::Avx512);
    let frame = Frame {
        code,
        plan,
        asm: Asm {
            a,
            masks: isa == Isa::Avx512,
            lanes: lanes(isa, code),
            widest: code.widest(),
            masked: false,
            parts: false,
            scratch: [0, 1, 2].map(|i| registers(isa) + i),
        },
        addresses,
    };
    frame.function(wanted.len())
}

impl Frame<'_> {
    fn function(mut self, count: usize) -> Result<Vec<u8>, IcedError> {
        let saved = &ADDRESSES[SAVED.min(count)..count.max(SAVED)];
        let lanes = i32::try_from(self.asm.lanes).unwrap_or(i32::MAX);
        let turns = if self.plan.body.len() > LONG_BODY {
            1
        } else {
            2
        };
        for &register in saved {
            self.asm.a.push(register)?;
        }
        self.asm.a.push(rdx)?;
        self.asm.a.push(rcx)?;
        for (arg, register) in self.addresses.clone().into_iter().enumerate() {
            if let Some(register) = register {
                self.asm.a.mov(register, rdi + 8 * offset(arg))?;
            }
        }
        let mut row = self.asm.a.create_label();
        self.asm.a.set_label(&mut row)?;
        for &value in &self.plan.hoisted {
            self.fetch(value, 0)?;
        }
        let (mut one, mut tail) = (self.asm.a.create_label(), self.asm.a.create_label());
        let (mut many_top, mut one_top) = (self.asm.a.create_label(), self.asm.a.create_label());
        let mut end = self.asm.a.create_label();
        self.asm.a.xor(rcx, rcx)?;
        self.head()?;
        if turns > 1 {
            self.asm.a.sub(rsi, turns * lanes)?;
            self.asm.a.cmp(rcx, rsi)?;
            self.asm.a.jg(one)?;
            self.asm.a.set_label(&mut many_top)?;
            for turn in 0..turns {
                self.body(turn)?;
            }
            self.asm.a.add(rcx, turns * lanes)?;
            self.asm.a.cmp(rcx, rsi)?;
            self.asm.a.jle(many_top)?;
            self.asm.a.set_label(&mut one)?;
            self.asm.a.add(rsi, turns * lanes)?;
        }
        self.asm.a.sub(rsi, lanes)?;
        self.asm.a.cmp(rcx, rsi)?;
        self.asm.a.jg(tail)?;
        self.asm.a.set_label(&mut one_top)?;
        self.body(0)?;
        self.asm.a.add(rcx, lanes)?;
        self.asm.a.cmp(rcx, rsi)?;
        self.asm.a.jle(one_top)?;
        self.asm.a.set_label(&mut tail)?;
        self.asm.a.add(rsi, lanes)?;
        if self.asm.masks {
            self.tail(end)?;
        }
        self.asm.a.set_label(&mut end)?;
        self.next_row(row)?;
        self.asm.a.mov(rax, rcx)?;
        self.asm.a.add(rsp, 16)?;
        for &register in saved.iter().rev() {
            self.asm.a.pop(register)?;
        }
        self.asm.a.vzeroupper()?;
        self.asm.a.ret()?;
        self.asm.a.assemble(0)
    }

    /// Goes on with the next row, if there is one.
    fn next_row(&mut self, row: CodeLabel) -> Result<(), IcedError> {
        if !self.asm.masks {
            return Ok(());
        }
        let mut done = self.asm.a.create_label();
        self.asm.a.sub(qword_ptr(rsp + 8), 1)?;
        self.asm.a.jz(done)?;
        self.asm.a.mov(rsi, rcx)?;
        self.asm.a.mov(rax, qword_ptr(rsp))?;
        for (arg, register) in self.addresses.clone().into_iter().enumerate() {
            let step = qword_ptr(rax + 8 * offset(arg));
            if let Some(register) = register {
                self.asm.a.add(register, step)?;
            } else {
                self.asm.a.mov(rcx, step)?;
                self.asm.a.add(qword_ptr(rdi + 8 * offset(arg)), rcx)?;
            }
        }
        self.asm.a.jmp(row)?;
        self.asm.a.set_label(&mut done)
    }

    /// With stores around the caches: the elements before the first whole vector of the first one, under
    /// a mask. Nothing in a register of the loop is lost.
    fn head(&mut self) -> Result<(), IcedError> {
        let Some((arg, size)) = self.code.streams().next().filter(|_| self.asm.masks) else {
            return Ok(());
        };
        let mut end = self.asm.a.create_label();
        let shift = size.trailing_zeros();
        let address = self.address(arg)?;
        self.asm.a.mov(rax, address)?;
        self.asm.a.neg(rax)?;
        self.asm.a.shr(rax, shift)?;
        self.asm.a.and(rax, offset(self.asm.lanes) - 1)?;
        self.asm.a.jz(end)?;
        self.asm.a.cmp(rax, rsi)?;
        self.asm.a.cmovg(rax, rsi)?;
        self.asm.a.push(rax)?;
        self.asm.a.mov(rcx, -1i64)?;
        self.asm.a.bzhi(rcx, rcx, rax)?;
        self.asm.a.kmovq(k1, rcx)?;
        if self.code.has_complex() {
            self.asm.a.add(rax, rax)?;
            self.asm.a.mov(rcx, -1i64)?;
            self.asm.a.bzhi(rcx, rcx, rax)?;
            self.asm.a.kmovq(k3, rcx)?;
        }
        self.asm.a.xor(rcx, rcx)?;
        self.asm.masked = true;
        self.body(0)?;
        self.asm.masked = false;
        self.asm.a.pop(rcx)?;
        self.asm.a.set_label(&mut end)
    }

    /// The elements that do not fill a vector, under a mask: dead lanes are neither read nor written,
    /// and meet no conditions.
    fn tail(&mut self, end: CodeLabel) -> Result<(), IcedError> {
        self.asm.a.sub(rsi, rcx)?;
        self.asm.a.jz(end)?;
        self.asm.a.mov(rax, -1i64)?;
        self.asm.a.bzhi(rax, rax, rsi)?;
        self.asm.a.kmovq(k1, rax)?;
        if self.code.has_complex() {
            self.asm.a.add(rsi, rsi)?;
            self.asm.a.mov(rax, -1i64)?;
            self.asm.a.bzhi(rax, rax, rsi)?;
            self.asm.a.kmovq(k3, rax)?;
            self.asm.a.shr(rsi, 1)?;
        }
        self.asm.masked = true;
        self.body(0)?;
        self.asm.masked = false;
        self.asm.a.add(rcx, rsi)
    }

    /// Asks for lines that later turns read.
    fn fetch_ahead(&mut self, turn: i32) -> Result<(), IcedError> {
        for (arg, size) in self.code.ahead.clone() {
            let place = self.element(arg, size, turn)? + AHEAD;
            self.asm.a.prefetcht0(place)?;
        }
        Ok(())
    }

    fn body(&mut self, turn: i32) -> Result<(), IcedError> {
        if !self.asm.masked {
            self.fetch_ahead(turn)?;
        }
        for &action in &self.plan.body {
            match action {
                Action::Fetch(value) => self.fetch(value, turn)?,
                Action::Compute(value) => self.compute(value, turn)?,
                Action::Store(number) => self.store(number, turn)?,
            }
        }
        Ok(())
    }

    fn register(&self, value: usize) -> usize {
        match self.plan.homes[value] {
            Home::Register(register) => register,
            Home::Folded | Home::Nowhere => self.asm.scratch[2],
        }
    }

    /// The register with the address of an argument.
    fn address(&mut self, arg: usize) -> Result<AsmRegister64, IcedError> {
        if let Some(register) = self.addresses[arg] {
            return Ok(register);
        }
        self.asm.a.mov(rax, rdi + 8 * offset(arg))?;
        Ok(rax)
    }

    /// The element, of `size` bytes, of an argument that lane 0 of this turn works on.
    fn element(
        &mut self,
        arg: usize,
        size: usize,
        turn: i32,
    ) -> Result<AsmMemoryOperand, IcedError> {
        let ahead = turn * offset(self.asm.lanes * size);
        let address = self.address(arg)?;
        if size <= 8 {
            return Ok(address + rcx * offset(size) + ahead);
        }
        // An index counts eight bytes at most.
        self.asm.a.lea(rax, address + rcx * 8)?;
        Ok(rax + rcx * offset(size - 8) + ahead)
    }

    /// Where a single value lies.
    fn single(&mut self, source: Source) -> Result<AsmMemoryOperand, IcedError> {
        match source {
            Source::Arg(arg) => Ok(self.address(arg)? + 0),
            Source::Konst(konst) => {
                let place = &raw const KONSTS[konst as usize];
                self.asm.a.mov(rax, place.addr() as u64)?;
                Ok(rax + 0)
            }
        }
    }

    fn fetch(&mut self, value: usize, turn: i32) -> Result<(), IcedError> {
        let (to, ty) = (self.register(value), self.code.values[value].ty);
        match self.code.values[value].node {
            Node::Load(arg) => {
                let from = self.element(arg, ty.size(), turn)?;
                self.asm.load(ty, to, from)
            }
            Node::Splat(source) => {
                let from = self.single(source)?;
                let konst = matches!(source, Source::Konst(_));
                self.asm.repeat(ty, to, from, konst)
            }
            Node::Op(..) => Ok(()),
        }
    }

    fn compute(&mut self, value: usize, turn: i32) -> Result<(), IcedError> {
        let made = self.code.values[value];
        let Node::Op(mop, operands, count) = made.node else {
            return Ok(());
        };
        let mut registers = [0; 4];
        let mut memory = None;
        for (register, &operand) in registers.iter_mut().zip(&operands[..count]) {
            *register = self.register(operand);
            if self.plan.homes[operand] != Home::Folded {
                continue;
            }
            let leaf = self.code.values[operand];
            memory = match leaf.node {
                // Memory operands are read whole, which the tail must not do, nor fewer elements than a register has
                // beside larger ones: behind the last of them there may be nothing.
                Node::Load(_) if self.asm.masked || !self.asm.fills_register(leaf.ty) => {
                    self.fetch(operand, turn)?;
                    None
                }
                Node::Load(arg) => Some((self.element(arg, leaf.ty.size(), turn)?, false)),
                Node::Splat(source) => Some((self.single(source)?, true)),
                Node::Op(..) => None,
            };
        }
        let first = self.code.values[operands[0]].ty;
        let to = self.register(value);
        self.asm
            .operation(mop, (first, made.ty), to, &registers[..count], memory)
    }

    fn store(&mut self, number: usize, turn: i32) -> Result<(), IcedError> {
        let store = self.code.stores[number];
        let (from, ty) = (self.register(store.value), self.code.values[store.value].ty);
        let to = self.element(store.arg, ty.size(), turn)?;
        self.asm.store(ty, to, from, store.around)
    }
}

fn offset(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
