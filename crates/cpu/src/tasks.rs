//! Cutting a launch into tasks. Results never depend on how it is cut.
//!
//! Maps are cut anywhere. Folds are cut along an axis that the outputs keep, or, if there is none worth
//! cutting, into subtrees (or any pieces, if order does not matter) whose results are joined in order.

use crate::fold::{FoldForm, FoldPlan};
use crate::nest::{Class, Nest};
use crate::tree::subtrees;
use std::ops::Range;

/// A part of the work.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// The part of the domain, if not all of it.
    pub(crate) nest: Option<Nest>,
    /// Flat positions of it.
    pub(crate) range: Range<usize>,
}

impl Task {
    /// All of the work.
    pub(crate) fn whole(nest: &Nest) -> Task {
        Task {
            nest: None,
            range: 0..nest.len(),
        }
    }
}

/// How a launch is cut.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(crate) tasks: Vec<Task>,
    /// If folds keep the results of tasks to themselves: how the sums are to be joined.
    pub(crate) alone: Option<Joint>,
}

/// How results of tasks are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joint {
    /// Points of a run; every run has one output element.
    pub(crate) run: usize,
    /// Points of a piece of a run.
    pub(crate) piece: usize,
    /// Most values of a subtree.
    pub(crate) most: usize,
}

/// What the cut depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut<'a> {
    pub(crate) nest: &'a Nest,
    pub(crate) span: bool,
    pub(crate) folds: &'a [Option<FoldPlan>],
    pub(crate) threads: usize,
}

/// Tasks for each thread, so that a slow one does not hold up the rest.
const EACH: usize = 4;
/// Fewest points of a task.
const LEAST: usize = 16 << 10;
/// Columns of a band of a row: whole lines of every type.
const COLUMNS: usize = 128;
/// Most pieces that are joined one by one.
const PIECES: usize = 1 << 16;

impl Cut<'_> {
    /// Cuts the launch.
    pub(crate) fn tasks(&self) -> Tasks {
        if self.threads > 1 {
            if self.folds.iter().all(Option::is_none) {
                return Tasks {
                    tasks: self.chunks(),
                    alone: None,
                };
            }
            if let Some((joint, tasks)) = self.alone() {
                return Tasks {
                    tasks,
                    alone: Some(joint),
                };
            }
            if let Some(tasks) = self.along_kept_axis() {
                return Tasks { tasks, alone: None };
            }
        }
        Tasks {
            tasks: vec![Task::whole(self.nest)],
            alone: None,
        }
    }

    fn size(&self) -> usize {
        (self.nest.len() / (self.threads * EACH)).max(LEAST)
    }

    fn chunks(&self) -> Vec<Task> {
        let (total, size) = (self.nest.len(), self.size().next_multiple_of(4096));
        (0..total)
            .step_by(size)
            .map(|start| Task {
                nest: None,
                range: start..(start + size).min(total),
            })
            .collect()
    }

    fn alone(&self) -> Option<(Joint, Vec<Task>)> {
        let total = self.nest.len();
        let kept: usize = self
            .nest
            .axes
            .iter()
            .filter(|a| a.class == Class::Kept)
            .map(|a| a.extent)
            .product();
        let plans = || self.folds.iter().flatten();
        let trees = || plans().filter(|f| matches!(f.form, FoldForm::Tree(_)));
        if !plans().all(FoldPlan::splits) || kept >= self.threads * EACH {
            return None;
        }
        let Some(tree) = trees().next() else {
            let joint = Joint {
                run: total,
                piece: total,
                most: self.size(),
            };
            return (kept == 1).then(|| (joint, self.chunks()));
        };
        let any_arg = plans().any(|f| matches!(f.form, FoldForm::Arg(_)));
        let pieces = total / tree.segment * tree.segment.div_ceil(tree.piece);
        let factor = tree.reals(1);
        let alike = trees().all(|t| t.reals(1) == factor);
        if pieces > PIECES || (any_arg && kept > 1) || !alike {
            return None;
        }
        let joint = Joint {
            run: tree.segment,
            piece: tree.piece,
            most: self.size(),
        };
        let mut tasks = Vec::new();
        for run in (0..total).step_by(joint.run) {
            for start in (0..joint.run).step_by(joint.piece) {
                let n = joint.piece.min(joint.run - start);
                for (at, len) in subtrees(factor * n, factor * joint.most) {
                    let first = run + start + at / factor;
                    tasks.push(Task {
                        nest: None,
                        range: first..first + len / factor,
                    });
                }
            }
        }
        Some((joint, tasks))
    }

    /// Parts along an axis that the outputs keep, if there is one worth cutting.
    pub(crate) fn along_kept_axis(&self) -> Option<Vec<Task>> {
        let axes = &self.nest.axes;
        let kept = |&axis: &usize| axes[axis].class == Class::Kept && axes[axis].extent > 1;
        let axis = if self.span {
            Some(axes.len() - 1).filter(kept)?
        } else {
            (0..axes.len())
                .rev()
                .filter(kept)
                .find(|&axis| axes[axis].extent >= self.threads)?
        };
        let extent = axes[axis].extent;
        let bands: Vec<Range<usize>> = if axis == 0 && !self.span {
            let each = extent.div_ceil(self.threads).next_multiple_of(COLUMNS);
            (0..extent)
                .step_by(each)
                .map(|start| start..(start + each).min(extent))
                .collect()
        } else {
            arrayloom_plan::bands(extent, self.threads * EACH).collect()
        };
        let task = |band: Range<usize>| {
            let nest = self.nest.narrowed(axis, band);
            Task {
                range: 0..nest.len(),
                nest: Some(nest),
            }
        };
        Some(bands.into_iter().map(task).collect())
    }
}
