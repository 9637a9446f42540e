//! What samples, repeats and nights say, and how surely: pure functions over numbers.
//!
//! One run: [`quantile`], [`exceed`], [`absence`], [`seen`] and the [`tail`] behind its gate. Several systems: [`two`] and
//! [`factorial`], where the unit is the repeat. Over time: [`change`]. What cannot be said is a [`Refusal`] with its reason
//! or `None`; no function returns NaN, and what is drawn at random is drawn from a fixed seed.
//!
//! It reads nothing, knows no unit, probe or run, and prints nothing: crate `report` puts its answers into words.

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
