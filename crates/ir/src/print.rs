//! The text of a kernel, for people and for tests.

use crate::{Arity, Form, Kernel, Prim};
use std::fmt;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, ins) in self.code.iter().enumerate() {
            write!(f, "%{i} = {} {}", ins.dtype, ins.prim.name())?;
            match (ins.prim, ins.prim.arity()) {
                (Prim::Const, _) => write!(f, " {:#x}", ins.bits)?,
                (_, Arity::Leaf) => write!(f, " {}", ins.a)?,
                (_, Arity::Unary) => write!(f, " %{}", ins.a)?,
                (_, Arity::Binary) => write!(f, " %{} %{}", ins.a, ins.b)?,
                (_, Arity::Ternary) => write!(f, " %{} %{} %{}", ins.a, ins.b, ins.c)?,
            }
            writeln!(f)?;
        }
        for (i, output) in self.outputs.iter().enumerate() {
            write!(f, "out {i} = %{}", output.value)?;
            match output.form {
                Form::Store => writeln!(f)?,
                Form::Reduce { op, axes } => writeln!(f, " reduced by {op:?} over axes {axes:#b}")?,
                Form::Arg { max, axes } => {
                    writeln!(
                        f,
                        " arg{} over axes {axes:#b}",
                        if max { "max" } else { "min" }
                    )?;
                }
                Form::Scan { op, axis } => writeln!(f, " scanned by {op:?} along axis {axis}")?,
                Form::Scatter { mode, at } => writeln!(f, " scattered by {mode:?} at %{at}")?,
            }
        }
        Ok(())
    }
}
