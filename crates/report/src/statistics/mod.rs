//! Statistics of samples: bounds with their confidence, running moments, pooling.

pub mod confidence;
pub mod moments;
pub mod pool;
