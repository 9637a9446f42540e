//! Statistics of samples: bounds with their confidence, running moments; pooling lies in `model`, which pools parts of a cell.

pub use latido_model::run::pool;
pub use latido_statistics::{confidence, moments, seen};
