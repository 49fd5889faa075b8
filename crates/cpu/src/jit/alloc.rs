//! The order of the body of a loop, and registers for its values.
//!
//! Linear scan: a register is free again after the last use of its value. A load with one use becomes
//! the memory operand of that use. Single values are put into registers before the loop, as many as
//! there is room for, those with most uses first.

use super::ssa::{Code, Mop, Node, Source, Ty};

/// What the body does, by numbers of values and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Brings elements or a single value into its register.
    Fetch(usize),
    /// Computes a value.
    Compute(usize),
    /// Writes a value.
    Store(usize),
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Register(usize),
    /// It is the memory operand of its only use.
    Folded,
    /// Nothing uses it.
    Nowhere,
}

/// Registers and order.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) homes: Vec<Home>,
    /// Single values to be fetched before the loop.
    pub(crate) hoisted: Vec<usize>,
    pub(crate) body: Vec<Action>,
}

/// How often each value is used.
fn uses(code: &Code) -> Vec<usize> {
    let mut uses = vec![0; code.values.len()];
    for store in &code.stores {
        uses[store.value] += 1;
    }
    for at in (0..code.values.len())
        .rev()
        .filter(|&at| !is_leaf(code, at))
    {
        if uses[at] > 0 {
            for &operand in code.values[at].operands() {
                uses[operand] += 1;
            }
        }
    }
    uses
}

fn is_leaf(code: &Code, at: usize) -> bool {
    !matches!(code.values[at].node, Node::Op(..))
}

/// True when a leaf may be the memory operand of `user`.
fn folds(code: &Code, user: usize, leaf: usize) -> bool {
    let Node::Op(mop, operands, count) = code.values[user].node else {
        return false;
    };
    let (ty, leaf_ty) = (code.values[user].ty, code.values[leaf].ty);
    let anywhere = matches!(
        mop,
        Mop::Add | Mop::Sub | Mop::Mul | Mop::Div | Mop::And | Mop::Or | Mop::Xor | Mop::Sqrt
    );
    let with_masks = matches!(mop, Mop::Min | Mop::Max | Mop::Shl | Mop::Shr | Mop::Cmp(_));
    let takes = anywhere || (with_masks && !code.wide_truth);
    let first = operands[..count - 1].contains(&leaf);
    let alike = ty == leaf_ty || (ty == Ty::Bool && matches!(mop, Mop::Cmp(_)));
    let repeated = matches!(code.values[leaf].node, Node::Splat(_));
    takes
        && !first
        && alike
        && leaf_ty != Ty::Bool
        && (!repeated || (!code.wide_truth && leaf_ty.size() >= 4 && !leaf_ty.is_complex()))
}

/// The order of the body when the values in `hoisted` are at hand.
fn order(code: &Code, uses: &[usize], hoisted: &[usize]) -> (Vec<Action>, Vec<Home>) {
    let mut body = Vec::new();
    let mut homes = vec![Home::Nowhere; code.values.len()];
    let mut ready = vec![false; code.values.len()];
    for &value in hoisted {
        ready[value] = true;
    }
    let mut fetch = |body: &mut Vec<Action>, value: usize| {
        if is_leaf(code, value) && !ready[value] {
            ready[value] = true;
            body.push(Action::Fetch(value));
        }
    };
    for at in 0..code.values.len() {
        if is_leaf(code, at) || uses[at] == 0 {
            continue;
        }
        for &operand in code.values[at].operands() {
            let fold = is_leaf(code, operand)
                && uses[operand] == 1
                && !hoisted.contains(&operand)
                && folds(code, at, operand);
            if fold {
                homes[operand] = Home::Folded;
            } else {
                fetch(&mut body, operand);
            }
        }
        body.push(Action::Compute(at));
        for (number, store) in code.stores.iter().enumerate() {
            if store.value == at && !store.late {
                body.push(Action::Store(number));
            }
        }
    }
    for (number, store) in code.stores.iter().enumerate() {
        if is_leaf(code, store.value) {
            fetch(&mut body, store.value);
        }
        if is_leaf(code, store.value) && !store.late {
            body.push(Action::Store(number));
        }
    }
    let late = (0..code.stores.len()).filter(|&number| code.stores[number].late);
    body.extend(late.map(Action::Store));
    (body, homes)
}

/// The values that an action reads.
fn reads(code: &Code, action: Action) -> &[usize] {
    match action {
        Action::Fetch(_) => &[],
        Action::Compute(value) => code.values[value].operands(),
        Action::Store(number) => std::slice::from_ref(&code.stores[number].value),
    }
}

/// Gives registers `0..registers` to the values of the body; `None` if they do not suffice.
fn scan(code: &Code, body: &[Action], homes: &mut [Home], registers: usize) -> Option<()> {
    let mut last = vec![usize::MAX; code.values.len()];
    for (at, &action) in body.iter().enumerate() {
        for &value in reads(code, action) {
            last[value] = at;
        }
    }
    let mut free: Vec<usize> = (0..registers).rev().collect();
    for (at, &action) in body.iter().enumerate() {
        let operands = reads(code, action);
        for (i, &value) in operands.iter().enumerate() {
            if let Home::Register(register) = homes[value]
                && register < registers
                && last[value] == at
                && !operands[..i].contains(&value)
            {
                free.push(register);
            }
        }
        if let Action::Fetch(value) | Action::Compute(value) = action {
            let register = free.pop()?;
            homes[value] = Home::Register(register);
            if last[value] == usize::MAX {
                free.push(register);
            }
        }
    }
    Some(())
}

/// Plans with `registers` registers; `None` if more values are alive at once.
pub(crate) fn plan(code: &Code, registers: usize) -> Option<Plan> {
    let uses = uses(code);
    let single = |value: &usize| matches!(code.values[*value].node, Node::Splat(_));
    let mut splats: Vec<usize> = (0..code.values.len())
        .filter(single)
        .filter(|&value| uses[value] > 0)
        .collect();
    splats.sort_by_key(|&value| std::cmp::Reverse(uses[value]));
    for count in (0..=splats.len().min(registers - 1)).rev() {
        let hoisted = &splats[..count];
        let (body, mut homes) = order(code, &uses, hoisted);
        for (i, &value) in hoisted.iter().enumerate() {
            homes[value] = Home::Register(registers - 1 - i);
        }
        if scan(code, &body, &mut homes, registers - count).is_some() {
            return Some(Plan {
                homes,
                hoisted: hoisted.to_vec(),
                body,
            });
        }
    }
    None
}

/// How often the loop reads or writes at each argument.
pub(crate) fn argument_uses(code: &Code, plan: &Plan, args: usize) -> Vec<usize> {
    let mut uses = vec![0; args];
    for (value, home) in code.values.iter().zip(&plan.homes) {
        let hoisted = matches!(value.node, Node::Splat(_))
            && plan
                .hoisted
                .iter()
                .any(|&h| std::ptr::eq(&raw const code.values[h], value));
        if *home == Home::Nowhere || hoisted {
            continue;
        }
        if let Node::Load(arg) | Node::Splat(Source::Arg(arg)) = value.node {
            uses[arg] += 1;
        }
    }
    for store in &code.stores {
        uses[store.arg] += 1;
    }
    uses
}
