//! The text of filters along an axis.
//!
//! An item computes [`EACH`] neighbours along the axis at one place of a row. Where their windows follow one
//! another, a voxel that is read serves all of them; elsewhere each reads what its table says. Along the last axis GPUs
//! read them from local memory (`tile_text.rs`).

use crate::access::{register, unit};
use crate::entry::{Entry, Form, Source};
use crate::filter::{EACH, Pass};
use crate::keyed::Keyed;
use crate::map::head;
use crate::product::PLACES;
use crate::window_text::ONCE;
use crate::{moments_text, spread_text, sums_text, tile_text};
use arrayloom_device::{Fold, Spread};
use arrayloom_types::DType;
use std::fmt::Write as _;

/// Where the window of an output begins, and its list.
pub(crate) const LIST: &str = "            const ix own = pi1[at];
            const i64 list = own < 0 ? -1 - (i64)own : 0;
";

/// What pointers to the voxels of an operand point to.
pub(crate) fn pointed(source: Option<&Source>) -> String {
    match source {
        Some(Source::View(view)) => unit(view),
        _ => String::new(),
    }
}

/// The condition that such a row is in the window of neighbour `m`.
pub(crate) fn reached(m: usize) -> String {
    match m {
        0 => "t < (ix)taps".to_owned(),
        m if m == EACH - 1 => format!("t >= {m}"),
        m => format!("t >= {m} && t < (ix)taps + {m}"),
    }
}

/// The weights that smooth and those that derive, at `place` of the list that begins with `list`.
pub(crate) fn weights_of(list: &str, place: &str) -> [String; 2] {
    let (smooth, derive) = (format!("{list}{place}"), format!("{list}taps + {place}"));
    [smooth, derive].map(|at| format!("pi3[{at}]"))
}

/// What the text calls the parts of a pass.
pub(crate) struct Words {
    pub(crate) pass: Pass,
    pub(crate) kind: String,
    /// The dtype of the voxels that are read.
    read: DType,
    /// Windows that follow one another are read from local memory.
    pub(crate) tiled: bool,
}

/// The text of the kernel.
pub(crate) fn text(entry: &Entry, pass: Pass) -> String {
    let words = Words::new(entry, pass);
    let pointed = pointed(entry.ins.first());
    let mut text = if words.tiled {
        format!(
            "{PLACES}{}{}",
            head(entry),
            tile_text::items(&words, &pointed)
        )
    } else {
        format!("{}    EACH_X(item, (ix)items) {{\n", head(entry))
    };
    let _ = writeln!(
        text,
        "        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)parts, first = (line - outer * (ix)parts) * {EACH};
        GLB const {pointed} *from = pi0 + outer * rows * row + column;
        GLB {} *to = po0 + (outer * length + first) * row + column;",
        unit(&entry.outs[0].1)
    );
    let moments = pass.fold == Fold::Moments;
    text.push_str(&if moments {
        moments_text::together(&words)
    } else {
        words.together()
    });
    let _ = writeln!(
        text,
        "        for (ix at = first; at < first + {EACH} && at < (ix)length; at++) {{"
    );
    text.push_str(&if moments {
        moments_text::alone(&words)
    } else {
        words.alone()
    });
    text.push_str("        }\n    }\n}\n");
    text
}

impl Words {
    /// The words of a pass.
    pub(crate) fn new(entry: &Entry, pass: Pass) -> Words {
        let read = match entry.ins.first() {
            Some(Source::View(view)) => view.dtype,
            _ => pass.work,
        };
        Words {
            pass,
            kind: register(pass.work),
            read,
            tiled: matches!(entry.form, Form::Tile(_)),
        }
    }

    /// Numbers of a voxel that is read, and of one that is written.
    pub(crate) fn channels(&self) -> [usize; 2] {
        self.pass.channels.map(usize::from)
    }

