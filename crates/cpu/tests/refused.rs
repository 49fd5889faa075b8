//! A pass over rows that the device does not take has written nothing: stages update memory in place, and
//! the caller runs them again.

#![expect(clippy::unwrap_used, reason = "a failure here fails the test")]
#![expect(clippy::float_cmp, reason = "small whole numbers are exact")]

use arrayloom_cpu::{Cpu, CpuConfig};
use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue, Rows, Stage, Sweep};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_plan::{Link, Route, Touch, schedule};
use arrayloom_types::DType;

const ROWS: usize = 400;
const COLUMNS: usize = 300;

/// `x + 1`.
fn kernel() -> Kernel {
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    let one = b.constant(DType::F64, 1.0);
    let sum = b.bin(Prim::Add, x, one);
    Kernel {
        code: b.finish(),
        inputs: vec![DType::F64],
        outputs: vec![Output {
            value: sum.0,
            form: Form::Store,
        }],
        rank: 2,
    }
}

fn view(data: &mut [f64], strides: [usize; 2]) -> Arg {
    let strides = strides.map(|s| 8 * s.cast_signed());
    Arg::View {
        buf: Buf(data.as_mut_ptr().expose_provenance() as u64),
        offset: 0,
        strides: strides.as_slice().into(),
    }
}

/// Adds one to `state` in place, and one more into `out`, whose elements have these steps.
fn run(state: &mut [f64], out: &mut [f64], steps: [usize; 2]) -> bool {
    let kernel = kernel();
    let state = [view(state, [COLUMNS, 1])];
    let out = [view(out, steps)];
    let block = [Route::Block { block: 0, row: 0 }];
    let direct = [Route::Direct];
    let launch = |ins, outs| Launch {
        shape: &[ROWS, COLUMNS],
        outs,
        ins,
        reduces: &[None],
        flags: None,
    };
    let stages = [(&state, &block), (&out, &direct)].map(|(to, route)| Stage {
        kernel: &kernel,
        launch: launch(&state, to),
        ins: &block,
        outs: route,
    });
    let touch = |stage, writes| Touch {
        stage,
        block: 0,
        row: 0,
        writes,
    };
    let touches = [touch(0, false), touch(0, true), touch(1, false)];
    let link = Link {
        from: 0,
        to: 1,
        low: 0,
        high: 0,
        flow: true,
    };
    let Arg::View { buf, .. } = &state[0] else {
        unreachable!("a view");
    };
    let pitch = 8 * COLUMNS.cast_signed();
    let cpu = Cpu::open(CpuConfig::default());
    let taken = cpu.sweep(
        Queue::default(),
        &Sweep {
            stages: &stages,
            schedule: &schedule(&[(ROWS, 0); 2], &[link], &touches, 1),
            rings: &[],
            blocks: &[Rows {
                buf: *buf,
                origin: 0,
                pitch,
                columns: (0, pitch),
                bytes: (0, pitch * ROWS.cast_signed()),
            }],
            panel: None,
        },
    );
    taken.unwrap()
}

#[test]
fn a_pass_that_is_not_taken_leaves_memory_alone() {
    let mut state = vec![1.0; ROWS * COLUMNS];
    let mut out = vec![0.0; ROWS * COLUMNS];
    // Columns are rows of the second stage, which a pass over rows cannot do.
    assert!(!run(&mut state, &mut out, [1, ROWS]));
    assert!(state.iter().all(|&x| x == 1.0));
    assert!(run(&mut state, &mut out, [COLUMNS, 1]));
    assert!(state.iter().all(|&x| x == 2.0) && out.iter().all(|&x| x == 3.0));
}
