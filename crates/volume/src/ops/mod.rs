//! The operations.

mod correlate;
mod extrema;
mod footprint;
mod linear;
mod rank;
mod window;

pub use correlate::Correlate;
pub use extrema::{BoxExtremum, Extremum};
pub use footprint::FootprintExtremum;
pub use linear::{Linear, LinearAxis};
pub use rank::Rank;
pub use window::{Neighbourhood, WindowAxis};
