//! Operations that are no kernels: what they read is computed, and nothing is lost, whatever fails.

use super::*;
use crate::SlotView;
use arrayloom_device::Tensor;

const VALUES: [f64; 4] = [1.0, 2.0, 3.0, 4.0];
const DOUBLED: [f64; 4] = [2.0, 4.0, 6.0, 8.0];
const TURNED: [f64; 4] = [8.0, 6.0, 4.0, 2.0];

fn view(array: &Array) -> SlotView {
    SlotView {
        slot: Some(array.slot),
        base: 0,
        layout: array.layout.clone(),
    }
}

/// Writes the elements of a vector the other way round, which may be in place.
fn turn(ins: &[Tensor], outs: &[Tensor]) -> Result<(), DeviceError> {
    let device = Reference::new();
    let place = |tensor: &Tensor, number: usize| {
        let address = usize::try_from(tensor.buf.0).unwrap() + 8 * number;
        End::Host(std::ptr::with_exposed_provenance_mut(address))
    };
    let mut values = [[0u8; 8]; 4];
    for (number, value) in values.iter_mut().enumerate() {
        let to = End::Host(value.as_mut_ptr());
        device.copy(Queue(0), to, place(&ins[0], number), 8)?;
    }
    for (number, value) in values.iter_mut().rev().enumerate() {
        let from = End::Host(value.as_mut_ptr());
        device.copy(Queue(0), place(&outs[0], number), from, 8)?;
    }
    Ok(())
}

/// A vector, and twice that, which is not computed.
fn doubled(w: &World) -> (Array, Array) {
    let plain = w.ready(DType::F64, &[4], &VALUES);
    let twice = w.lazy(DType::F64, &[4]);
    w.map("add", &twice, &[read(&plain), read(&plain)]).unwrap();
    (plain, twice)
}

#[test]
fn operands_are_computed_and_results_need_no_touch() {
    let (w, _turn) = guarded();
    let slots = w.engine.slots_in_use();
    let (plain, twice) = doubled(w);
    let out = w.lazy(DType::F64, &[4]);
    let operands = ([view(&twice)], [view(&out)]);
    assert!(w.engine.operate(&operands.0, &operands.1, turn).unwrap());
    let sum = w.lazy(DType::F64, &[4]);
    w.map("add", &sum, &[read(&out), read(&twice)]).unwrap();
    assert_eq!(w.floats(&sum), [10.0; 4]);
    assert_eq!(w.floats(&out), TURNED);
    w.drop_all(&[&plain, &twice, &out, &sum]);
    assert_eq!(w.engine.slots_in_use(), slots);
}

#[test]
fn what_is_recorded_before_reads_what_was_there_before() {
    let (w, _turn) = guarded();
    let (plain, twice) = doubled(w);
    assert_eq!(w.floats(&twice), DOUBLED);
    let before = w.lazy(DType::F64, &[4]);
    w.map("negative", &before, &[read(&twice)]).unwrap();
    let operands = [view(&twice)];
    assert!(w.engine.operate(&operands, &operands, turn).unwrap());
    assert_eq!(w.floats(&before), DOUBLED.map(|v| -v));
    assert_eq!(w.floats(&twice), TURNED);
    w.drop_all(&[&plain, &twice, &before]);
}

#[test]
fn what_the_device_refuses_leaves_all_as_it_was() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    let (plain, twice) = doubled(w);
    let out = w.lazy(DType::F64, &[4]);
    let refuse = |_: &[Tensor], _: &[Tensor]| {
        let what = "turn".to_owned();
        Err(DeviceError::Unsupported {
            device: "flaky",
            what,
        })
    };
    for outs in [[view(&out)], [view(&twice)]] {
        assert!(!w.engine.operate(&[view(&twice)], &outs, refuse).unwrap());
        assert_eq!(w.floats(&twice), DOUBLED);
    }
    w.drop_all(&[&plain, &twice, &out]);
    assert_eq!(w.engine.slots_in_use(), slots);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn an_operand_that_makes_room_for_the_result_is_read_where_it_went() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    let plain = w.ready(DType::F64, &[1024], &[VALUES; 256].concat());
    let twice = w.lazy(DType::F64, &[1024]);
    w.map("add", &twice, &[read(&plain), read(&plain)]).unwrap();
    w.engine.flush().unwrap();
    w.engine.release(plain.slot);
    let out = w.lazy(DType::F64, &[1024]);
    w.engine.set_memory_limit(w.engine.restart_peak() + 4096);
    let done = w.engine.operate(&[view(&twice)], &[view(&out)], turn);
    assert!(w.engine.pool().spilled().0 > 0);
    w.engine.set_memory_limit(u64::MAX);
    assert!(done.unwrap());
    assert_eq!(w.floats(&out)[..4], TURNED);
    assert_eq!(w.floats(&twice)[1020..], DOUBLED);
    w.drop_all(&[&twice, &out]);
    assert_eq!(w.engine.slots_in_use(), slots);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn every_failing_allocation_and_kernel_can_be_tried_again() {
    let (w, _turn) = guarded();
    let (slots, live) = (w.engine.slots_in_use(), w.live_bytes());
    for kernels in [false, true] {
        for in_place in [false, true] {
            let mut at = 0;
            loop {
                let (plain, twice) = doubled(w);
                let out = w.lazy(DType::F64, &[4]);
                let ins = [view(&twice)];
                let outs = [view(if in_place { &twice } else { &out })];
                let left = w.left(kernels);
                left.store(at, Ordering::Relaxed);
                let done = w.engine.operate(&ins, &outs, turn);
                let unused = left.swap(i64::MAX, Ordering::Relaxed) > 0;
                if !matches!(done, Ok(true)) {
                    assert!(w.engine.operate(&ins, &outs, turn).unwrap());
                }
                let result = if in_place { &twice } else { &out };
                assert_eq!(w.floats(result), TURNED, "{kernels} {in_place} {at}");
                assert_eq!(w.floats(&plain), VALUES);
                w.drop_all(&[&plain, &twice, &out]);
                assert_eq!(w.engine.slots_in_use(), slots);
                assert_eq!(w.live_bytes(), live);
                if unused {
                    break;
                }
                at += 1;
            }
            assert!(at > 0, "{kernels} {in_place}");
        }
    }
}
