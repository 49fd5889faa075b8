//! The text of what the values of a window give: bilateral means, diffusion, extrema by heights, bins, entropies.

use crate::window_text::{ONCE, Words};
use arrayloom_device::Gather;

/// What stands for a point, given its name.
pub(crate) type Of<'a> = &'a dyn Fn(&str) -> String;

impl Words {
    /// A mean taken from the voxel itself.
    pub(crate) fn bilateral(&self, find: Of<'_>, value: Of<'_>, exists: &str) -> String {
        let kind = &self.kind;
        format!(
            "{}            {kind} sum = 0, all = 0;
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{}                    const {kind} far = ({}) - center, share = far * ({kind})f64_of((u64)given0);
                    if ({exists}) {{
                        const {kind} near = pi6[p] * fading_{kind}(-(share * share));
                        sum = fma_{kind}(near, far, sum);
                        all = all + near;
                    }}
            }}
            result = center + sum / all;
",
            self.center(find, value),
            find("p"),
            value("p")
        )
    }

    /// What flows in.
    pub(crate) fn diffusion(&self, find: Of<'_>, value: Of<'_>, exists: &str) -> String {
        let kind = &self.kind;
        format!(
            "{}            const {kind} inverse = f64_of((u64)given0), step = f64_of((u64)given1);
            {kind} sum = 0;
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{}                    const {kind} far = ({}) - center, share = far * inverse, steep = share * share;
                    if ({exists}) {{
                        sum = sum + (given2 != 0 ? far / (({kind})1 + steep) : far * fading_{kind}(-steep));
                    }}
            }}
            result = center + step * sum;
",
            self.center(find, value),
            find("p"),
            value("p")
        )
    }

    /// The smallest difference, or the greatest sum, of points and their heights.
    pub(crate) fn heights(&self, find: Of<'_>, value: Of<'_>, exists: &str) -> String {
        let kind = &self.kind;
        let (sign, beyond, least) = match self.window.gather {
            Gather::Lowest => ("-", "<", "0x7ff0000000000000"),
            _ => ("+", ">", "0xfff0000000000000"),
        };
        format!(
            "            result = ({kind})f64_of((u64){least});
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
{}                    const {kind} sum = ({}) {sign} pi6[p];
                    if ({exists}) result = sum {beyond} result || sum != sum ? sum : result;
            }}
",
            find("p"),
            value("p")
        )
    }

    /// The bin of the only point.
    pub(crate) fn bin(&self, find: Of<'_>, value: Of<'_>) -> String {
        let kind = &self.kind;
        format!(
            "            {{
{}                    const {kind} own = {}, count = f64_of((u64)given2);
                    const {kind} share = (own / 2 - f64_of((u64)given0)) / f64_of((u64)given1);
                    const {kind} bin = floor_(share * count), last = count - 1;
                    result = own != own ? own : bin < 0 ? 0 : bin > last ? last : bin;
            }}
",
            find("0"),
            value("0")
        )
    }

    /// The voxel itself, `center`: the point behind those of the window.
    pub(crate) fn center(&self, find: Of<'_>, value: Of<'_>) -> String {
        let point = "(ix)points";
        format!(
            "            {} center;
            {{
{}                    center = {};
            }}
",
            self.kind,
            find(point),
            value(point)
        )
    }

    /// The entropy of a window: each point adds a step of `c * log2(c)`, where `c` points before it have its bin.
    pub(crate) fn entropy(&self, find: Of<'_>, value: Of<'_>, exists: &str) -> String {
        let kind = &self.kind;
        format!(
            "            {kind} sum = 0, all = 0;
            i32 there = 0, nan = 0;
{ONCE}            for (ix p = 0; p < (ix)points; p++) {{
                {kind} bin;
                b8 is = 0;
                {{
{}                    bin = {};
                    is = (b8)({exists});
                }}
                i32 alike = 0;
{ONCE}                for (ix q = 0; q < (ix)(is ? p : 0); q++) {{
{}                    const {kind} other = {};
                    if ({exists}) alike += other == bin;
                }}
                if (is) {{
                    nan |= bin != bin;
                    sum = sum + pi6[alike];
                    all = all + pi6[there++];
                }}
            }}
            result = nan != 0 ? ({kind})f64_of((u64)0x7ff8000000000000) : (all - sum) / (({kind})4294967296.0 * ({kind})there);
",
            find("p"),
            value("p"),
            find("q"),
            value("q")
        )
    }
}
