//! Tests that boot kernels in emulation.

mod guest;
mod guest_limits;
mod guest_tracers;
mod interrupt_stamps;
mod lab;
mod lab_guests;
