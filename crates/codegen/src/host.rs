//! The CUDA text on the CPU: a function that walks a grid and calls the kernel at every place.

use crate::entry::Entry;
use std::fmt::Write as _;

/// A function `run_NAME(arguments, groups)` with a pointer to every argument. Kernels walk on by the size
/// of the grid, so a grid of few threads does all the work, one thread after another; one thread alone
/// waits for nobody.
pub(crate) fn call(entry: &Entry) -> String {
    let mut arguments = Vec::new();
    for declaration in entry.params().into_iter().map(|p| entry.declared(p)) {
        for one in declaration.split(", ") {
            let kind = one.rsplit_once(' ').map_or(one, |(kind, _)| kind);
            let kind = kind.trim_end_matches("restrict").trim_end();
            let at = arguments.len();
            arguments.push(if one.contains('*') {
                let star = if kind.ends_with('*') { "" } else { " *" };
                format!("({kind}{star})a[{at}]")
            } else {
                format!("*({kind} *)a[{at}]")
            });
        }
    }
    let most = if entry.in_groups() {
        ""
    } else {
        "g[0] > 3 ? 3 : "
    };
    let mut text = format!(
        "extern \"C\" void run_{}(void **a, const unsigned *g) {{\n",
        entry.name()
    );
    let _ = writeln!(
        text,
        "    gridDim = Dim3{{{most}g[0], g[1] > 2 ? 2 : g[1], g[2] > 2 ? 2 : g[2]}};
    blockDim = Dim3{{1, 1, 1}};
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        {}({});\n}}",
        entry.name(),
        arguments.join(", ")
    );
    text
}
