//! The machine measured: where an agent runs and how its stream reaches the host. For now this machine.

pub mod local;
