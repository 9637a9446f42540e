//! The virtual laboratory: kernels booted in plain emulation. Time is counted in instructions, and each guest's answers are a pure function
//! of its image.

pub mod answer;
mod apt;
mod arch;
pub mod board;
mod brought;
pub mod build;
pub mod cache;
mod child;
mod console;
mod elf;
pub mod fetch;
pub mod front;
mod granted;
pub mod image;
mod jobs;
pub mod kernel;
pub mod kernels;
mod life;
mod lookup;
pub mod modules;
pub mod own;
pub mod qemu;
pub mod recipe;
pub mod sealed;
mod search;
mod tree;
mod unpack;
