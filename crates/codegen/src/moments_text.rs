//! The text of means and variances along an axis.
//!
//! An item looks at its rows twice: for the means of [`EACH`] neighbours, then for their variances, in which a row
//! counts by its distance from the mean of each window. Sums are taken from the row in the middle of a window.

use crate::filter::EACH;
use crate::filter_text::{LIST, Words, follow, reached, steps};
use crate::window_text::ONCE;
use std::fmt::Write as _;

/// A loop over the rows that the windows of neighbours have: `add` says what number `channel` of a row, `v`, does to
/// neighbour `m`.
fn rows(words: &Words, channel: usize, add: impl Fn(usize) -> String) -> String {
    let value = words.load(channel, "t * row");
    let mut text = format!("{}\n                const f64 v = {value};\n", steps());
    for m in 0..EACH {
        let _ = writeln!(text, "                if ({}) {{ {} }}", reached(m), add(m));
    }
    text.push_str("            }\n");
    text
}

/// The voxel in the middle of a window, `place` elements on, whose first number is `center`.
fn kept(words: &Words, center: &str, place: &str) -> String {
    if words.channels()[0] == 3 {
        words.load(2, place)
    } else {
        center.to_owned()
    }
}

/// Neighbours whose windows follow one another.
pub(crate) fn together(words: &Words) -> String {
    let place = |m: usize| format!("(before + {m}) * row");
    let mut text = follow();
    text.push_str("            const f64 share = pi3[2];\n            from += start * row;\n");
    for m in 0..EACH {
        let center = words.load(0, &place(m));
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
        let own = kept(words, &format!("c{m}"), &place(m));
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
        words.load(0, "middle * row"),
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
        kept(words, "center", "middle * row"),
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
