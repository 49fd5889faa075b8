//! The text of filters over windows of any shape.
//!
//! An item computes one voxel. Where the whole window exists and its rows follow one another, points lie at fixed
//! distances; elsewhere tables say where each one lies, or what stands for it.

use crate::access::{register, unit};
use crate::entry::{Entry, Source};
use crate::filter_text::rounded;
use crate::keyed::Keyed;
use crate::map::head;
use crate::patches_text;
use crate::window::Window;
use arrayloom_device::Gather;
use arrayloom_types::DType;
use std::fmt::Write as _;

/// Loops are not unrolled on GPUs: registers are better spent on more items at a time. Compilers of OpenCL warn of it.
pub(crate) const ONCE: &str = "#ifndef __OPENCL_VERSION__\n#pragma unroll 1\n#endif\n";

/// The text of the kernel.
pub(crate) fn text(entry: &Entry, window: Window) -> String {
    let (read, pointed) = match entry.ins.first() {
        Some(Source::View(view)) => (view.dtype, unit(view)),
        _ => (window.work, String::new()),
    };
    let words = Words {
        window,
        kind: register(window.work),
        read,
    };
    let axes = usize::from(window.axes);
    let mut text = head(entry);
    text.push_str("    EACH_X(item, (ix)items) {\n        ix left = item;\n");
    for d in (0..axes).rev() {
        let _ = writeln!(
            text,
            "        const ix c{d} = left % (ix)pi1[{0}]; left /= (ix)pi1[{0}];",
            4 * d
        );
    }
    text.push_str("        i64 first = 0;\n        b8 whole = 1;\n");
    for d in 0..axes {
        let (step, at) = (4 * d + 1, 4 * d + 2);
        let _ = writeln!(
            text,
            "        const i64 s{d} = pi2[pi1[{at}] + c{d}];\n        \
             whole = (b8)(whole & (s{d} >= 0));\n        first += s{d} * pi1[{step}];"
        );
    }
    let _ = writeln!(
        text,
        "        GLB const {pointed} *from = pi0 + (whole ? first : 0);\n        {} result;",
        words.result()
    );
    text.push_str("        if (whole) {\n");
    text.push_str(&words.whole());
    text.push_str("        } else {\n");
    text.push_str(&words.parts());
    text.push_str("        }\n");
    let stored = match window.gather {
        gather if gather.is_of_keys() => words.kind.clone(),
        _ => register(window.values),
    };
    let _ = writeln!(
        text,
        "        store_{stored}(po0 + item, {});\n    }}\n}}",
        words.emitted("result")
    );
    text
}

/// What the text calls the parts of a window.
pub(crate) struct Words {
    pub(crate) window: Window,
    pub(crate) kind: String,
    /// The dtype of the voxels that are read.
    pub(crate) read: DType,
}

impl Words {
    /// The type of what a window becomes: means of sums are rounded at once.
    fn result(&self) -> String {
        match self.window.gather {
            Gather::Mean => register(self.window.values),
            _ => self.kind.clone(),
        }
    }

    fn keyed(&self) -> Keyed {
        Keyed {
            order: self.window.keys,
            values: self.window.values,
            bits: self.window.work,
        }
    }

    /// Voxels are computed with.
    fn computed(&self) -> bool {
        !self.window.gather.is_of_keys()
    }

    /// The voxel that lies `place` elements on, in the arithmetic.
    pub(crate) fn load(&self, place: &str) -> String {
        let voxels = register(self.read);
        let loaded = format!("load_{voxels}(from + {place})");
        if !self.computed() {
            return self.keyed().key(&loaded);
        }
        if self.kind == voxels {
            return loaded;
        }
        format!("({}){loaded}", self.kind)
    }

    fn emitted(&self, value: &str) -> String {
        match self.window.gather {
            Gather::Mean => value.to_owned(),
            _ if self.computed() => rounded(value, &self.kind, self.window.values),
            _ => self.keyed().value(value),
        }
    }

    /// What all bits of a key are.
    fn most(&self) -> String {
        format!("({0})~({0})0", self.kind)
    }

