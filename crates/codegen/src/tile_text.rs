//! The text of passes along the last axis that read their windows from local memory.
//!
//! Items whose outputs follow one another in memory would read elements that lie [`EACH`] apart: a warp takes several
//! wavefronts for one load. So a group first brings all that its items read, element after element, as numbers of the
//! arithmetic. Lines follow one another as well, so a group may have the end of one and the next ones. Element `i` lies
//! in row `i % EACH` of the tile, at `i / EACH`: what items read at a time lies side by side again.
//!
//! Windows that are cut, or that the tile does not have, are read as elsewhere, so results do not depend on where it
//! begins.

use crate::entry::GROUP;
use crate::filter::EACH;
use crate::filter_text::{Words, weights_of};
use crate::window_text::ONCE;
use std::fmt::Write as _;

/// The most voxels that a group brings: at most 16 KiB of three numbers in double precision.
const MOST: usize = 640;

/// From one row of the tile to the next: they begin in different banks.
const PITCH: usize = MOST / EACH + 8;

/// The voxels that a group brings, if they fit: for so many outputs and rows of a line, and points of a window. Between
/// the windows of two lines lie the rows with which no output begins.
pub(crate) fn voxels([length, rows, taps]: [usize; 3]) -> Option<usize> {
    let (items, parts) = (GROUP as usize, length.div_ceil(EACH));
    let ends = (items - 1).div_ceil(parts.max(1));
    let brought = items * EACH + taps - 1 + ends * rows.saturating_sub(parts * EACH);
    (brought <= MOST).then_some(brought)
}

/// Brings voxels from the first window of the group on, and begins the loop over its items. A cut window has no first
/// row: it begins near the row of its number.
pub(crate) fn items(words: &Words, pointed: &str) -> String {
    let numbers = words.channels()[0];
    let mut text = format!(
        "    LOC {} tile[{numbers}][{EACH}][{PITCH}];
    const ix begin = (ix)GROUP_X * {GROUP};
    const ix above = begin / (ix)parts, left = (begin - above * (ix)parts) * {EACH};
    const ix base = above * (ix)rows + (pi1[left] < 0 ? left : pi1[left]);
    GLB const {pointed} *from = pi0 + base;
    for (u32 at = LOCAL_ID; at < (u32)brought && (ix)at < (ix)read - base; at += LOCAL_SIZE) {{\n",
        words.kind
    );
    for channel in 0..numbers {
        let value = words.load(channel, "at");
        let _ = writeln!(
            text,
            "        tile[{channel}][at % {EACH}][at / {EACH}] = {value};"
        );
    }
    text.push_str(
        "    }
    SYNC;
    for (u32 p = 0; p < PLACES; p++) {
        const ix item = begin + (ix)(LOCAL_ID * PLACES + p), row = 1;
        if (item >= (ix)items) break;\n",
    );
    text
}

/// Where the first window of neighbours lies in the tile.
pub(crate) const PLACED: &str = "        const ix near = outer * (ix)rows + start - base;\n";

/// The condition that the tile has their windows.
pub(crate) fn inside() -> String {
    let more = EACH - 1;
    format!(" && near >= 0 && near + (ix)taps + {more} <= (ix)brought")
}

/// Number `channel` of row `row` of the windows of neighbours.
pub(crate) fn voxel(channel: usize, row: &str) -> String {
    let place = format!("(u32)(near + {row})");
    format!("tile[{channel}][{place} % {EACH}][{place} / {EACH}]")
}

/// The weights of neighbour `m`: those that smooth, and those that derive.
pub(crate) fn kept(m: usize) -> [String; 2] {
    ["smooth", "derive"].map(|name| format!("{name}{m}"))
}

/// Declares the weights of neighbours, and brings them at a row: each has those of the one before it a row later.
pub(crate) fn weights(words: &Words) -> (String, String) {
    let (mut declared, mut brought) = (String::new(), String::new());
    for (list, place) in weights_of("", "t").iter().enumerate().take(words.lists()) {
        let names: Vec<String> = (0..EACH).map(|m| kept(m)[list].clone()).collect();
        let _ = writeln!(
            declared,
            "            {} {} = 0;",
            words.kind,
            names.join(" = 0, ")
        );
        for pair in names.windows(2).rev() {
            let _ = writeln!(brought, "                {} = {};", pair[1], pair[0]);
        }
        let _ = writeln!(
            brought,
            "                if (t < (ix)taps) {} = {place};",
            names[0]
        );
    }
    (declared, brought)
}

/// Neighbours whose windows have weights that are the negative of their mirror image. A step outwards brings one
/// voxel on each side; the others are those of a neighbour.
pub(crate) fn odd(words: &Words) -> String {
    let kind = &words.kind;
    let mut text = words.follow();
    let _ = writeln!(
        text,
        "            const ix middle = (ix)taps / 2;
            {kind} weight = pi3[middle];"
    );
    for m in 0..EACH {
        let own = voxel(0, &format!("middle + {m}"));
        let _ = writeln!(
            text,
            "            {kind} below{m} = {own}, above{m} = below{m};
            {kind} s{m} = fma_{kind}(weight, below{m}, ({kind})0);"
        );
    }
    let _ = writeln!(
        text,
        "{ONCE}            for (ix t = 1; t <= middle; t++) {{
                weight = pi3[middle + t];"
    );
    let last = EACH - 1;
    for m in 0..last {
        let _ = writeln!(
            text,
            "                below{} = below{}; above{m} = above{};",
            last - m,
            last - m - 1,
            m + 1
        );
    }
    let _ = writeln!(
        text,
        "                below0 = {}; above{last} = {};",
        voxel(0, "middle - t"),
        voxel(0, &format!("middle + {last} + t"))
    );
    for m in 0..EACH {
        let _ = writeln!(
            text,
            "                s{m} = fma_{kind}(weight, above{m} - below{m}, s{m});"
        );
    }
    text.push_str("            }\n");
    text.push_str(&words.store_all(|m| vec![format!("s{m}")]));
    text.push_str("        } else\n");
    text
}
