//! Picked elements: taken in time, from the origin or from the whole, whatever fails meanwhile.

use super::*;
use crate::{Picked, Row, Taking};

const VALUES: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const MASK: [f64; 6] = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0];
const CHOSEN: [f64; 3] = [1.0, 3.0, 4.0];

/// Takes elements of eight bytes by copies of the reference device.
fn take(what: &Taking) {
    assert_eq!(what.size, 8);
    let device = Reference::new();
    let at = std::ptr::with_exposed_provenance_mut::<u8>;
    let mut mask = vec![0u8; what.places];
    let (to, from) = (End::Host(mask.as_mut_ptr()), End::Host(at(what.mask)));
    device.copy(Queue(0), to, from, what.places as u64).unwrap();
    let chosen = (0..what.places).filter(|&place| mask[place] != 0);
    for (number, place) in chosen.enumerate() {
        let from = End::Host(at(what.values + 8 * place));
        let to = End::Host(at(what.out + 8 * number));
        device.copy(Queue(0), to, from, 8).unwrap();
    }
}

struct Pair {
    origin: Array,
    mask: Array,
}

fn pair(w: &World) -> Pair {
    Pair {
        origin: w.ready(DType::F64, &[6], &VALUES),
        mask: w.ready(DType::Bool, &[6], &MASK),
    }
}

/// `where(mask, origin, 1.0)`, or what `op` makes of it, and the elements that the mask picks of that.
fn pick(w: &World, of: &Pair, op: Option<&str>) -> (Array, Array) {
    let whole = w.lazy(DType::F64, &[6]);
    let ins = [read(&of.mask), read(&of.origin), number(1.0)];
    w.map("_where", &whole, &ins).unwrap();
    let from = op.is_none().then_some(row(&of.origin));
    let whole = op.map_or(whole.clone(), |op| {
        let next = w.lazy(DType::F64, &[6]);
        w.map(op, &next, &[read(&whole)]).unwrap();
        w.engine.release(whole.slot);
        next
    });
    let new = w.engine.pick_later(Picked {
        whole: row(&whole),
        from,
        unchanged: from.is_some(),
        mask: row(&of.mask),
        places: 6,
        count: 3,
        size: 8,
        site: 0,
        take,
    });
    let new = new.unwrap();
    let picked = Array {
        slot: new.slot,
        addr: new.addr,
        layout: Layout::contiguous(DType::F64, &[3]),
    };
    (picked, whole)
}

fn row(array: &Array) -> Row {
    Row {
        slot: array.slot,
        offset: 0,
    }
}

/// Whether the whole of picked elements can be computed with; nothing is recorded.
fn has_whole(w: &World, slot: SlotId) -> bool {
    let picked = w.engine.read_whole(slot);
    picked.is_some_and(|picked| {
        w.engine.whole_is_read(picked.whole.slot);
        true
    })
}

#[test]
fn unchanged_elements_come_from_their_origin_without_a_kernel() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    let of = pair(w);
    let (picked, whole) = pick(w, &of, None);
    let kernels = w.engine.stats().kernels;
    assert!(w.engine.is_picked(picked.slot) && w.engine.is_pending(picked.slot));
    assert_eq!(w.floats(&picked), CHOSEN);
    assert!(!w.engine.is_picked(picked.slot));
    assert_eq!(
        w.engine.stats().kernels,
        kernels,
        "the whole was not needed"
    );
    w.drop_all(&[&picked, &whole, &of.origin, &of.mask]);
    assert_eq!(w.engine.slots_in_use(), slots);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn elements_with_a_whole_of_their_own_are_taken_from_it() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    let of = pair(w);
    let (picked, whole) = pick(w, &of, Some("negative"));
    assert!(has_whole(w, picked.slot));
    w.engine.flush().unwrap();
    assert!(has_whole(w, picked.slot), "its whole is computed");
    // The origin is nothing to it any more.
    w.map("_copy", &of.origin, &[number(0.0)]).unwrap();
    assert!(w.engine.is_picked(picked.slot));
    // Nobody but the engine needs the whole.
    w.engine.release(whole.slot);
    assert_eq!(w.floats(&picked), CHOSEN.map(|v| -v));
    w.drop_all(&[&picked, &of.origin, &of.mask]);
    assert_eq!(w.engine.slots_in_use(), slots);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn the_whole_of_unchanged_elements_is_lost_when_the_list_runs() {
    let (w, _turn) = guarded();
    let of = pair(w);
    let (picked, whole) = pick(w, &of, None);
    assert!(has_whole(w, picked.slot));
    w.engine.flush().unwrap();
    assert!(!has_whole(w, picked.slot));
    assert_eq!(w.floats(&picked), CHOSEN);
    w.drop_all(&[&picked, &whole, &of.origin, &of.mask]);
}

