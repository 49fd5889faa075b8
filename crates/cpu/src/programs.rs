//! Programs of launches that were lowered before. A loop launches the same kernels over the same loops each
//! time, on other memory and with other scalars: one program serves them all.

use crate::cell::Cell;
use crate::config::CpuConfig;
use crate::fold::{FoldForm, FoldPlan};
use crate::jit;
use crate::lower::Facts;
use crate::program::{self, Program};
use crate::setup::{Setup, Source};
use arrayloom_ir::KeyBytes;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::hash::Hash as _;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Most programs that are kept; beyond that, all are forgotten.
const KEPT: usize = 1024;

type Known = IndexMap<Box<[u8]>, Arc<Program>, FxBuildHasher>;

/// The programs of a device.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    known: Mutex<Known>,
}

/// A program and the uniform values of a launch.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) program: Arc<Program>,
    pub(crate) uniforms: Vec<Cell>,
}

impl Programs {
    /// None while another thread has them, which in the child of a fork may be for ever.
    fn open(&self) -> Option<MutexGuard<'_, Known>> {
        match self.known.try_lock() {
            Ok(known) => Some(known),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The program of a launch, lowered if need be.
    ///
    /// # Errors
    /// As for [`program::build`].
    pub(crate) fn ready(
        &self,
        facts: Facts<'_>,
        folds: &[Option<FoldPlan>],
        config: &CpuConfig,
    ) -> Result<Ready, String> {
        let key = key(&facts, folds);
        let known = self.open().and_then(|known| known.get(&*key).cloned());
        let program = match known {
            Some(program) => program,
            None => self.build(key, facts, folds, config)?,
        };
        let mut uniforms = program.uniforms.clone();
        for &(uniform, input) in &program.inputs {
            if let Source::Uniform(scalar) = facts.setup.sources[input] {
                uniforms[uniform] = Cell(scalar.bytes);
            }
        }
        Ok(Ready { program, uniforms })
    }

    fn build(
        &self,
        key: Box<[u8]>,
        facts: Facts<'_>,
        folds: &[Option<FoldPlan>],
        config: &CpuConfig,
    ) -> Result<Arc<Program>, String> {
        let program = Arc::new(program::build(facts, folds, config)?);
        if program.is_general
            && let Some(mut known) = self.open()
        {
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(key, Arc::clone(&program));
        }
        Ok(program)
    }
}

/// All that a program depends on, but for what a device has one of.
fn key(facts: &Facts<'_>, folds: &[Option<FoldPlan>]) -> Box<[u8]> {
    let setup = facts.setup;
    let mut bytes = KeyBytes::default();
    facts.kernel.hash(&mut bytes);
    (facts.flags.is_some(), facts.jit.is_some()).hash(&mut bytes);
    setup.nest.axes.hash(&mut bytes);
    for source in &setup.sources {
        match source {
            Source::Uniform(scalar) => (0u8, scalar.dtype).hash(&mut bytes),
            Source::Lane(lane) => (1u8, lane).hash(&mut bytes),
            Source::Unused => 2u8.hash(&mut bytes),
        }
    }
    (setup.short, setup.scan, setup.rows).hash(&mut bytes);
    (&setup.iotas, &setup.outs, &setup.ranks, &setup.cached).hash(&mut bytes);
    for fold in folds {
        let known = |fold: &FoldPlan| {
            let is_tree = matches!(fold.form, FoldForm::Tree(_));
            (fold.value_dtype, is_tree, fold.segment)
        };
        fold.as_ref().map(known).hash(&mut bytes);
    }
    places(setup, &mut bytes);
    bytes.into_key()
}

/// What a program depends on of the places of memory: how they are aligned, and how far apart lanes are that lie on
/// one another or near.
fn places(setup: &Setup, bytes: &mut KeyBytes) {
    let nest = &setup.nest;
    // An element that is too careful does no harm.
    let margin = jit::nearness(nest.len()).max(16);
    for (lane, base) in nest.bases.iter().enumerate() {
        (base & 15).hash(bytes);
        let (low, high) = nest.reach(lane);
        for other in 0..lane {
            let (from, to) = nest.reach(other);
            if from < high.saturating_add(margin) && low < to.saturating_add(margin) {
                (lane, other, base.wrapping_sub(nest.bases[other])).hash(bytes);
            }
        }
    }
}
