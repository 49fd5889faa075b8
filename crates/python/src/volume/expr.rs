//! The class `VolumeExpr`: an expression on volumes, built value by value and run.
#![expect(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::result_large_err,
    reason = "arguments come from Python, which gives values of its own"
)]

use super::calls::{ArraySource, CallOp, CallSink, CallSource, NoArray, Raised};
use super::devices::{PyWorker, crew};
use super::kernels;
use super::memory::Bytes;
use super::running::{Extra, go, plan_dict, report_dict};
use super::statistic::statistic;
use super::to_python;
use crate::np::Arr;
use arrayloom_plan::{AxisNeed, Window};
use arrayloom_types::{DType, Region};
use arrayloom_volume::ops::{
    BoxExtremum, BoxRange, Correlate, Distance, Extremum, FootprintExtremum, Heights, Linear,
    LinearAxis, Neighbourhood, NlMeans, Rank, WindowAxis, local,
};
use arrayloom_volume::{Expr, Mode, Node, Op, Report, Target, VolumeError, plan_for, run};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A window along one axis as Python gives it: points, points before the center, mode, constant.
pub(super) type PyAxis = (usize, i64, String, f64);
/// Taps along one axis: axis, taps, points before the center, mode, constant.
type PyTaps = (usize, Vec<f64>, i64, String, f64);
/// A map of one axis: axis of the result or -1, step, offset; or `None` for all of it.
type PyNeed = Option<(i64, i64, i64)>;
/// What devices do: the name of a function, and numbers among its operands.
type PyKernel = (Option<String>, Vec<Option<kernels::Number>>);
/// Corners of a box.
type PyBox = (Vec<i64>, Vec<i64>);

fn mode(name: &str, cval: f64) -> PyResult<Mode> {
    match name {
        "reflect" | "grid-mirror" => Ok(Mode::Reflect),
        "mirror" => Ok(Mode::Mirror),
        "nearest" => Ok(Mode::Nearest),
        "wrap" | "grid-wrap" => Ok(Mode::Wrap),
        "constant" | "grid-constant" => Ok(Mode::Constant(cval)),
        "renormalize" => Ok(Mode::Renormalize),
        other => Err(PyValueError::new_err(format!(
            "boundary mode {other:?} not supported; use reflect, mirror, nearest, constant, wrap or \
             renormalize"
        ))),
    }
}

pub(super) fn window_axes(axes: Vec<PyAxis>) -> PyResult<Vec<WindowAxis>> {
    let one = |(len, before, name, cval): PyAxis| {
        Ok(WindowAxis {
            len,
            before,
            mode: mode(&name, cval)?,
        })
    };
    axes.into_iter().map(one).collect()
}

pub(super) fn dtype_of(letter: char) -> PyResult<DType> {
    let unknown = || PyTypeError::new_err(format!("dtype {letter:?} is not supported on volumes"));
    DType::from_letter(letter).ok_or_else(unknown)
}

fn which(maximum: bool) -> Extremum {
    if maximum {
        Extremum::Maximum
    } else {
        Extremum::Minimum
    }
}

/// An expression on volumes. Values are numbers; the last one is the result.
#[pyclass(module = "arrayloom._ext")]
#[derive(Default)]
pub(crate) struct VolumeExpr {
    expr: Expr,
    raised: Raised,
}

impl VolumeExpr {
    fn same_shape(&mut self, py: Python<'_>, op: Arc<dyn Op>, input: usize) -> PyResult<usize> {
        let shape = self.expr.shape(input).to_vec();
        self.expr
            .apply(op, &[input], &shape)
            .map_err(|e| to_python(py, &e))
    }

    fn add(
        &mut self,
        py: Python<'_>,
        op: Result<impl Op + 'static, VolumeError>,
        input: usize,
    ) -> PyResult<usize> {
        let op = op.map_err(|e| to_python(py, &e))?;
        self.same_shape(py, Arc::new(op), input)
    }

