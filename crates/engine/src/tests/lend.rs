//! Pages that leave their slot: the value stays what it was, on both sides.

use super::*;

fn seen(lent: &crate::Lent, count: usize) -> Vec<f64> {
    let mut bytes = vec![0u8; count * 8];
    let (w, from) = (
        bytes.as_mut_ptr(),
        std::ptr::with_exposed_provenance_mut::<u8>(lent.address()),
    );
    let device = Reference::new();
    device
        .copy(Queue(0), End::Host(w), End::Host(from), bytes.len() as u64)
        .unwrap();
    bytes
        .chunks(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

#[test]
fn a_later_write_does_not_reach_the_borrower() {
    let (w, _turn) = guarded();
    let live = w.live_bytes();
    let a = w.ready(DType::F64, &[3], &[1.0, 2.0, 3.0]);
    let lent = w.engine.lend_pages(a.slot, &a.layout).unwrap().unwrap();
    assert_ne!(lent.address(), a.addr as usize);
    assert_eq!(seen(&lent, 3), [1.0, 2.0, 3.0]);
    assert!(w.engine.is_pending(a.slot));
    w.map("add", &a, &[read(&a), number(10.0)]).unwrap();
    assert_eq!(w.floats(&a), [11.0, 12.0, 13.0]);
    assert_eq!(seen(&lent, 3), [1.0, 2.0, 3.0]);
    w.engine.take_back(lent);
    assert_eq!(w.floats(&a), [11.0, 12.0, 13.0]);
    w.engine.release(a.slot);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn the_borrower_may_go_first_or_last() {
    let (w, _turn) = guarded();
    let live = w.live_bytes();
    let (a, b) = (w.lazy(DType::F64, &[4]), w.lazy(DType::F64, &[4]));
    for (array, value) in [(&a, 2.0), (&b, 3.0)] {
        w.map("_copy", array, &[number(value)]).unwrap();
    }
    w.engine.flush().unwrap();
    let first = w.engine.lend_pages(a.slot, &a.layout).unwrap().unwrap();
    let last = w.engine.lend_pages(b.slot, &b.layout).unwrap().unwrap();
    let kernels = w.engine.stats().kernels;
    assert!(w.engine.is_still_lent(&first));
    w.engine.take_back(first);
    assert!(!w.engine.is_pending(a.slot));
    assert_eq!(w.floats(&a), [2.0; 4]);
    assert_eq!(w.engine.stats().kernels, kernels, "the pages came back");
    w.engine.release(b.slot);
    w.engine.flush().unwrap();
    assert_eq!(w.engine.stats().kernels, kernels, "nobody needed that copy");
    assert_eq!(seen(&last, 4), [3.0; 4]);
    w.engine.take_back(last);
    w.engine.release(a.slot);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn a_part_of_a_slot_stays_where_it_is() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[4], &[1.0, 2.0, 3.0, 4.0]);
    let part = Layout::contiguous(DType::F64, &[2]);
    assert!(w.engine.lend_pages(a.slot, &part).unwrap().is_none());
    assert_eq!(w.floats(&a), [1.0, 2.0, 3.0, 4.0]);
    w.engine.release(a.slot);
}

#[test]
fn what_was_recorded_since_keeps_the_pages_from_coming_back() {
    let (w, _turn) = guarded();
    let live = w.engine.pool().stats().live_bytes;
    let a = w.ready(DType::F64, &[3], &[1.0, 2.0, 3.0]);
    let b = w.lazy(DType::F64, &[3]);
    let lent = w.engine.lend_pages(a.slot, &a.layout).unwrap().unwrap();
    w.map("add", &b, &[read(&a), number(1.0)]).unwrap();
    assert!(w.engine.is_still_lent(&lent), "a reader changes nothing");
    w.map("add", &a, &[read(&a), number(5.0)]).unwrap();
    assert!(!w.engine.is_still_lent(&lent));
    w.engine.take_back(lent);
    assert_eq!(w.floats(&a), [6.0, 7.0, 8.0]);
    assert_eq!(w.floats(&b), [2.0, 3.0, 4.0]);
    let lent = w.engine.lend_pages(a.slot, &a.layout).unwrap().unwrap();
    w.map("multiply", &b, &[read(&a), number(2.0)]).unwrap();
    w.engine.take_back(lent);
    assert_eq!(w.floats(&b), [12.0, 14.0, 16.0]);
    assert_eq!(w.floats(&a), [6.0, 7.0, 8.0]);
    let lent = w.engine.lend_pages(a.slot, &a.layout).unwrap().unwrap();
    assert_eq!(w.floats(&a), [6.0, 7.0, 8.0]);
    assert!(!w.engine.is_still_lent(&lent), "the copy was made");
    w.engine.take_back(lent);
    w.engine.release(a.slot);
    w.engine.release(b.slot);
    assert_eq!(w.engine.pool().stats().live_bytes, live);
}