#[test]
fn a_whole_that_is_about_to_be_read_is_computed_when_the_list_runs() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    let of = pair(w);
    let (picked, whole) = pick(w, &of, None);
    let found = w.engine.read_whole(picked.slot).unwrap();
    w.engine.flush().unwrap();
    let next = w.lazy(DType::F64, &[6]);
    w.map("negative", &next, &[read(&whole)]).unwrap();
    w.engine.whole_is_read(found.whole.slot);
    assert_eq!(w.floats(&next), [-1.0, -1.0, -3.0, -4.0, -1.0, -1.0]);
    assert!(
        !has_whole(w, picked.slot),
        "elements come from their origin"
    );
    assert_eq!(w.floats(&picked), CHOSEN);
    w.drop_all(&[&picked, &whole, &next, &of.origin, &of.mask]);
    assert_eq!(w.engine.slots_in_use(), slots);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn dropped_elements_leave_nothing() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    for op in [None, Some("negative")] {
        let of = pair(w);
        let (picked, whole) = pick(w, &of, op);
        let kernels = w.engine.stats().kernels;
        w.drop_all(&[&picked, &whole]);
        assert_eq!(w.engine.stats().kernels, kernels, "nobody wants them");
        // Mask and origin may be written as before.
        w.engine.sync_write(of.origin.slot).unwrap();
        w.engine.sync_write(of.mask.slot).unwrap();
        w.write(&of.origin, &[0.0; 6]);
        w.drop_all(&[&of.origin, &of.mask]);
        assert_eq!(w.engine.slots_in_use(), slots);
        assert_eq!(w.live_bytes(), live);
    }
}

/// A way to change an array of six elements, each.
type Change = fn(&World, &Array);

#[test]
fn writes_of_every_kind_come_after_the_elements_have_been_taken() {
    let changes: [Change; 4] = [
        |w, a| {
            let zero = Scalar::from_f64(a.layout.dtype, 0.0);
            w.map("_copy", a, &[Operand::Scalar(zero)]).unwrap();
        },
        |w, a| {
            let zero = Scalar::from_f64(a.layout.dtype, 0.0);
            let node = map_node("_copy", a, &[Operand::Scalar(zero)], None);
            w.engine.compute(node).unwrap();
        },
        |w, a| {
            w.engine.sync_write(a.slot).unwrap();
            w.write(a, &[0.0; 6]);
        },
        // As C code does, which asks nobody.
        |w, a| w.write(a, &[0.0; 6]),
    ];
    let (w, _turn) = guarded();
    for change in changes {
        for op in [None, Some("negative")] {
            for of_mask in [false, true] {
                let of = pair(w);
                let (picked, whole) = pick(w, &of, op);
                change(w, if of_mask { &of.mask } else { &of.origin });
                let expected = op.map_or(CHOSEN, |_| CHOSEN.map(|v| -v));
                assert_eq!(w.floats(&picked), expected, "{op:?} {of_mask}");
                let changed = w.bytes(if of_mask { &of.mask } else { &of.origin });
                assert!(changed.iter().all(|&byte| byte == 0));
                w.drop_all(&[&picked, &whole, &of.origin, &of.mask]);
            }
        }
    }
}