    /// The number of the only source.
    fn only_array(&self) -> PyResult<usize> {
        let sources = self.expr.nodes().iter().enumerate();
        let mut sources = sources.filter(|(_, node)| matches!(node, Node::Source(_)));
        match (sources.next(), sources.next()) {
            (Some((value, _)), None) => Ok(value),
            _ => Err(PyValueError::new_err(
                "an expression of one array is needed",
            )),
        }
    }

    fn to_array(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        budget: u64,
        threads: usize,
        progress: Option<Py<PyAny>>,
        workers: Vec<PyWorker>,
    ) -> PyResult<Report> {
        let crew = crew(py, workers)?;
        let mut bytes = Bytes::of(out, true)?;
        let last = self.expr.nodes().len().checked_sub(1);
        let extra = Extra {
            align: vec![1; last.map_or(0, |v| self.expr.shape(v).len())],
            done: Vec::new(),
            progress,
            written: None,
            workers: crew.workers,
            raised: self.raised.clone(),
        };
        go(
            py,
            |options| run(&self.expr, &mut Target::Memory(bytes.get_mut()), options),
            budget,
            threads,
            extra,
        )
    }

    fn check(&self, input: usize) -> PyResult<()> {
        if input < self.expr.nodes().len() {
            return Ok(());
        }
        Err(PyValueError::new_err(format!("there is no value {input}")))
    }
}

#[pymethods]
impl VolumeExpr {
    #[new]
    fn new() -> VolumeExpr {
        VolumeExpr::default()
    }

    /// The array `array`, C-contiguous and aligned; `mapped` if it is a file.
    fn array(&mut self, array: &Bound<'_, PyAny>, letter: char, mapped: bool) -> PyResult<usize> {
        let dtype = dtype_of(letter)?;
        let bytes = Bytes::of(array, false)?;
        let Some(arr) = Arr::of(array) else {
            return Err(PyTypeError::new_err("an array is needed"));
        };
        let shape: Vec<i64> = arr
            .shape()
            .iter()
            .map(|&n| i64::try_from(n))
            .collect::<Result<_, _>>()?;
        let source = ArraySource::new(bytes, shape.clone(), dtype, mapped)?;
        Ok(self.expr.source(Arc::new(source), &shape, dtype))
    }

    /// A volume that `function((lo, hi), view)` reads, best in whole granules.
    fn reader(
        &mut self,
        function: Py<PyAny>,
        shape: Vec<i64>,
        letter: char,
        granule: Option<Vec<i64>>,
    ) -> PyResult<usize> {
        let granule = granule.map(|g| g.as_slice().into());
        let raised = self.raised.clone();
        let source = CallSource {
            function,
            granule,
            raised,
        };
        let dtype = dtype_of(letter)?;
        Ok(self.expr.source(Arc::new(source), &shape, dtype))
    }

    /// A volume in chunks of files; see `super::manifest`.
    fn manifest(&mut self, facts: &Bound<'_, PyDict>, threads: usize) -> PyResult<usize> {
        let source = super::manifest::manifest(facts, threads)?;
        let (shape, dtype) = (source.shape.clone(), source.dtype);
        Ok(self.expr.source(Arc::new(source), &shape, dtype))
    }

    /// The sum over axes of one list of weights along this axis and another along all others: for each
    /// axis what smooths and what derives.
    fn laplacian(
        &mut self,
        py: Python<'_>,
        input: usize,
        axes: Vec<(PyTaps, Vec<f64>)>,
        letter: char,
    ) -> PyResult<usize> {
        self.check(input)?;
        let one = |(taps, derive): (PyTaps, Vec<f64>)| -> PyResult<LinearAxis> {
            Ok(LinearAxis {
                derive,
                ..linear_axis(taps)?
            })
        };
        let axes = axes.into_iter().map(one).collect::<PyResult<Vec<_>>>()?;
        let rank = self.expr.shape(input).len();
        self.add(py, Linear::new(rank, axes, dtype_of(letter)?), input)
    }

