//! Voxels as unsigned integers in the order of their values, and back, in the text of filters.

use crate::access::register;
use arrayloom_device::Keys;
use arrayloom_types::{DType, Kind};

/// How voxels stand for keys.
pub(crate) struct Keyed {
    pub(crate) order: Keys,
    /// The dtype of the voxels.
    pub(crate) values: DType,
    /// The dtype of their bits.
    pub(crate) bits: DType,
}

impl Keyed {
    fn kind(&self) -> String {
        register(self.bits)
    }

    /// The bits of infinity.
    fn endless(&self) -> String {
        let bits = match self.bits.size() {
            2 => "0x7c00",
            4 => "0x7f800000",
            _ => "0x7ff0000000000000",
        };
        format!("({}){bits}", self.kind())
    }

    /// The key of voxel `value`.
    pub(crate) fn key(&self, value: &str) -> String {
        let kind = self.kind();
        let turned = if self.order == Keys::Highest { "~" } else { "" };
        let name = match self.order {
            Keys::Plain => return value.to_owned(),
            Keys::Lowest => "low",
            Keys::Highest => "high",
            Keys::Rising => "rising",
        };
        match self.values.kind() {
            Kind::Signed => format!("({kind}){turned}signed_key_{kind}({value})"),
            Kind::Float => format!("{name}_key_{kind}({value}, {})", self.endless()),
            _ => format!("({kind}){turned}{value}"),
        }
    }

    /// The voxel of key `key`.
    pub(crate) fn value(&self, key: &str) -> String {
        let kind = self.kind();
        let turned = if self.order == Keys::Highest { "~" } else { "" };
        if self.order == Keys::Plain {
            return key.to_owned();
        }
        let value = format!("({kind}){turned}{key}");
        match self.values.kind() {
            Kind::Signed => format!("signed_key_{kind}({value})"),
            Kind::Float => format!("of_key_{kind}({value}, {})", self.endless()),
            _ => value,
        }
    }

    /// The greatest voxel minus the smallest one, given their rising keys: the keys of integers are as far apart.
    pub(crate) fn range(&self, low: &str, high: &str) -> String {
        let kind = self.kind();
        match self.values.kind() {
            Kind::Float => {
                let (low, high) = (self.value(low), self.value(high));
                format!("range_{}({low}, {high})", register(self.values))
            }
            Kind::Signed => {
                format!("range_{kind}({low}, {high}, ({kind})(({kind})~({kind})0 >> 1))")
            }
            _ => format!("range_{kind}({low}, {high}, ({kind})~({kind})0)"),
        }
    }

    /// True where a key may be that of NaN.
    pub(crate) fn has_nan(&self) -> bool {
        self.values.kind() == Kind::Float
    }
}
