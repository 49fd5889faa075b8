//! Why two operations do not share a kernel.

use std::fmt;

/// Why the first operation of a group did not join an earlier group that it has data in common with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// Fusion is off, or the device takes single operations only.
    Off,
    /// The points that they visit differ in number.
    Shape,
    /// It folds over other axes or in another order than the group does.
    Folds,
    /// The group has as many operations or views of memory as one kernel may have.
    Full,
    /// It reads, or writes over, other points than the one that the group is at.
    Neighbours,
    /// It needs a result that is whole only after the group's last point, such as a sum.
    Whole,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Off => "fusion is off",
            Why::Shape => "the shapes differ",
            Why::Folds => "it folds over other axes, or in another order",
            Why::Full => "the kernel before it is full",
            Why::Neighbours => "it needs neighbouring points",
            Why::Whole => "it needs a result that is complete only at the end of a kernel",
        })
    }
}
