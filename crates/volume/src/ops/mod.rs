//! The operations.

mod bilateral;
mod correlate;
mod diffusion;
mod entropy;
mod exponential;
mod extrema;
mod footprint;
mod heights;
mod linear;
mod local;
mod long_means;
mod nl_means;
mod range;
mod rank;
mod sliding;
mod spread;
mod statistic;
mod tiles;
mod window;

pub use correlate::Correlate;
pub use extrema::{BoxExtremum, Extremum};
pub use footprint::FootprintExtremum;
pub use heights::Heights;
pub use linear::{Linear, LinearAxis};
pub use local::local;
pub use nl_means::{Distance, NlMeans};
pub use range::BoxRange;
pub use rank::Rank;
pub use statistic::Statistic;
pub use window::{Neighbourhood, WindowAxis};
