//! The text of the kernels of a sort.

use crate::access::store;
use crate::entry::{Entry, GROUP};
use crate::fold::Names;
use crate::map::head;
use crate::sort::{BINS, EACH, Key, SortPass, TILE};
use std::fmt::Write as _;

/// The text of a kernel.
pub(crate) fn text(entry: &Entry, pass: SortPass) -> String {
    let mut text = head(entry);
    match pass {
        SortPass::Keys { key, bytes, first } => keyed(&mut text, key, bytes, first),
        SortPass::Count(_) => counted(&mut text),
        SortPass::Add => added(&mut text),
        SortPass::Move(bytes) => moved(&mut text, bytes),
        SortPass::Elements(_) | SortPass::Places => placed(&mut text, entry, pass),
        SortPass::NoTies => {
            let put = store(&entry.outs[0].1, "o0", &[], "0");
            let _ = writeln!(text, "    EACH_X(item, (ix)items) if (item == 0) {put}");
        }
        SortPass::Ties { key, bytes } => tied(&mut text, key, bytes),
    }
    text.push_str("}\n");
    text
}

/// The key of the element whose first part lies at `place` of scratch.
fn key_of(key: Key, bytes: u8, place: &str) -> String {
    let kind = format!("u{}", 8 * usize::from(bytes));
    let endless = match bytes {
        2 => "(u16)0x7c00",
        4 => "(u32)0x7f800000",
        _ => "(u64)0x7ff0000000000000",
    };
    let part = |part: u8| format!("scratch0[{place} + {part}]");
    match key {
        Key::Plain => format!("plain_key_{kind}({})", part(0)),
        Key::Signed => format!("signed_key_{kind}({})", part(0)),
        Key::Float => format!("float_key_{kind}({}, {endless})", part(0)),
        Key::Part(n) => format!("float_key_{kind}({}, {endless})", part(n)),
        Key::Nans => format!(
            "(u8)(2 * is_nan_{kind}({}, {endless}) + is_nan_{kind}({}, {endless}))",
            part(0),
            part(1)
        ),
    }
}

fn keyed(text: &mut String, key: Key, bytes: u8, first: bool) {
    let number = if first {
        "(u32)(item - line * (ix)length)"
    } else {
        "scratch2[item]"
    };
    let value = key_of(key, bytes, "at");
    let _ = writeln!(
        text,
        "    EACH_X(item, (ix)items) {{
        const ix line = item / (ix)length;
        const u32 number = {number};
        const i64 at = ((i64)line * length + number) * words;
        scratch1[item] = {value};"
    );
    if first {
        text.push_str("        scratch2[item] = number;\n");
    }
    text.push_str("    }\n");
}

/// The line and the part that a group has.
fn of_group(text: &mut String) {
    text.push_str(
        "    const u32 group = (u32)GROUP_X, all = (u32)parts;
    const i64 line = group / all, number = group % all;
    const i64 start = number * part, end = length - start < part ? length : start + part;\n",
    );
}

fn digit(key: &str) -> String {
    format!("(u32)({key} >> shift) & {}", BINS - 1)
}

/// Each place has counts of its own, so that nobody waits for another.
fn counted(text: &mut String) {
    let _ = writeln!(text, "    LOC u32 own[{}];", BINS * GROUP as usize);
    of_group(text);
    let _ = writeln!(
        text,
        "    for (u32 place = LOCAL_ID; place < {GROUP}; place += LOCAL_SIZE) {{
        for (u32 bin = 0; bin < {BINS}; bin++) own[bin * {GROUP} + place] = 0;
        for (i64 i = start + place; i < end; i += {GROUP}) own[({}) * {GROUP} + place]++;
    }}
    SYNC;
    for (u32 bin = LOCAL_ID; bin < {BINS}; bin += LOCAL_SIZE) {{
        u32 sum = 0;
        for (u32 place = 0; place < {GROUP}; place++) sum += own[bin * {GROUP} + place];
        scratch5[(line * {BINS} + bin) * parts + number] = sum;
    }}",
        digit("scratch1[line * length + i]")
    );
}

/// Sums of what lies before, over `total` numbers at `own`, of which each place has `share`.
fn sums(total: &str, share: &str, own: &str, kind: &str, indent: &str) -> String {
    format!(
        "{indent}for (u32 place = LOCAL_ID; place < {GROUP}; place += LOCAL_SIZE) {{
{indent}    u32 sum = 0;
{indent}    for (i64 i = place * {share}; i < (place + 1) * {share} && i < {total}; i++) sum += {own}[i];
{indent}    sums[place] = sum;
{indent}}}
{indent}SYNC;
{indent}for (u32 place = LOCAL_ID; place < {GROUP}; place += LOCAL_SIZE) {{
{indent}    u32 sum = 0;
{indent}    for (u32 i = 0; i < place; i++) sum += sums[i];
{indent}    for (i64 i = place * {share}; i < (place + 1) * {share} && i < {total}; i++) {{
{indent}        const u32 count = {own}[i];
{indent}        {own}[i] = ({kind})sum;
{indent}        sum += count;
{indent}    }}
{indent}}}
"
    )
}

