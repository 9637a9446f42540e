//! Two or more systems; the unit is the repeat.
mod ranks;
pub use ranks::midranks;
