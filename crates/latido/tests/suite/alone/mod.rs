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
