//! What a plan can decide, said before it is measured: whether its repeats suffice, what a budget costs, what a pilot says.

pub mod budget;
pub mod power;
pub mod repeats;
