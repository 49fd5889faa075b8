//! The operations.

mod correlate;
mod extrema;
mod footprint;
mod linear;
mod local;
mod rank;
mod statistic;
mod window;

pub use correlate::Correlate;
pub use extrema::{BoxExtremum, Extremum};
pub use footprint::FootprintExtremum;
pub use linear::{Linear, LinearAxis};
pub use local::Local;
pub use rank::Rank;
pub use statistic::Statistic;
pub use window::{Neighbourhood, WindowAxis};
