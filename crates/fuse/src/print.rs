//! The text of a group, for people and for tests.

use crate::Group;
use arrayloom_ir::Operand;
use arrayloom_types::Layout;
use std::fmt;

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "group over {:?}, nodes {:?}, {} contracted",
            self.shape.as_slice(),
            self.nodes,
            self.contracted
        )?;
        for (i, operand) in self.ins.iter().enumerate() {
            match operand {
                Operand::View(slot, layout) => {
                    writeln!(f, "in {i}: slot {} {}", slot.0, View(layout))?;
                }
                Operand::Scalar(scalar) => writeln!(f, "in {i}: one {}", scalar.dtype)?,
            }
        }
        for (i, ((slot, layout), fold)) in self.outs.iter().zip(&self.folds).enumerate() {
            write!(f, "to {i}: slot {} {}", slot.0, View(layout))?;
            if let Some(fold) = fold {
                write!(
                    f,
                    " in order {:?} runs {} pieces {}",
                    fold.order.axes.as_slice(),
                    fold.order.stream,
                    fold.order.piece
                )?;
            }
            writeln!(f)?;
        }
        write!(f, "{}", self.kernel)
    }
}

struct View<'a>(&'a Layout);

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout {
            dtype,
            offset,
            strides,
            ..
        } = self.0;
        write!(f, "{dtype} at {offset} steps {:?}", strides.as_slice())
    }
}
