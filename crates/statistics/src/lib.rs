//! What samples, repeats and the CI history show, and how certainly: pure functions over numbers.
//!
//! One run: [`quantile`], [`exceed`], [`absence`], [`seen`] and the [`tail`] behind its gate. Several systems: [`two`] and [`factorial`],
//! where the unit is the repeat. Over time: [`change`]. Where a question has no answer, a function returns a [`Refusal`] with its reason,
//! or `None`. No function returns NaN, and all random draws have a fixed seed.
//!
//! This crate reads no files, knows no unit, probe or run, and prints nothing: crate `report` puts its answers into words.

pub mod absence;
pub mod change;
pub mod confidence;
pub mod dependence;
pub mod exceed;
pub mod factorial;
mod matrix;
pub mod moments;
mod optimum;
pub mod quantile;
mod random;
mod refusal;
pub mod seen;
pub mod special;
pub mod tail;
pub mod two;

pub use refusal::Refusal;