#[test]
fn a_touch_of_the_elements_takes_them() {
    let (w, _turn) = guarded();
    for op in [None, Some("negative")] {
        let of = pair(w);
        let (picked, whole) = pick(w, &of, op);
        let bytes = w.peek(&picked);
        let first = op.map_or(1.0f64, |_| -1.0);
        assert_eq!(bytes[..8], first.to_le_bytes());
        assert!(!w.engine.is_picked(picked.slot));
        w.write(&picked, &[7.0; 3]);
        assert_eq!(w.floats(&picked), [7.0; 3]);
        assert_eq!(w.floats(&of.origin), VALUES);
        w.drop_all(&[&picked, &whole, &of.origin, &of.mask]);
    }
}

#[test]
fn work_in_place_changes_the_whole() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    let of = pair(w);
    let (picked, whole) = pick(w, &of, None);
    let next = w.lazy(DType::F64, &[6]);
    w.map("multiply", &next, &[read(&whole), number(2.0)])
        .unwrap();
    w.engine.repick(picked.slot, row(&next));
    w.drop_all(&[&whole, &next]);
    w.map("_copy", &of.origin, &[number(0.0)]).unwrap();
    assert_eq!(w.floats(&picked), CHOSEN.map(|v| 2.0 * v));
    w.drop_all(&[&picked, &of.origin, &of.mask]);
    assert_eq!(w.engine.slots_in_use(), slots);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn lines_whose_elements_are_taken_are_known() {
    let (w, _turn) = guarded();
    let later = |site: u32, wanted: bool| {
        let of = pair(w);
        let whole = w.lazy(DType::F64, &[6]);
        let ins = [read(&of.mask), read(&of.origin), number(1.0)];
        w.map("_where", &whole, &ins).unwrap();
        let picked = w.engine.pick_later(Picked {
            whole: row(&whole),
            from: Some(row(&of.origin)),
            unchanged: true,
            mask: row(&of.mask),
            places: 6,
            count: 3,
            size: 8,
            site,
            take,
        });
        let slot = picked.unwrap().slot;
        if wanted {
            w.engine.sync_read(slot).unwrap();
        } else {
            w.engine.puts_back(site);
        }
        for slot in [slot, whole.slot, of.origin.slot, of.mask.slot] {
            w.engine.release(slot);
        }
        w.engine.flush().unwrap();
    };
    later(71, true);
    assert!(w.engine.picks_later(71));
    later(71, false);
    later(71, true);
    assert!(w.engine.picks_later(71), "not in a row");
    later(71, true);
    assert!(!w.engine.picks_later(71));
    assert!(w.engine.picks_later(72));
}

#[test]
fn every_failing_allocation_and_kernel_leaves_the_elements() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    for op in [None, Some("negative")] {
        for kernels in [false, true] {
            let mut at = 0;
            loop {
                let of = pair(w);
                let (picked, whole) = pick(w, &of, op);
                let left = w.left(kernels);
                left.store(at, Ordering::Relaxed);
                let failed = w.engine.sync_read(picked.slot).is_err();
                let unused = left.swap(i64::MAX, Ordering::Relaxed) > 0;
                let expected = op.map_or(CHOSEN, |_| CHOSEN.map(|v| -v));
                assert_eq!(w.floats(&picked), expected, "{op:?} {kernels} {at}");
                assert_eq!(w.floats(&of.origin), VALUES);
                w.engine.sync_write(of.origin.slot).unwrap();
                w.drop_all(&[&picked, &whole, &of.origin, &of.mask]);
                assert_eq!(w.engine.slots_in_use(), slots);
                assert_eq!(w.live_bytes(), live);
                if unused {
                    assert!(!failed);
                    break;
                }
                at += 1;
            }
            assert!(at > 0 || (kernels && op.is_none()), "{at}");
        }
    }
}