    /// The window exists.
    fn whole(&self) -> String {
        if self.window.gather == Gather::Patches {
            return patches_text::whole(self);
        }
        if let Some((points, rank)) = self.window.network {
            return self.network(usize::from(points), usize::from(rank));
        }
        if self.window.gather == Gather::Mean {
            return self.mean("", "pi5[p]", "", "1");
        }
        self.fold("", |p| self.load(&format!("pi5[{p}]")), "1")
    }

    /// Tables say which points there are.
    fn parts(&self) -> String {
        if self.window.gather == Gather::Patches {
            return patches_text::parts(self);
        }
        let axes = usize::from(self.window.axes);
        let mut find =
            String::from("                    i64 place = 0;\n                    i32 gone = 0;\n");
        for d in 0..axes {
            let (step, at) = (4 * d + 1, 4 * d + 3);
            let _ = writeln!(
                find,
                "                    const i32 r{d} = pi3[pi1[{at}] + c{d} + pi4[POINT * {axes} + {d}]];\n                    \
                 if (r{d} < gone) gone = r{d};\n                    place += r{d} * pi1[{step}];"
            );
        }
        if self.window.gather == Gather::Mean {
            return self.mean(&find, "place", "gone < 0", "gone > -2");
        }
        let weighted = self.window.gather.is_weighted();
        let nothing = if weighted { "pi7[0]" } else { "pi6[0]" };
        let value = |_: &str| format!("gone < 0 ? {nothing} : {}", self.load("place"));
        self.fold(&find, value, "gone > -2")
    }

    /// Folds the points; `find` says where point `POINT` lies, `value` is its voxel if `exists` is true.
    fn fold(&self, find: &str, value: impl Fn(&str) -> String, exists: &str) -> String {
        let kind = &self.kind;
        let mut text = String::new();
        let find = |point: &str| find.replace("POINT", point);
        match self.window.gather {
            Gather::Weights => {
                let _ = write!(
                    text,
                    "            result = ({kind})0;
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{}                    result = fma_{kind}(pi6[p], {}, result);
            }}
",
                    find("p"),
                    value("p")
                );
            }
            Gather::Odd => text = self.odd(&find, &value),
            Gather::Least => {
                let _ = write!(
                    text,
                    "            result = {};
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{}                    const {kind} key = {};
                    if ({exists}) result = key < result ? key : result;
            }}
",
                    self.most(),
                    find("p"),
                    value("p")
                );
            }
            Gather::Rank => text = self.bisected(&find("p"), &value("p"), exists),
            Gather::Bilateral => text = self.bilateral(&find, &value, exists),
            Gather::Diffusion => text = self.diffusion(&find, &value, exists),
            Gather::Lowest | Gather::Highest => text = self.heights(&find, &value, exists),
            Gather::Bin => text = self.bin(&find, &value),
            Gather::Entropy => text = self.entropy(&find, &value, exists),
            Gather::Spread(spread) => text = self.spread(spread, &find, &value, exists),
            // They do not look at points one by one, or have a text of their own.
            Gather::Patches | Gather::Mean => {}
        }
        text
    }

    /// A window whose weights are the negative of their mirror image.
    fn odd(&self, find: &dyn Fn(&str) -> String, value: &dyn Fn(&str) -> String) -> String {
        let kind = &self.kind;
        format!(
            "            result = ({kind})0;
            const ix middle = (ix)points / 2;
            {{
{}                result = fma_{kind}(pi6[middle], {}, result);
            }}
{ONCE}            for (ix p = 1; p <= middle; p++) {{
                const ix up = middle + p, down = middle - p;
                {kind} high, low;
                {{
{}                    high = {};
                }}
                {{
{}                    low = {};
                }}
                result = fma_{kind}(pi6[up], high - low, result);
            }}
",
            find("middle"),
            value("middle"),
            find("up"),
            value("up"),
            find("down"),
            value("down")
        )
    }

    /// The key of a rank, bit by bit: a bit is set if not more keys than the rank are smaller.
    fn bisected(&self, find: &str, value: &str, exists: &str) -> String {
        let kind = &self.kind;
        let most = self.most();
        let nan = if self.keyed().has_nan() { "nan" } else { "0" };
        format!(
            "            i32 there = 0, nan = 0;
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{find}                    const {kind} key = {value};
                    if ({exists}) {{
                        there++;
                        nan |= key == {most};
                    }}
            }}
            const i32 wanted = (i32)(rank == points / 2 ? there / 2 : rank * there / points);
            result = there == 0 || {nan} != 0 ? {most} : ({kind})0;
{ONCE}            for (i32 bit = there == 0 || {nan} != 0 ? -1 : {}; bit >= 0; bit--) {{
                const {kind} trial = ({kind})(result | ({kind})(({kind})1 << bit));
                i32 smaller = 0;
{ONCE}                for (ix p = 0; p < (ix)points; p++) {{
{find}                    const {kind} key = {value};
                    if ({exists}) smaller += key < trial;
                }}
                if (smaller <= wanted) result = trial;
            }}
