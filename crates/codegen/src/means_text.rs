//! The text of means over windows of any shape: exact ones of whole numbers, and what follows from mean and variance.

use crate::values_text::Of;
use crate::window_text::{ONCE, Words};
use crate::{spread_text, sums_text};
use arrayloom_device::Spread;
use std::fmt::Write as _;

impl Words {
    /// The mean of whole numbers. `find` says where point `POINT` lies, at `place`; a constant stands for it where `outside` is
    /// true, if it ever is, and `exists` is false where there is nothing.
    pub(crate) fn mean(&self, find: &str, place: &str, outside: &str, exists: &str) -> String {
        let (kind, work) = (&self.kind, self.window.work);
        let read = [self.load(place), sums_text::upper(self.read, "v0")];
        let numbers = |name: &str| -> Vec<String> {
            let words = 0..sums_text::words(work);
            words.map(|n| format!("{name}{n}")).collect()
        };
        let (sums, values) = (numbers("sum"), numbers("v"));
        let mut text = String::from("            i32 there = 0;\n");
        for sum in &sums {
            let _ = writeln!(text, "            {kind} {sum} = 0;");
        }
        let find = find.replace("POINT", "p");
        let _ = write!(
            text,
            "{ONCE}            for (ix p = 0; p < (ix)points; p++) {{\n{find}"
        );
        for (n, (name, value)) in values.iter().zip(&read).enumerate() {
            let value = match outside {
                "" => value.clone(),
                _ => format!("{outside} ? pi6[{n}] : {value}"),
            };
            let _ = writeln!(text, "                    const {kind} {name} = {value};");
        }
        let add = sums_text::added(work, &sums, &values);
        let mean = sums_text::mean(&sums, "(f64)(there > 0 ? there : 1)", self.window.values);
        let _ = writeln!(
            text,
            "                    if ({exists}) {{ there++; {add} }}
            }}
            result = {mean};"
        );
        text
    }

    /// What follows from mean and variance: the points are looked at twice.
    pub(crate) fn spread(
        &self,
        spread: Spread,
        find: Of<'_>,
        value: Of<'_>,
        exists: &str,
    ) -> String {
        let (center, find, value) = (self.center(find, value), find("p"), value("p"));
        let made = ["mean", "spread", "center"].map(str::to_owned);
        let found = spread_text::of(spread, &made, ["given0", "given1"]);
        format!(
            "{center}            f64 anchor = center, mean = 0, spread = 0, there = 0;
            b8 begun = (b8)(f64_of((u64)given2) != 0);
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{find}                    const f64 own = {value};
                    if ({exists}) {{
                        if (!begun) anchor = own;
                        begun = 1;
                        mean = mean + (own - anchor);
                        there = there + 1;
                    }}
            }}
            mean = mean / there;
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{find}                    const f64 own = {value}, far = (own - anchor) - mean;
                    if ({exists}) spread = spread + far * far;
            }}
            mean = mean + anchor;
            spread = spread / there;
            result = {found};
"
        )
    }
}