    /// Weighted sums along axes, one after the other.
    fn linear(
        &mut self,
        py: Python<'_>,
        input: usize,
        axes: Vec<PyTaps>,
        letter: char,
    ) -> PyResult<usize> {
        self.check(input)?;
        let axes = axes
            .into_iter()
            .map(linear_axis)
            .collect::<PyResult<Vec<_>>>()?;
        let rank = self.expr.shape(input).len();
        self.add(py, Linear::new(rank, axes, dtype_of(letter)?), input)
    }

    /// Minimum or maximum over a box, or over the points of `mask`.
    fn extremum(
        &mut self,
        py: Python<'_>,
        input: usize,
        maximum: bool,
        axes: Vec<PyAxis>,
        mask: Option<Vec<bool>>,
    ) -> PyResult<usize> {
        self.check(input)?;
        let (axes, dtype) = (window_axes(axes)?, self.expr.dtype(input));
        match mask {
            None => self.add(py, BoxExtremum::new(which(maximum), axes, dtype), input),
            Some(mask) => {
                let window = Neighbourhood::new(axes, &mask);
                let op = window.map(|w| FootprintExtremum::new(which(maximum), w, dtype));
                self.add(py, op, input)
            }
        }
    }

    /// Minimum or maximum over the points of `mask`, each with its height, in double precision.
    fn heights(
        &mut self,
        py: Python<'_>,
        input: usize,
        maximum: bool,
        axes: Vec<PyAxis>,
        mask: Vec<bool>,
        heights: Vec<f64>,
    ) -> PyResult<usize> {
        self.check(input)?;
        let window = Neighbourhood::new(window_axes(axes)?, &mask);
        let op = window.and_then(|w| Heights::new(which(maximum), w, heights));
        self.add(py, op, input)
    }

    /// The greatest value of a box minus the smallest one.
    fn range(&mut self, py: Python<'_>, input: usize, axes: Vec<PyAxis>) -> PyResult<usize> {
        self.check(input)?;
        let op = BoxRange::new(window_axes(axes)?, self.expr.dtype(input));
        self.add(py, op, input)
    }

    /// The value of one rank among the points of `mask`; of a percentile, if `rank` was made from one.
    #[pyo3(signature = (input, axes, mask, rank, percent = None))]
    fn rank(
        &mut self,
        py: Python<'_>,
        input: usize,
        axes: Vec<PyAxis>,
        mask: Vec<bool>,
        rank: usize,
        percent: Option<f64>,
    ) -> PyResult<usize> {
        self.check(input)?;
        let window = Neighbourhood::new(window_axes(axes)?, &mask);
        let op = window.and_then(|w| Rank::new(w, rank, self.expr.dtype(input)));
        let op = op.map(|op| match percent {
            Some(percent) => op.of_percent(percent),
            None => op,
        });
        self.add(py, op, input)
    }

    /// Non-local means; `reach` is shifts, patch, mode and constant of each axis. With three values, means
    /// and variances of patches being the others, distances are Fisher's.
    fn nl_means(
        &mut self,
        py: Python<'_>,
        inputs: Vec<usize>,
        reach: Vec<(i64, i64, String, f64)>,
        h: f64,
        letter: char,
    ) -> PyResult<usize> {
        for &input in &inputs {
            self.check(input)?;
        }
        let distance = if inputs.len() == 3 {
            Distance::Fisher
        } else {
            Distance::Squares
        };
        let one = |(shift, patch, name, cval): (i64, i64, String, f64)| -> PyResult<_> {
            Ok((shift, patch, mode(&name, cval)?))
        };
        let reach = reach.into_iter().map(one).collect::<PyResult<Vec<_>>>()?;
        let op = NlMeans::new(&reach, h, distance, dtype_of(letter)?);
        let op = op.map_err(|e| to_python(py, &e))?;
        let shape = inputs.first().map(|&i| self.expr.shape(i).to_vec());
        let added = self
            .expr
            .apply(Arc::new(op), &inputs, &shape.unwrap_or_default());
        added.map_err(|e| to_python(py, &e))
    }

