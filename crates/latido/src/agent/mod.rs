//! The target's side: supervisor and measuring process.

pub mod stage;