fn added(text: &mut String) {
    let _ = write!(
        text,
        "    LOC u32 sums[{GROUP}];
    GLB u32 *own = scratch5 + GROUP_X * {BINS} * parts;
    const i64 total = {BINS} * parts, share = (total + {GROUP} - 1) / {GROUP};
{}",
        sums("total", "share", "own", "u32", "    ")
    );
}

/// A round puts the keys of each place behind those of the places before it, digit by digit.
fn moved(text: &mut String, bytes: u8) {
    let kind = format!("u{}", 8 * usize::from(bytes));
    let _ = writeln!(
        text,
        "    LOC u16 counts[{}];
    LOC u32 sums[{GROUP}], base[{BINS}], first[{BINS}];",
        BINS * GROUP as usize
    );
    of_group(text);
    let all = (BINS * GROUP as usize).to_string();
    let digit = digit("key");
    let _ = writeln!(
        text,
        "    for (u32 bin = LOCAL_ID; bin < {BINS}; bin += LOCAL_SIZE)
        base[bin] = scratch5[(line * {BINS} + bin) * parts + number];
    for (i64 tile = start; tile < end; tile += {TILE}) {{
        const u32 held = end - tile < {TILE} ? (u32)(end - tile) : {TILE};
        const i64 from = line * length + tile;
        for (u32 place = LOCAL_ID; place < {GROUP}; place += LOCAL_SIZE) {{
            for (u32 bin = 0; bin < {BINS}; bin++) counts[bin * {GROUP} + place] = 0;
            for (u32 i = place * {EACH}; i < (place + 1) * {EACH} && i < held; i++) {{
                const {kind} key = scratch1[from + i];
                counts[({digit}) * {GROUP} + place]++;
            }}
        }}
        SYNC;
{}        SYNC;
        for (u32 bin = LOCAL_ID; bin < {BINS}; bin += LOCAL_SIZE) first[bin] = counts[bin * {GROUP}];
        SYNC;
        for (u32 place = LOCAL_ID; place < {GROUP}; place += LOCAL_SIZE)
            for (u32 i = place * {EACH}; i < (place + 1) * {EACH} && i < held; i++) {{
                const {kind} key = scratch1[from + i];
                const u32 bin = {digit};
                const i64 to = line * length + base[bin] + counts[bin * {GROUP} + place]++ - first[bin];
                scratch3[to] = key;
                scratch4[to] = scratch2[from + i];
            }}
        SYNC;
        for (u32 bin = LOCAL_ID; bin < {BINS}; bin += LOCAL_SIZE)
            base[bin] += (bin + 1 < {BINS} ? first[bin + 1] : held) - first[bin];
        SYNC;
    }}",
        sums(&all, &BINS.to_string(), "counts", "u16", "        ")
    );
}

fn placed(text: &mut String, entry: &Entry, pass: SortPass) {
    let names = Names::of(entry);
    text.push_str("    EACH_X(item, (ix)items) {\n        ix rest = item;\n");
    text.push_str(&Names::split(0..names.dims, "        ", true));
    let view = &entry.outs[0].1;
    let value = if pass == SortPass::Places {
        "(i64)scratch2[item]"
    } else {
        text.push_str(
            "        const ix at = item / (ix)words, line = at / (ix)length;
        const i64 from = ((i64)line * length + scratch2[at]) * words + item % (ix)words;\n",
        );
        "scratch0[from]"
    };
    let put = store(view, "o0", &names.index(), value);
    let _ = writeln!(text, "        {put}\n    }}");
}

fn tied(text: &mut String, key: Key, bytes: u8) {
    let same = |key: Key| {
        format!(
            "{} == {}",
            key_of(key, bytes, "at"),
            key_of(key, bytes, "next")
        )
    };
    let equal = match key {
        Key::Part(_) => format!("{} && {}", same(Key::Part(0)), same(Key::Part(1))),
        other => same(other),
    };
    let _ = writeln!(
        text,
        "    EACH_X(item, (ix)items) {{
        const ix line = item / (ix)length;
        if (item + 1 < items && (item + 1) / (ix)length == line) {{
            const i64 at = ((i64)line * length + scratch2[item]) * words;
            const i64 next = ((i64)line * length + scratch2[item + 1]) * words;
            if ({equal}) OR_INTO(po0, 1u);
        }}
    }}"
    );
}