    /// A weighted sum over the points of `mask`.
    fn correlate(
        &mut self,
        py: Python<'_>,
        input: usize,
        axes: Vec<PyAxis>,
        mask: Vec<bool>,
        weights: Vec<f64>,
        letter: char,
    ) -> PyResult<usize> {
        self.check(input)?;
        let dtype = dtype_of(letter)?;
        let window = Neighbourhood::new(window_axes(axes)?, &mask);
        self.add(
            py,
            window.and_then(|w| Correlate::new(w, weights, dtype)),
            input,
        )
    }

    /// A statistic over the points of `mask`, named as in `super::statistic`.
    fn local(
        &mut self,
        py: Python<'_>,
        input: usize,
        axes: Vec<PyAxis>,
        mask: Vec<bool>,
        name: &str,
        numbers: Vec<f64>,
        letter: char,
    ) -> PyResult<usize> {
        self.check(input)?;
        let (dtype, kind) = (dtype_of(letter)?, statistic(name, numbers)?);
        let window = Neighbourhood::new(window_axes(axes)?, &mask);
        let op = window.and_then(|w| local(w, kind, dtype));
        let op = op.map_err(|e| to_python(py, &e))?;
        self.same_shape(py, op, input)
    }

    /// Any operation on boxes: `function(boxes, views, (lo, hi), out)`. `kernel` is what devices do instead: the name
    /// of a function of NumPy's and its numbers, `None` for volumes; without a name they convert, or move, elements.
    #[pyo3(signature = (function, name, inputs, needs, shape, letter, work, kernel = None))]
    fn call(
        &mut self,
        py: Python<'_>,
        function: Py<PyAny>,
        name: String,
        inputs: Vec<usize>,
        needs: Vec<Vec<PyNeed>>,
        shape: Vec<i64>,
        letter: char,
        work: u64,
        kernel: Option<PyKernel>,
    ) -> PyResult<usize> {
        let need = |need: &PyNeed| match *need {
            None => Ok(AxisNeed::Whole),
            Some((-1, ..)) => Ok(AxisNeed::One),
            Some((_, 0, _)) => Err(PyValueError::new_err("a view has no step of zero")),
            Some((axis, step, offset)) => Ok(AxisNeed::Window {
                axis: usize::try_from(axis)?,
                window: Window::view(offset, step),
                edge: arrayloom_plan::Edge::Clip,
            }),
        };
        let needs = needs.iter().map(|n| n.iter().map(need).collect());
        let needs = needs.collect::<PyResult<Vec<Vec<AxisNeed>>>>()?;
        if needs.len() != inputs.len() {
            return Err(PyValueError::new_err("one list of needs for each operand"));
        }
        for &input in &inputs {
            self.check(input)?;
        }
        let dtype = dtype_of(letter)?;
        let dtypes: Vec<DType> = inputs.iter().map(|&i| self.expr.dtype(i)).collect();
        let kernel = kernel.and_then(|(name, numbers)| {
            kernels::kernel(name.as_deref(), &numbers, &dtypes, (dtype, shape.len()))
        });
        let op = CallOp {
            function,
            name,
            dtype,
            needs,
            work,
            kernel,
            raised: self.raised.clone(),
        };
        self.expr
            .apply(Arc::new(op), &inputs, &shape)
            .map_err(|e| to_python(py, &e))
    }

    /// Extents of a value.
    fn shape(&self, value: usize) -> PyResult<Vec<i64>> {
        self.check(value)?;
        Ok(self.expr.shape(value).to_vec())
    }

    /// Type letter of a value.
    fn letter(&self, value: usize) -> PyResult<char> {
        self.check(value)?;
        Ok(self.expr.dtype(value).letter())
    }