#[test]
fn elements_whose_mask_is_not_computed_are_not_picked_later() {
    let (w, _turn) = guarded();
    let slots = w.engine.slots_in_use();
    let of = pair(w);
    let mask = w.lazy(DType::Bool, &[6]);
    w.map("logical_not", &mask, &[read(&of.mask)]).unwrap();
    let whole = w.lazy(DType::F64, &[6]);
    let ins = [read(&mask), read(&of.origin), number(1.0)];
    w.map("_where", &whole, &ins).unwrap();
    assert!(w.engine.is_pending(mask.slot));
    let picked = w.engine.pick_later(Picked {
        whole: row(&whole),
        from: Some(row(&of.origin)),
        unchanged: true,
        mask: row(&mask),
        places: 6,
        count: 3,
        size: 8,
        site: 0,
        take,
    });
    assert!(picked.is_none());
    w.drop_all(&[&whole, &mask, &of.origin, &of.mask]);
    assert_eq!(w.engine.slots_in_use(), slots);
}

#[test]
fn an_operation_whose_elements_cannot_be_taken_is_not_recorded() {
    let (w, _turn) = guarded();
    for kernels in [false, true] {
        let of = pair(w);
        let (picked, whole) = pick(w, &of, Some("negative"));
        let out = w.lazy(DType::F64, &[3]);
        let before = w.engine.pending_nodes();
        let left = w.left(kernels);
        left.store(0, Ordering::Relaxed);
        let node = map_node("negative", &out, &[read(&picked)], None);
        let refused = w.engine.compute(node.clone());
        left.store(i64::MAX, Ordering::Relaxed);
        if refused.is_err() {
            assert_eq!(w.engine.pending_nodes(), before, "{kernels}");
            assert!(w.engine.is_picked(picked.slot));
            w.engine.compute(node).unwrap();
        }
        assert_eq!(w.floats(&out), CHOSEN, "{kernels}");
        assert!(kernels || refused.is_ok(), "memory is found again");
        w.drop_all(&[&picked, &whole, &out, &of.origin, &of.mask]);
    }
}

#[test]
fn a_write_waits_for_elements_that_are_picked_while_it_waits() {
    let (w, _turn) = guarded();
    let of = pair(w);
    let (first, whole) = pick(w, &of, None);
    // Another is picked from the same origin while the first one's list runs.
    let other = w.ready(DType::F64, &[6], &VALUES);
    let next = w.lazy(DType::F64, &[6]);
    w.map("negative", &next, &[read(&other)]).unwrap();
    let found = Arc::new(Mutex::new(Vec::new()));
    let (told, origin, mask) = (Arc::clone(&found), of.origin.slot, of.mask.slot);
    let (values, truth) = (of.origin.layout.clone(), of.mask.layout.clone());
    *w.device.meanwhile.lock().unwrap() = Some(Box::new(move || {
        let known = |slot, layout| Array {
            slot,
            addr: std::ptr::null_mut(),
            layout,
        };
        let of = Pair {
            origin: known(origin, values),
            mask: known(mask, truth),
        };
        let (picked, whole) = pick(w, &of, None);
        told.lock()
            .unwrap()
            .extend([picked, whole].map(|array| (array.slot, array.addr as usize)));
    }));
    w.engine.sync_write(of.origin.slot).unwrap();
    w.write(&of.origin, &[0.0; 6]);
    let found = std::mem::take(&mut *found.lock().unwrap());
    let known = found.into_iter().map(|(slot, addr)| Array {
        slot,
        addr: std::ptr::with_exposed_provenance_mut(addr),
        layout: first.layout.clone(),
    });
    let meanwhile: Vec<Array> = known.collect();
    assert_eq!(w.floats(&first), CHOSEN);
    assert_eq!(w.floats(&meanwhile[0]), CHOSEN);
    w.drop_all(&[&first, &whole, &other, &next, &of.origin, &of.mask]);
    w.drop_all(&meanwhile.iter().collect::<Vec<_>>());
}
