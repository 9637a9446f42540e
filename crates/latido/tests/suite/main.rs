//! The end-to-end tests of the binary, in one program.
//!
//! A test's group is its folder. It says what the test needs from the machine, and `scripts/run-tests` runs the groups at the same time
//! accordingly:
//!
//! - `alone`: it changes the machine's settings, and needs the whole machine.
//! - `measuring`: it measures in real time, or reads the kernel's events; one such test runs at a time.
//! - `guests`: it boots kernels in emulation, whose clocks do not depend on this machine's speed.
//! - `beside`: it runs next to any other test.
//!
//! The locks of `common` keep the groups apart under plain `cargo test`, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod alone {
    //! Tests that change the settings of the machine: each needs the whole machine.

    mod hostile_journal;
    mod isolate;
    mod kill_moment;
    mod tune_kill;
    mod tune_nic;
    mod tune_real;
    mod tune_refused;
    mod tune_turns;
    mod turns;
}
mod beside;
mod common;
mod guests {
    //! Tests that boot kernels in emulation.

    mod guest;
    mod guest_isolated;
    mod guest_tracers;
    mod interrupt_stamps;
    mod lab;
    mod lab_guests;
    mod lab_planted;
    mod over_ssh;
}
mod measuring {
    //! Tests that measure in real time or read the kernel's events: one at a time.

    mod blocks;
    mod calls;
    mod checkpoint;
    mod hog;
    mod hostile_loads;
    mod hostile_outputs;
    mod hostile_programs;
    mod hostile_text;
    mod interference;
    mod interrupt;
    mod interrupt_sources;
    mod looking_on;
    mod measure;
    mod memory;
    mod out_of_band;
    mod periods;
    mod tasks;
    mod trace_ends;
    mod trace_explain;
    mod trace_record;
    mod tracing;
}
