//! Statistics of samples: bounds with their confidence, running moments; pooling lies in `model`, which pools parts of a cell.

pub mod confidence;
pub mod moments;

pub use latido_model::run::pool;
