//! What a device is told to do instead of [`crate::Op::run`].

use crate::block::View;
use arrayloom_ir::Kernel;
use arrayloom_types::{DType, Region, Strides};
use bytemuck::Pod;
use std::sync::Arc;

/// Memory that a call reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The box of this operand.
    Input(usize),
    /// The tables, so many bytes from their start.
    Table(usize),
    /// What an earlier call made for the next one; read once.
    Between(usize),
    /// The box of the result.
    Result,
}

/// Packed elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Where they lie.
    pub slot: Slot,
    /// Their dtype.
    pub dtype: DType,
    /// Their extents.
    pub shape: Vec<usize>,
}

impl Packed {
    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().product::<usize>() as u64 * self.dtype.size() as u64
    }
}

/// What a call does.
#[derive(Clone, Debug)]
pub enum Work {
    /// An operation.
    Ext {
        /// What it is called.
        name: &'static str,
        /// What it is told.
        attrs: Vec<u8>,
    },
    /// A kernel over the elements of the result.
    Kernel {
        /// The kernel.
        kernel: Arc<Kernel>,
        /// For each operand the byte where its first element lies, and the steps to the next one along each axis.
        places: Vec<(isize, Strides)>,
    },
}

/// One piece of work of a device.
#[derive(Clone, Debug)]
pub struct Call {
    /// What it is.
    pub work: Work,
    /// Its operands.
    pub ins: Vec<Packed>,
    /// Its result.
    pub out: Packed,
}

/// Work of a device, one after the other, and the tables that they read.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// The pieces of work.
    pub calls: Vec<Call>,
    /// The tables, each at a multiple of eight bytes.
    pub tables: Vec<u8>,
}

impl Recipe {
    /// Adds a table; each value is an element, or several.
    pub(crate) fn table<T: Pod>(&mut self, dtype: DType, values: &[T]) -> Packed {
        let each = size_of::<T>() / dtype.size();
        debug_assert_eq!(
            each * dtype.size(),
            size_of::<T>(),
            "elements of this dtype"
        );
        self.tables.resize(self.tables.len().next_multiple_of(8), 0);
        let slot = Slot::Table(self.tables.len());
        self.tables.extend_from_slice(bytemuck::cast_slice(values));
        Packed {
            slot,
            dtype,
            shape: vec![each * values.len()],
        }
    }

    /// This work, and then that whose first operand is what the last of these makes.
    pub(crate) fn then(mut self, mut next: Recipe) -> Recipe {
        let made = Slot::Between(self.calls.len());
        if let Some(last) = self.calls.last_mut() {
            last.out.slot = made;
        }
        let tables = self.tables.len().next_multiple_of(8);
        self.tables.resize(tables, 0);
        self.tables.append(&mut next.tables);
        for packed in next.calls.iter_mut().flat_map(|call| &mut call.ins) {
            match &mut packed.slot {
                Slot::Table(at) => *at += tables,
                slot if *slot == Slot::Input(0) => *slot = made,
                _ => {}
            }
        }
        self.calls.append(&mut next.calls);
        self
    }
}

/// An operation that devices can compute.
pub trait OnDevice {
    /// Bytes of device memory beside operands and result for a box of these extents of a result with the extents
    /// `shape`; never less for a larger box.
    fn device_scratch(&self, extents: &[i64], shape: &[i64]) -> u64;

    /// What a device does for the box `region` of the result, given where its operands lie (without their voxels);
    /// nothing if the CPU has to.
    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe>;
}
