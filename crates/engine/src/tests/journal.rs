//! The journal of what ran, and the calls that were recorded.

use super::*;

#[test]
fn a_journal_tells_what_ran_and_what_was_recorded() {
    let (w, _turn) = guarded();
    w.engine.flush().unwrap();
    let (a, b) = (w.lazy(DType::F64, &[64]), w.lazy(DType::F64, &[64]));
    let record = || {
        w.map("_copy", &a, &[number(2.0)]).unwrap();
        w.map("multiply", &b, &[read(&a), number(3.0)]).unwrap();
        w.engine.flush().unwrap();
    };
    record();
    assert_eq!(w.engine.take_events().0.len(), 0, "nobody asked");
    assert!(w.engine.take_calls().is_empty());

    w.engine.keep_journal(true);
    record();
    record();
    let calls = w.engine.take_calls();
    let of = |name: &str| -> u64 {
        let calls = calls.iter().filter(|((op, _), _)| *op == name);
        calls.map(|(_, count)| count).sum()
    };
    assert_eq!((of("_copy"), of("multiply")), (2, 2));
    assert!(w.engine.take_calls().is_empty(), "they were taken");
    let (events, lost) = w.engine.take_events();
    assert_eq!(lost, 0);
    let (lists, passes): (Vec<_>, Vec<_>) = events.iter().partition(|e| e.kernels == 0);
    assert_eq!(lists.len(), 2);
    assert!(
        lists
            .iter()
            .all(|e| e.operations == 2 && e.named.is_empty())
    );
    let named = passes.iter().flat_map(|e| e.named.iter());
    assert_eq!(named.filter(|(op, _)| *op == "multiply").count(), 2);
    let operations: usize = passes.iter().map(|e| e.operations).sum();
    assert_eq!(operations, 4);
    let ends: Vec<f64> = events.iter().map(|e| e.start + e.seconds).collect();
    assert!(ends.is_sorted(), "{ends:?}");
    assert!(events.iter().all(|e| e.start >= 0.0 && e.seconds >= 0.0));

    w.engine.keep_journal(false);
    record();
    assert_eq!(w.engine.take_events().0.len(), 0);
    assert!(w.engine.take_calls().is_empty());
    w.engine.release(a.slot);
    w.engine.release(b.slot);
}