    /// The plan for the result, as a dictionary.
    fn plan<'py>(
        &self,
        py: Python<'py>,
        budget: u64,
        threads: usize,
        align: Vec<i64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let values = self.expr.values(threads);
        let Some(last) = values.len().checked_sub(1) else {
            return Err(PyValueError::new_err("an expression without values"));
        };
        let whole = Region::whole(self.expr.shape(last));
        let plan = plan_for(&values, &whole, budget, &align).map_err(|e| to_python(py, &e))?;
        plan_dict(py, &plan)
    }

    /// For a box of the result: the box of each value that it needs.
    fn needs(&self, threads: usize, lo: Vec<i64>, hi: Vec<i64>) -> Vec<PyBox> {
        let boxes = arrayloom_plan::needs(&self.expr.values(threads), &Region::new(&lo, &hi));
        boxes
            .into_iter()
            .map(|r| (r.lo.to_vec(), r.hi.to_vec()))
            .collect()
    }

    /// Reads the box from `lo` to `hi` of `value`, a source, into the array `out`.
    fn read_box(
        &self,
        py: Python<'_>,
        value: usize,
        lo: Vec<i64>,
        hi: Vec<i64>,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.check(value)?;
        let mut bytes = Bytes::of(out, true)?;
        let region = Region::new(&lo, &hi);
        let size = self.expr.dtype(value).size();
        let fits = Region::whole(self.expr.shape(value)).contains(&region)
            && usize::try_from(region.voxels()) == Ok(bytes.get().len() / size);
        let (Node::Source(source), true) = (&self.expr.nodes()[value], fits) else {
            return Err(PyValueError::new_err(
                "a box of a source, and an array of its size, are needed",
            ));
        };
        let read = py.detach(|| source.read(&region, bytes.get_mut()));
        if let Some(error) = self.raised.take() {
            return Err(error);
        }
        read.map_err(|message| to_python(py, &VolumeError::Read { region, message }))
    }

    /// Computes the result into the array `out`.
    fn run_to_array(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        budget: u64,
        threads: usize,
        progress: Option<Py<PyAny>>,
        workers: Vec<PyWorker>,
    ) -> PyResult<Py<PyDict>> {
        let ran = self.to_array(py, out, budget, threads, progress, workers)?;
        Ok(report_dict(py, &ran)?.unbind())
    }

    /// Computes the result of the same expression on another array, `array`, into the array `out`, and lets go of it.
    /// The expression has one source, an array of that shape and dtype.
    fn run_again(
        &mut self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
        budget: u64,
        threads: usize,
    ) -> PyResult<()> {
        let (value, bytes) = (self.only_array()?, Bytes::of(array, false)?);
        let shape = self.expr.shape(value).to_vec();
        let source = ArraySource::new(bytes, shape, self.expr.dtype(value), false)?;
        self.expr.set_source(value, Arc::new(source));
        let ran = self.to_array(py, out, budget, threads, None, Vec::new());
        self.expr.set_source(value, Arc::new(NoArray));
        ran.map(drop)
    }

    /// Lets go of its array; `run_again` gives it another.
    fn let_go(&mut self) -> PyResult<()> {
        let value = self.only_array()?;
        self.expr.set_source(value, Arc::new(NoArray));
        Ok(())
    }

    /// Computes the result; `write((lo, hi), view)` takes each block.
    fn run_to_sink(
        &self,
        py: Python<'_>,
        write: Py<PyAny>,
        budget: u64,
        threads: usize,
        align: Vec<i64>,
        done: Vec<PyBox>,
        progress: Option<Py<PyAny>>,
        written: Option<Py<PyAny>>,
        workers: Vec<PyWorker>,
    ) -> PyResult<Py<PyDict>> {
        let crew = crew(py, workers)?;
        let sink = CallSink {
            function: write,
            raised: self.raised.clone(),
        };
        let done = done.iter().map(|(lo, hi)| Region::new(lo, hi)).collect();
        let extra = Extra {
            align,
            done,
            progress,
            written,
            workers: crew.workers,
            raised: self.raised.clone(),
        };
        let ran = go(
            py,
            |options| run(&self.expr, &mut Target::Sink(&sink), options),
            budget,
            threads,
            extra,
        )?;
        Ok(report_dict(py, &ran)?.unbind())
    }
}

fn linear_axis((axis, taps, before, name, cval): PyTaps) -> PyResult<LinearAxis> {
    Ok(LinearAxis {
        axis,
        taps,
        derive: Vec::new(),
        before,
        mode: mode(&name, cval)?,
    })
}
