//! Tests that boot kernels in emulation.

mod guest;
mod guest_isolated;
mod guest_preempt_rt;
mod guest_stamps;
mod guest_tracers;
mod interrupt_stamps;
mod lab;
mod lab_guests;
mod lab_planted;
mod over_ssh;
