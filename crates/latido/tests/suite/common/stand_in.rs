//! The stand-in for Cobalt, the real-time core of Xenomai 3: `crates/sys/examples/cobalt_stand_in`. No kernel of the suite has that core.

use super::{Need, World, skip, stderr};
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

/// The status of the stand-in on a machine that cannot run it.
const CANNOT: i32 = 77;

/// The stand-in. A test has it once it knows that this machine can run it.
pub struct StandIn(PathBuf);

impl StandIn {
    /// Returns the stand-in; `None` if this machine cannot run it, and then the test is noted as skipped.
    pub fn found(what: &str) -> Option<Self> {
        let suite = std::env::current_exe().unwrap();
        // Cargo puts the suite into `deps` and the examples of all crates beside that.
        let program = suite.parent().unwrap().with_file_name("examples").join("cobalt_stand_in");
        if !program.is_file() {
            skip(what, Need::Build, "not built: cargo build -p latido-sys --example cobalt_stand_in");
            return None;
        }
        let tried = Command::new(&program).args(["--", "true"]).output().unwrap();
        match tried.status.code() {
            Some(0) => Some(Self(program)),
            Some(CANNOT) => {
                skip(what, Need::Kernel, &stderr(&tried));
                None
            }
            _ => panic!("{tried:?}"),
        }
    }

    /// Lets a command run with a core that has these faults. The journal of the core is the file `journal` of the world.
    pub fn around(&self, world: &World, faults: &[&str], command: &Command) -> Command {
        let mut around = Command::new(&self.0);
        around.args(faults).arg(format!("journal={}", world.path("journal").display())).arg("--");
        around.arg(command.get_program()).args(command.get_args()).current_dir(world.path(""));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => around.env(name, value),
                None => around.env_remove(name),
            };
        }
        around.stdin(Stdio::null());
        around
    }
}

/// The calls that each thread made of the core, in order. The threads are in the order of their first calls.
pub fn calls(world: &World) -> Vec<Vec<String>> {
    let text = fs::read_to_string(world.path("journal")).unwrap_or_default();
    let mut threads: Vec<(&str, Vec<String>)> = Vec::new();
    for (thread, call) in text.lines().filter_map(|line| line.split_once(' ')) {
        match threads.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, calls)) => calls.push(call.into()),
            None => threads.push((thread, vec![call.into()])),
        }
    }
    threads.into_iter().map(|(_, calls)| calls).collect()
}
