//! The text of means and variances along an axis.
//!
//! An item looks at its rows twice: for the means of [`EACH`] neighbours, then for their variances, in which a row
//! counts by its distance from the mean of each window. Sums are taken from the row in the middle of a window.

use crate::filter::EACH;
use crate::filter_text::{LIST, Words, reached};
use crate::window_text::ONCE;
use std::fmt::Write as _;

/// A loop over the rows that the windows of neighbours have: `add` says what number `channel` of a row, `v`, does to
/// neighbour `m`.
fn rows(words: &Words, channel: usize, add: impl Fn(usize) -> String) -> String {
    let value = words.near(channel, "t");
    let mut text = format!(
        "{}\n                const f64 v = {value};\n",
        words.steps()
    );
    for m in 0..EACH {
        let _ = writeln!(text, "                if ({}) {{ {} }}", reached(m), add(m));
    }
    text.push_str("            }\n");
    text
}

/// The voxel in the middle of a window, whose first number is `center`; `load` reads a number of it.
fn kept(words: &Words, center: &str, load: impl Fn(usize) -> String) -> String {
    if words.channels()[0] == 3 {
        load(2)
    } else {
        center.to_owned()
    }
}

/// Neighbours whose windows follow one another.
pub(crate) fn together(words: &Words) -> String {
    let middle = |m: usize, channel: usize| words.near(channel, &format!("(before + {m})"));
    let mut text = words.follow();
    text.push_str("            const f64 share = pi3[2];\n");
    text.push_str(words.forward());
    for m in 0..EACH {
        let center = middle(m, 0);
        let _ = writeln!(
            text,
            "            const f64 c{m} = {center};\n            f64 s{m} = 0, q{m} = 0;"
        );
    }
    text.push_str(&rows(words, 0, |m| format!("s{m} = s{m} + (v - c{m});")));
    for m in 0..EACH {
        let _ = writeln!(text, "            s{m} = s{m} * share;");
    }
    text.push_str(&rows(words, 0, |m| {
        format!("const f64 far = (v - c{m}) - s{m}; q{m} = fma_f64(far, far, q{m});")
    }));
    if words.channels()[0] > 1 {
        text.push_str(&rows(words, 1, |m| format!("q{m} = q{m} + v;")));
    }
    text.push_str(&words.store_all(|m| {
        let own = kept(words, &format!("c{m}"), |channel| middle(m, channel));
        let mut made = vec![format!("s{m} + c{m}"), format!("q{m} * share"), own];
        made.truncate(words.made());
        made
    }));
    text.push_str("        } else\n");
    text
}

/// One output: its window is whole, or its table says which rows there are.
pub(crate) fn alone(words: &Words) -> String {
    let each = |channel: usize, add: &str| {
        format!(
            "{ONCE}            for (ix t = 0; t < (ix)taps; t++) {{
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {{
                    const f64 v = {};
                    {add}
                }}
            }}\n",
            words.load(channel, "there * row")
        )
    };
    let middle = |channel: usize| words.load(channel, "middle * row");
    let mut text = String::from(LIST);
    let _ = write!(
        text,
        "            const i64 middle = own < 0 ? pi2[at + before] : own + before;
            const f64 center = {};
            const f64 outside = pi3[3 * list], missing = pi3[3 * list + 1];
            const f64 share = pi3[3 * list + 2];
            f64 mean = 0, spread = 0;
{}            if (missing > 0) mean = mean + missing * (outside - center);
            mean = mean * share;
{}",
        middle(0),
        each(0, "mean = mean + (v - center);"),
        each(
            0,
            "const f64 far = (v - center) - mean; spread = fma_f64(far, far, spread);"
        )
    );
    if words.channels()[0] > 1 {
        text.push_str(&each(1, "spread = spread + v;"));
    }
    let made = [
        "mean + center".to_owned(),
        "spread * share".to_owned(),
        kept(words, "center", middle),
    ];
    let _ = writeln!(
        text,
        "            if (missing > 0) {{
                const f64 far = (outside - center) - mean;
                spread = fma_f64(missing, far * far, spread);
            }}
            {}",
        words.store(&made[..words.made()], "(at - first) * row")
    );
    text
}