",
            8 * self.window.work.size() - 1
        )
    }

    /// The key of a rank by a network of comparisons, all keys in registers.
    fn network(&self, points: usize, rank: usize) -> String {
        let kind = &self.kind;
        let mut text = String::new();
        for p in 0..points {
            let _ = writeln!(
                text,
                "            {kind} k{p} = {};",
                self.load(&format!("pi5[{p}]"))
            );
        }
        if self.keyed().has_nan() {
            text.push_str("            b8 nan = 0;\n");
            for p in 0..points {
                let _ = writeln!(
                    text,
                    "            nan = (b8)(nan | (k{p} == {}));",
                    self.most()
                );
            }
        }
        for (a, b) in comparisons(points, rank) {
            let _ = writeln!(
                text,
                "            {{ const {kind} x = k{a}, y = k{b}; k{a} = x < y ? x : y; k{b} = x < y ? y : x; }}"
            );
        }
        let found = if self.keyed().has_nan() {
            format!("nan ? {} : k{rank}", self.most())
        } else {
            format!("k{rank}")
        };
        let _ = writeln!(text, "            result = {found};");
        text
    }
}

/// The comparisons of a network that puts the key of this rank to its place, those that do not matter for it left
/// out.
///
/// Source: K. E. Batcher, "Sorting networks and their applications" (1968), odd-even merge sort.
pub(crate) fn comparisons(points: usize, rank: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut p = 1;
    while p < points {
        let mut k = p;
        while k >= 1 {
            let starts = (k % p..points.saturating_sub(k)).step_by(2 * k);
            let pairs =
                starts.flat_map(|j| (0..k.min(points - j - k)).map(move |i| (i + j, i + j + k)));
            all.extend(pairs.filter(|(a, b)| a / (2 * p) == b / (2 * p)));
            k /= 2;
        }
        p *= 2;
    }
    let mut needed = vec![false; points];
    needed[rank] = true;
    let mut kept: Vec<(usize, usize)> = Vec::new();
    for &(a, b) in all.iter().rev() {
        if needed[a] || needed[b] {
            (needed[a], needed[b]) = (true, true);
            kept.push((a, b));
        }
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands at `rank` after the comparisons, for the zeros and ones in `bits`.
    fn chosen(network: &[(usize, usize)], points: usize, rank: usize, bits: u32) -> u32 {
        let mut keys: Vec<u32> = (0..points).map(|p| bits >> p & 1).collect();
        for &(a, b) in network {
            if keys[a] > keys[b] {
                keys.swap(a, b);
            }
        }
        keys[rank]
    }

    #[test]
    fn networks_find_every_rank_of_zeros_and_ones() {
        // A network that is right for all of these is right for everything.
        for points in 1..=12 {
            for rank in 0..points {
                let network = comparisons(points, rank);
                for bits in 0..1u32 << points {
                    let zeros = points - bits.count_ones() as usize;
                    assert_eq!(
                        chosen(&network, points, rank, bits),
                        u32::from(rank >= zeros),
                        "{points} {rank} {bits:b}"
                    );
                }
            }
        }
        assert!(comparisons(27, 13).len() < 160);
    }
}
