//! The text of a group, for people and for tests.

use crate::{Group, Sweep};
use arrayloom_ir::Operand;
use arrayloom_plan::Route;
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
                Operand::Table(slot, table) => {
                    writeln!(f, "in {i}: table {} {}", slot.0, View(&table.whole))?;
                }
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

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sweep of groups {:?}", self.groups)?;
        match self.panel {
            Some(panel) => writeln!(f, " over panels of {panel} columns")?,
            None => writeln!(f)?,
        }
        for (number, ring) in self.rings.iter().enumerate() {
            writeln!(
                f,
                "ring {number}: pitch {}, reach {}",
                ring.pitch, ring.reach
            )?;
        }
        let blocks = self.blocks.iter().zip(&self.schedule.blocks);
        for (number, (block, owner)) in blocks.enumerate() {
            writeln!(
                f,
                "block {number}: slot {} at {} pitch {}, foreign rows {} and {}",
                block.slot.0,
                block.origin,
                block.pitch,
                owner.own - owner.low,
                owner.high - owner.own
            )?;
        }
        for (routes, timing) in self.stages.iter().zip(&self.schedule.stages) {
            write!(
                f,
                "stage of {} rows, {} ahead, {} warm:",
                timing.rows, timing.ahead, timing.warm
            )?;
            routes
                .ins
                .iter()
                .try_for_each(|r| write!(f, " {}", Place(r)))?;
            write!(f, " ->")?;
            routes
                .outs
                .iter()
                .try_for_each(|r| write!(f, " {}", Place(r)))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

struct Place<'a>(&'a Route);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Route::Direct => write!(f, "direct"),
            Route::Block { block, row } => write!(f, "block{block}[{row}]"),
            Route::Ring {
                ring, row, offset, ..
            } => write!(f, "ring{ring}[{row}]+{offset}"),
        }
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