    /// The list with what missing voxels add.
    fn bias(&self) -> &'static str {
        if self.pass.fold.is_weighted() {
            "pi4"
        } else {
            "pi3"
        }
    }

    /// Lists of weights, or numbers of `bias`, that one list is made of.
    pub(crate) fn lists(&self) -> usize {
        self.pass.fold.numbers(self.pass.work)
    }

    /// Numbers that a window becomes before the last step.
    pub(crate) fn made(&self) -> usize {
        match (self.pass.fold, self.pass.spread) {
            (Fold::Moments, Some(Spread::Wiener)) => 3,
            (Fold::Range | Fold::Sum, _) => self.lists(),
            (_, Some(_)) => 2,
            (_, None) => self.channels()[1],
        }
    }

    /// Number `channel` of the voxel that lies `place` elements on.
    pub(crate) fn load(&self, channel: usize, place: &str) -> String {
        let (kind, voxels) = (&self.kind, register(self.read));
        let place = match channel {
            0 => format!("from + {place}"),
            _ => format!("from + {channel} * read + {place}"),
        };
        let loaded = format!("load_{voxels}({place})");
        match self.pass.fold {
            Fold::Least | Fold::Range => self.keyed(0).key(&loaded),
            _ if *kind == voxels => loaded,
            _ => format!("({kind}){loaded}"),
        }
    }

    /// The beginning of what happens where the windows of neighbours follow one another.
    pub(crate) fn follow(&self) -> String {
        let follow: Vec<String> = (1..EACH)
            .map(|m| format!("pi1[first + {m}] == start + {m}"))
            .collect();
        let (placed, inside) = if self.tiled {
            (tile_text::PLACED, tile_text::inside())
        } else {
            ("", String::new())
        };
        format!(
            "        const ix start = first + {EACH} <= (ix)length ? pi1[first] : -1;
{placed}        if (start >= 0 && {}{inside}) {{\n",
            follow.join(" && ")
        )
    }

    /// The beginning of a loop over the rows that such windows have. Numbers of 8 bytes take many registers.
    pub(crate) fn steps(&self) -> String {
        let wide = self.tiled && self.pass.work.size() == 8;
        format!(
            "{}            for (ix t = 0; t < (ix)taps + {}; t++) {{",
            if wide { ONCE } else { "" },
            EACH - 1
        )
    }

    /// The statement that goes to the first row of such windows.
    pub(crate) fn forward(&self) -> &'static str {
        if self.tiled {
            ""
        } else {
            "            from += start * row;\n"
        }
    }

    /// Number `channel` of row `row` of these windows.
    pub(crate) fn near(&self, channel: usize, row: &str) -> String {
        if self.tiled {
            tile_text::voxel(channel, row)
        } else {
            self.load(channel, &format!("{row} * row"))
        }
    }

    /// How voxels that are read (0) or written (1) stand for keys.
    fn keyed(&self, side: usize) -> Keyed {
        Keyed {
            order: self.pass.keys[side],
            values: self.pass.values,
            bits: self.pass.work,
        }
    }

    /// What the numbers `sums` of a window are as numbers of a voxel.
    fn results(&self, sums: &[String]) -> Vec<String> {
        let values = self.pass.values;
        if let Some(spread) = self.pass.spread {
            let squares = self.pass.fold == Fold::Squares;
            let made = squares.then(|| spread_text::of_squares(sums));
            let made = made.as_deref().unwrap_or(sums);
            let found = spread_text::of(spread, made, ["factor", "range"]);
            return vec![rounded(&found, "f64", values)];
        }
        match (self.pass.fold, sums) {
            (Fold::Range, [low, high]) if self.channels()[1] == 1 => {
                vec![self.keyed(1).range(low, high)]
            }
            (Fold::Sum, _) if self.pass.divided => {
                vec![sums_text::mean(sums, "f64_of((u64)points)", values)]
            }
            (Fold::Range, _) => sums.to_vec(),
            (Fold::Least, _) => vec![self.keyed(1).value(&sums[0])],
            _ => {
                let each = sums.iter();
                each.map(|sum| rounded(sum, &self.kind, values)).collect()
            }
        }
    }

    /// The statement that writes the results `sums` of the output that lies `place` elements on.
    pub(crate) fn store(&self, sums: &[String], place: &str) -> String {
        let kind = match self.pass.fold {
            Fold::Least | Fold::Range => self.kind.clone(),
            _ => register(self.pass.values),
        };
        let stored = |(channel, value): (usize, &String)| {
            let place = match channel {
                0 => format!("to + {place}"),
                _ => format!("to + {channel} * written + {place}"),
            };
            format!("store_{kind}({place}, {value});")
        };
        let results = self.results(sums);
        let all: Vec<String> = results.iter().enumerate().map(stored).collect();
        all.join(" ")
    }

    /// The statements that write the results of neighbours, for each of which `made` gives its numbers.
    pub(crate) fn store_all(&self, made: impl Fn(usize) -> Vec<String>) -> String {
        let mut text = String::new();
        let long = self.pass.divided && self.made() > 1;
        if self.pass.spread.is_none() && !long {
            for m in 0..EACH {
                let stored = self.store(&made(m), &format!("{m} * row"));
                let _ = writeln!(text, "            {stored}");
            }
            return text;
        }
        // Roots and quotients take many registers: one after the other.
        let _ = writeln!(text, "{ONCE}            for (ix m = 0; m < {EACH}; m++) {{");
        let all: Vec<Vec<String>> = (0..EACH).map(made).collect();
        let names: Vec<String> = (0..all[0].len()).map(|n| format!("made{n}")).collect();
        for (n, name) in names.iter().enumerate() {
            let first = (0..EACH - 1).map(|m| format!("m == {m} ? {} : ", all[m][n]));
            let chosen: String = first.collect();
            let last = &all[EACH - 1][n];
            let _ = writeln!(
                text,
                "                const {} {name} = {chosen}{last};",
                self.kind
            );
        }
        let stored = self.store(&names, "m * row");
        let _ = writeln!(text, "                {stored}\n            }}");
        text
    }

    /// What number `channel` of a window without voxels is.
    fn nothing(&self, channel: usize) -> String {
        match (self.pass.fold, channel) {
            (Fold::Least, _) | (Fold::Range, 0) => format!("({0})~({0})0", self.kind),
            _ => format!("({})0", self.kind),
        }
    }

    /// The statements that add voxel `values` to `sums`; `weights` smooth and derive.
    fn fold(&self, sums: &[String], values: &[String], weights: &[String; 2]) -> String {
        let kind = &self.kind;
        let [smooth, derive] = weights;
        let fma =
            |weight: &str, value: &str, sum: &str| format!("fma_{kind}({weight}, {value}, {sum})");
        match self.pass.fold {
            Fold::Weights | Fold::Odd => {
                format!("{0} = {1};", sums[0], fma(smooth, &values[0], &sums[0]))
            }
            Fold::Least => format!("{0} = {1} < {0} ? {1} : {0};", sums[0], values[0]),
            Fold::Range => {
                let (low, high) = (&values[0], &values[values.len() - 1]);
                let high = format!("{0} = {high} > {0} ? {high} : {0};", sums[1]);
                format!("{0} = {low} < {0} ? {low} : {0}; {high}", sums[0])
            }
            Fold::Sum => sums_text::added(self.pass.work, sums, values),
            Fold::Squares => match values {
                [sum, squares, ..] => {
                    format!(
                        "{0} = {0} + {sum}; {1} = {1} + {squares};",
                        sums[0], sums[1]
                    )
                }
                _ => format!(
                    "{0} = {0} + {2}; {1} = {1} + {2} * {2};",
                    sums[0], sums[1], values[0]
                ),
            },
            // These have a text of their own.
            Fold::Moments | Fold::Mean => String::new(),
            Fold::Laplacian => {
                let last = &sums[sums.len() - 1];
                let inner = match values {
                    [_, second] => fma(smooth, second, last),
                    _ => last.clone(),
                };
                let mut text = String::new();
                if sums.len() == 2 {
                    let _ = write!(
                        text,
                        "{} = {}; ",
                        sums[0],
                        fma(smooth, &values[0], &sums[0])
                    );
                }
                let _ = write!(text, "{last} = {};", fma(derive, &values[0], &inner));
                text
            }
        }
    }

    /// The statements that read the numbers of a voxel, each as `load` says.
    fn values(&self, load: impl Fn(usize) -> String, indent: &str) -> (Vec<String>, String) {
        let mut names: Vec<String> = (0..self.channels()[0]).map(|c| format!("v{c}")).collect();
        let mut text = String::new();
        for (channel, name) in names.iter().enumerate() {
            let value = load(channel);
            let _ = writeln!(text, "{indent}const {} {name} = {value};", self.kind);
        }
        if self.pass.fold == Fold::Sum && names.len() < self.made() {
            let value = sums_text::upper(self.read, &names[0]);
            let _ = writeln!(text, "{indent}const {} v1 = {value};", self.kind);
            names.push("v1".to_owned());
        }
        (names, text)
    }

    /// Neighbours whose windows follow one another.
    fn together(&self) -> String {
        // The halves of such windows are read from the middle outwards.
        if self.pass.fold == Fold::Odd {
            return if self.tiled {
                tile_text::odd(self)
            } else {
                String::new()
            };
        }
        let kind = &self.kind;
        let mut text = self.follow();
        let sums =
            |m: usize| -> Vec<String> { (0..self.made()).map(|c| format!("s{m}_{c}")).collect() };
        for (channel, sum) in (0..EACH).flat_map(|m| sums(m).into_iter().enumerate()) {
            let nothing = self.nothing(channel);
            let _ = writeln!(text, "            {kind} {sum} = {nothing};");
        }
        let kept = self.tiled && self.pass.fold.is_weighted();
        let (declared, brought) = if kept {
            tile_text::weights(self)
        } else {
            Default::default()
        };
        let _ = write!(
            text,
            "{declared}{}{}\n{brought}",
            self.forward(),
            self.steps()
        );
        let (values, read) = self.values(|channel| self.near(channel, "t"), "                ");
        text.push_str(&read);
        for m in 0..EACH {
            let weights = match m {
                _ if kept => tile_text::kept(m),
                0 => weights_of("", "t"),
                _ => weights_of("", &format!("(t - {m})")),
            };
            let add = self.fold(&sums(m), &values, &weights);
            let _ = writeln!(text, "                if ({}) {{ {add} }}", reached(m));
        }
        text.push_str("            }\n");
        text.push_str(&self.store_all(sums));
        text.push_str("        } else\n");
        text
    }

    /// One output: its window is whole, or its table says which rows there are.
    fn alone(&self) -> String {
        let kind = &self.kind;
        let sums: Vec<String> = (0..self.made()).map(|c| format!("s{c}")).collect();
        let mut text = String::from(LIST);
        for (channel, sum) in sums.iter().enumerate() {
            let nothing = self.nothing(channel);
            let _ = writeln!(text, "            {kind} {sum} = {nothing};");
        }
        // Few windows of a tile come here.
        let once = if self.tiled { ONCE } else { "" };
        if self.pass.fold == Fold::Odd {
            let center = self.load(0, "center * row");
            let _ = writeln!(
                text,
                "            if (list == 0) {{
                const ix middle = (ix)taps / 2;
                const i64 center = own < 0 ? pi2[at + middle] : own + middle;
                s0 = fma_{kind}(pi3[middle], {center}, s0);
{once}                for (ix t = 1; t <= middle; t++) {{
                    const i64 before = own < 0 ? pi2[at + middle - t] : own + middle - t;
                    const i64 after = own < 0 ? pi2[at + middle + t] : own + middle + t;"
            );
            let difference = format!(
                "{} - {}",
                self.load(0, "after * row"),
                self.load(0, "before * row")
            );
            let _ = writeln!(
                text,
                "                    s0 = fma_{kind}(pi3[middle + t], {difference}, s0);\n                }}\n            }} else"
            );
        }
        let _ = writeln!(
            text,
            "{once}            for (ix t = 0; t < (ix)taps; t++) {{
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {{"
        );
        let load = |channel| self.load(channel, "there * row");
        let (values, read) = self.values(load, "                    ");
        text.push_str(&read);
        let list = format!("list * {} * taps + ", self.lists());
        let add = self.fold(&sums, &values, &weights_of(&list, "t"));
        let _ = writeln!(
            text,
            "                    {add}\n                }}\n            }}"
        );
        text.push_str(&self.biased(&sums));
        let _ = writeln!(
            text,
            "            {}",
            self.store(&sums, "(at - first) * row")
        );
        text
    }

    /// Adds what missing voxels add.
    fn biased(&self, sums: &[String]) -> String {
        let (bias, lists) = (self.bias(), self.lists());
        // The derived number is the last one of a voxel.
        let numbers = lists - sums.len()..lists;
        let missing: Vec<String> = numbers
            .map(|number| format!("{bias}[list * {lists} + {number}]"))
            .collect();
        if matches!(self.pass.fold, Fold::Least | Fold::Range | Fold::Sum) {
            let add = self.fold(sums, &missing, &Default::default());
            return format!("            {add}\n");
        }
        let mut text = String::new();
        for (sum, at) in sums.iter().zip(&missing) {
            let _ = writeln!(
                text,
                "            if ({at} != ({kind})0) {sum} = {sum} + {at};",
                kind = self.kind
            );
        }
        text
    }
}

/// A number of the arithmetic `kind` rounded to `dtype`: to the nearest, ties to even, saturating; NaN becomes
/// zero in integers.
pub(crate) fn rounded(value: &str, kind: &str, dtype: DType) -> String {
    let to = register(dtype);
    let near = |low: &str, high: &str| {
        format!("({to})(i32)near_{kind}({value}, ({kind}){low}, ({kind}){high})")
    };
    let wide = |low: &str, end: &str, least: &str, most: &str| {
        format!("near_{to}((f64)({value}), {low}, {end}, {least}, {most})")
    };
    match dtype {
        _ if kind == to || kind == "i32" => value.to_owned(),
        DType::Bool | DType::U8 => near("0", "255"),
        DType::I8 => near("-128", "127"),
        DType::U16 => near("0", "65535"),
        DType::I16 => near("-32768", "32767"),
        DType::U32 => wide("0.0", "4294967296.0", "0", "0xffffffffu"),
        DType::I32 => wide(
            "-2147483648.0",
            "2147483648.0",
            "(i32)0x80000000u",
            "0x7fffffff",
        ),
        DType::U64 => wide("0.0", "18446744073709551616.0", "0", "~(u64)0"),
        DType::I64 => wide(
            "-9223372036854775808.0",
            "9223372036854775808.0",
            "(i64)((u64)1 << 63)",
            "(i64)(~(u64)0 >> 1)",
        ),
        DType::F16 if kind == "f64" => format!("f64_to_f16({value})"),
        _ => format!("({to})({value})"),
    }
}
