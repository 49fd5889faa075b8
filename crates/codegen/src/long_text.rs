//! The text of passes over long windows, which are joined in the orders of the filters on the CPU: from boxes of powers of
//! two, or from cuts.
//!
//! An item computes one output from all rows of its window, as numbers that stand for boxes of rows: a sum, or a mean
//! and a variance.

use crate::access::unit;
use crate::entry::Entry;
use crate::filter::Pass;
use crate::filter_text::{Words, pointed};
use crate::map::head;
use arrayloom_device::Fold;
use std::fmt::Write as _;

/// The names of rows that become a box in registers.
const ROWS: &str = "abcdefgh";
/// Sizes of larger boxes.
const SIZES: usize = 30;

/// The text of the kernel for windows that are joined from boxes.
pub(crate) fn boxes(entry: &Entry, pass: Pass) -> String {
    let long = Long(Words::new(entry, pass));
    let leaf = long.leaf_rows();
    let mut text = long.begin(entry);
    for n in 0..long.numbers() {
        let kind = &long.0.kind;
        let _ = writeln!(
            text,
            "        {kind} all{n} = 0, box{n} = 0, parts{n}[{SIZES}];"
        );
    }
    text.push_str("        ix done = 0;\n");
    let sizes = (0..).map(|bit| 1 << bit);
    for size in sizes.take_while(|&size| size < leaf) {
        let _ = writeln!(
            text,
            "        if ((taps & {size}) != 0) {{\n{}{}        }}",
            long.leaf(size, "done", "            "),
            long.collected(&size.to_string(), "            ")
        );
    }
    let carried = |n: usize| format!("parts{n}[level]");
    // Boxes of one size are joined as the digits of a number are carried.
    let _ = write!(
        text,
        "        for (i64 size = {leaf}; size <= taps; size *= 2) {{
            if ((taps & size) == 0) continue;
            for (ix leaf = 0; leaf < (ix)(size / {leaf}); leaf++) {{
                const ix first = done + leaf * {leaf};
{}                u32 level = 0;
                for (; (leaf >> level & 1) != 0; level++) {{
{}                }}
                {}
            }}
{}        }}
",
        long.leaf(leaf, "first", "                "),
        long.joined(
            "box",
            [&carried, &each("box")],
            "0.5",
            "                    "
        ),
        long.set(&carried, &each("box")),
        long.collected("(ix)size", "            ")
    );
    text + &long.end("all")
}

/// The text of the kernel for windows that are joined from cuts.
pub(crate) fn cuts(entry: &Entry, pass: Pass) -> String {
    let long = Long(Words::new(entry, pass));
    let (end, start, new) = (each("end"), each("start"), each("new"));
    let (deep, deeper) = ("            ", "                ");
    let text = format!(
        "        const ix past = (at + (ix)taps - (ix)cut) % (ix)taps, ahead = (ix)taps - past;
{}        for (ix t = ahead - 2; t >= 0; t--) {{
{}{}        }}
        if (past > 0) {{
{}            for (ix t = ahead + 1; t < (ix)taps; t++) {{
{}{}            }}
{}        }}
",
        long.row("end", "(ahead - 1)", "        "),
        long.row("new", "t", deep),
        long.joined(
            "end",
            [&new, &end],
            "(f64)(ahead - 1 - t) / (f64)(ahead - t)",
            deep
        ),
        long.row("start", "ahead", deep),
        long.row("new", "t", deeper),
        long.joined(
            "start",
            [&start, &new],
            "1.0 / (f64)(t - ahead + 1)",
            deeper
        ),
        long.joined("end", [&end, &start], "(f64)past / (f64)taps", deep),
    );
    long.begin(entry) + &text + &long.end("end")
}

/// The names of the numbers of a box.
fn each(name: &str) -> impl Fn(usize) -> String {
    move |n| format!("{name}{n}")
}

/// The words of a pass over long windows.
struct Long(Words);

impl Long {
    /// Numbers that stand for a box.
    fn numbers(&self) -> usize {
        if self.is_mean() { 1 } else { 2 }
    }

    /// Rows that become a box in registers, a power of two.
    fn leaf_rows(&self) -> usize {
        ROWS.len() / self.numbers()
    }

    fn is_mean(&self) -> bool {
        self.0.pass.fold == Fold::Mean
    }

