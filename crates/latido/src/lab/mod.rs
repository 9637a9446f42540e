//! The virtual laboratory: kernels booted in plain emulation, with time counted in instructions, each guest's answers a pure
//! function of its image.

pub mod answer;
pub mod cache;
pub mod fetch;
pub mod front;
pub mod image;
mod jobs;
pub mod kernel;
pub mod qemu;
