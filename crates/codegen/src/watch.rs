//! Which steps of a launch look at values, and which one finds what its instructions met.

use crate::conditions::{Watch, Watched, shown, tells};
use crate::dims::merged;
use crate::draft::{Draft, Lowering};
use crate::entry::Form;
use crate::lower::Step;
use arrayloom_device::Arg;
use arrayloom_ir as ir;

/// The block of scratch with the words that conditions are told in.
pub(super) const MET: usize = 3;

impl Lowering<'_> {
    /// Makes the step that finds conditions, if they are wanted and there may be some.
    pub(super) fn watch(&mut self) -> Result<(), String> {
        if self.launch.flags.is_none() || self.launch.shape.contains(&0) {
            return Ok(());
        }
        let all: Vec<usize> = (0..self.kernel.outputs.len()).collect();
        let mut draft = self.without_results(&all);
        let outputs = &self.kernel.outputs;
        let first = self.kernel.goes_by_number() || !self.results_apart(&all);
        let mut folds = Vec::new();
        for (output, slot) in outputs.iter().zip(1 + draft.code.len()..) {
            let (ir::Form::Reduce { op, .. } | ir::Form::Scan { op, .. }) = output.form else {
                continue;
            };
            let at = draft
                .origin
                .iter()
                .position(|&o| o == output.value as usize);
            let at = at.ok_or("an output without a value")?;
            if tells(op.prim(), draft.code[at].dtype) {
                folds.push((slot, crate::draft::number_of(at)));
            }
        }
        if folds.is_empty() && shown(&draft.code, &[]).is_empty() {
            return Ok(());
        }
        draft.watch = Watch::All {
            classes: folds.iter().map(|(_, value)| *value).collect(),
            after: !first,
        };
        let origin = draft.origin.clone();
        let step = self.apart_from_the_rest(draft)?;
        self.looks = !first;
        let watched = Watched {
            step,
            first,
            scratch: MET,
            origin,
            folds,
        };
        self.scratch(&[0, 0, 0, watched.words() * 4]);
        self.steps.watched = Some(watched);
        Ok(())
    }

    /// The word for the results of this output.
    pub(super) fn slot_of(&self, number: usize) -> Option<usize> {
        let watched = self.steps.watched.as_ref()?;
        let slot = 1 + watched.origin.len() + number;
        watched.folds.iter().any(|f| f.0 == slot).then_some(slot)
    }

    /// What an entry of this draft tells.
    pub(super) fn watch_of(&self, draft: &Draft) -> Watch {
        let ends = matches!(
            draft.form,
            Form::Fold { .. } | Form::Combine | Form::Scan { .. }
        );
        if ends && self.slot.is_some() {
            return Watch::Results;
        }
        draft.watch.clone()
    }

    /// Has a step look at its values, but for those that show in `seen`.
    pub(super) fn looked(&self, draft: &mut Draft, seen: &[u32]) {
        if self.looks {
            let values = shown(&draft.code, seen);
            if !values.is_empty() {
                draft.watch = Watch::Some(values);
            }
        }
    }

    /// Adds a step that looks at the values of outputs that have not every point, where results do not show
    /// what they met.
    pub(super) fn look(&mut self) -> Result<(), String> {
        if !self.looks {
            return Ok(());
        }
        let outputs = self.kernel.outputs.iter().enumerate();
        let folded = outputs.filter(|(_, o)| o.form != ir::Form::Store);
        let folded: Vec<usize> = folded.map(|(n, _)| n).collect();
        let mut draft = self.without_results(&folded);
        let told = folded.iter().filter(|&&n| self.slot_of(n).is_some());
        let values: Vec<usize> = told
            .map(|&n| self.kernel.outputs[n].value as usize)
            .collect();
        let seen: Vec<u32> = (0..)
            .zip(&draft.origin)
            .filter(|(_, o)| values.contains(o))
            .map(|(at, _)| at)
            .collect();
        self.looked(&mut draft, &seen);
        if draft.watch == Watch::Nothing {
            return Ok(());
        }
        let step = self.apart_from_the_rest(draft)?;
        self.steps.list.push(step);
        Ok(())
    }

    /// The code of outputs over all points, which goes nowhere.
    fn without_results(&self, numbers: &[usize]) -> Draft {
        let mut draft = self.draft(numbers, Form::Map);
        let inputs = draft.operands.len() - draft.outs.len();
        draft.operands.truncate(inputs);
        draft.outs.clear();
        let mut axes = self.axes(0, false);
        let first = draft.operands.first().and_then(|o| self.arg(o.memory));
        if let Some(Arg::View { strides, .. }) = first {
            axes.sort_by_key(|&a| std::cmp::Reverse(strides[a].unsigned_abs()));
        }
        draft.dims = merged(self.dims(&draft, &axes));
        draft
    }

    fn results_apart(&self, numbers: &[usize]) -> bool {
        let mut draft = self.draft(numbers, Form::Map);
        draft.dims = merged(self.dims(&draft, &self.axes(0, false)));
        self.apart(&draft)
    }

    /// A step over all points that is not put into the list.
    fn apart_from_the_rest(&mut self, draft: Draft) -> Result<Step, String> {
        self.every_point(draft)?;
        let step = self.steps.list.pop();
        step.ok_or_else(|| "no step".to_owned())
    }
}