    /// The beginning of the kernel, up to what is known of the window.
    fn begin(&self, entry: &Entry) -> String {
        let (kind, lists) = (&self.0.kind, self.0.lists());
        let mut text = format!(
            "{}    EACH_X(item, (ix)items) {{
        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)length, at = line - outer * (ix)length;
        GLB const {} *from = pi0 + outer * rows * row + column;
        GLB {} *to = po0 + line * row + column;
        const ix own = pi1[at];
        const i64 list = own < 0 ? -1 - (i64)own : 0;
        const {kind} outside = pi3[{lists} * list];
",
            head(entry),
            pointed(entry.ins.first()),
            unit(&entry.outs[0].1)
        );
        if self.is_mean() {
            let _ = writeln!(
                text,
                "        const {kind} scale = pi3[{lists} * list + 1];"
            );
        }
        text
    }

    /// The statements that declare the numbers `name` of row `row` of the window.
    fn row(&self, name: &str, row: &str, indent: &str) -> String {
        let (words, kind) = (&self.0, &self.0.kind);
        let place = format!("at_{name}");
        let load = |channel| words.load(channel, &format!("{place} * row"));
        let mut text =
            format!("{indent}const i64 {place} = own < 0 ? pi2[at + {row}] : own + {row};\n");
        let first = if self.is_mean() {
            format!("{} * scale", load(0))
        } else {
            load(0)
        };
        let _ = writeln!(
            text,
            "{indent}{kind} {name}0 = {place} < 0 ? outside : {first};"
        );
        if !self.is_mean() {
            let variance = match words.channels()[0] {
                1 => "0".to_owned(),
                _ => format!("{place} < 0 ? 0 : {}", load(1)),
            };
            let _ = writeln!(text, "{indent}{kind} {name}1 = {variance};");
        }
        text
    }

    /// The statements that join two boxes, given the names of their numbers and the share of the second one.
    fn joined(
        &self,
        to: &str,
        [a, b]: [&dyn Fn(usize) -> String; 2],
        share: &str,
        indent: &str,
    ) -> String {
        if self.is_mean() {
            return format!("{indent}{to}0 = {} + {};\n", a(0), b(0));
        }
        let means = format!("{}, {}", a(0), b(0));
        format!(
            "{indent}{{
{indent}    const f64 share = {share};
{indent}    {to}1 = variance_of_both({means}, {}, {}, share);
{indent}    {to}0 = mean_of_both({means}, share);
{indent}}}
",
            a(1),
            b(1)
        )
    }

    /// The statements that set numbers, given their names, to others.
    fn set(&self, to: &dyn Fn(usize) -> String, from: &dyn Fn(usize) -> String) -> String {
        let each = (0..self.numbers()).map(|n| format!("{} = {};", to(n), from(n)));
        each.collect::<Vec<_>>().join(" ")
    }

    /// The statements that make a box of `size` rows from row `first` on.
    fn leaf(&self, size: usize, first: &str, indent: &str) -> String {
        let name = |row: usize| &ROWS[row..=row];
        let mut text = String::new();
        for row in 0..size {
            text.push_str(&self.row(name(row), &format!("({first} + {row})"), indent));
        }
        let mut step = 1;
        while step < size {
            for row in (0..size).step_by(2 * step) {
                let both = [each(name(row)), each(name(row + step))];
                let both: [&dyn Fn(usize) -> String; 2] = [&both[0], &both[1]];
                text.push_str(&self.joined(name(row), both, "0.5", indent));
            }
            step *= 2;
        }
        let set = self.set(&each("box"), &each(name(0)));
        let _ = writeln!(text, "{indent}{set}");
        text
    }

    /// The statements that join a box of `size` rows to what is joined so far.
    fn collected(&self, size: &str, indent: &str) -> String {
        let share = format!("(f64){size} / (f64)(done + {size})");
        let join = self.joined(
            "all",
            [&each("all"), &each("box")],
            &share,
            &format!("{indent}    "),
        );
        let first = self.set(&each("all"), &each("box"));
        format!(
            "{indent}if (done == 0) {{
{indent}    {first}
{indent}}} else {{
{join}{indent}}}
{indent}done += {size};
"
        )
    }

    /// The end of the kernel, which writes what the numbers `name` become.
    fn end(&self, name: &str) -> String {
        let mut made: Vec<String> = (0..self.numbers()).map(each(name)).collect();
        if self.is_mean() {
            let [by, times] = [2, 3].map(|n| format!("pi3[{} * list + {n}]", self.0.lists()));
            made = vec![format!("{} / {by} * {times}", made[0])];
        }
        format!("        {}\n    }}\n}}\n", self.0.store(&made, "0"))
    }
}
