//! Which CPUs latido measures: those that the cpuset allows and that are online, not those of the mask that a process inherits.

use crate::common::{self, Need};

use common::{World, json, root, skip, stderr};
use latido_agent::machine::{Reach, Root, cpusets};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const RUN: &[&str] =
    &["run", "wakeup", "period=1ms", "--policy=other", "-d200ms", "--warmup=50ms", "--no-report", "--json"];

/// The first and the last usable CPU; `None` if there is only one.
fn ends(what: &str) -> Option<(u32, u32)> {
    let usable = Reach::ask().usable;
    let ends = usable.iter().next().zip(usable.iter().last()).filter(|(first, last)| first != last);
    if ends.is_none() {
        skip(what, Need::TwoCpus, "needs two CPUs");
    }
    ends
}

/// Runs a command from a thread that is bound to this CPU, as `taskset -c CPU` would.
fn bound(mut command: Command, cpu: u32) -> Output {
    let bound = std::thread::spawn(move || {
        latido_sys::sched::set_affinity(0, [cpu]).unwrap();
        command.output().unwrap()
    });
    bound.join().unwrap()
}

fn cpus(document: &Value) -> Vec<u64> {
    let series = document["records"][0]["series"].as_array().unwrap();
    series.iter().map(|one| one["cpu"].as_u64().unwrap()).collect()
}

#[test]
fn an_inherited_mask_binds_neither_a_named_cpu_nor_the_default() {
    let Some((first, last)) = ends("measuring beyond an inherited mask") else { return };
    let world = World::new();
    let other = format!("-c{last}");
    let document = json(&bound(world.latido(RUN.iter().copied().chain([other.as_str()])), first), 0);
    assert_eq!(cpus(&document), [u64::from(last)]);
    let quality = &document["records"][0]["quality"];
    assert_eq!(quality["policy_refused"], Value::Null, "{quality}");
    assert_eq!(quality["housekeeping"], first.to_string().as_str(), "its own work stays where it was started");
    let document = json(&bound(world.latido(RUN.iter().copied()), first), 0);
    let all: Vec<u64> = Reach::ask().usable.iter().map(u64::from).collect();
    assert_eq!(cpus(&document), all);
    // The machine's usable CPUs in the record do not depend on the inherited mask.
    assert_eq!(document["records"][0]["machine"]["cpu"]["usable"], Reach::ask().usable.to_string().as_str());
    // On its start CPU, when that is measured, latido may not do its own work.
    let here = format!("-c{first}");
    let document = json(&bound(world.latido(RUN.iter().copied().chain([here.as_str()])), first), 0);
    let rest = document["records"][0]["quality"]["housekeeping"].as_str().unwrap().to_owned();
    assert!(!rest.is_empty() && rest != first.to_string(), "{rest}");
    world.nothing_left("after runs from one CPU");
}

/// A control group with one CPU, removed on drop.
struct Group(PathBuf);

impl Group {
    fn make(cpu: u32) -> Result<Self, String> {
        let place = cpusets::find(&Root::default()).map_err(|error| format!("{error:#}"))?;
        let (dir, old) = match place {
            cpusets::Hierarchy::V1 { dir } => (dir, true),
            cpusets::Hierarchy::V2 { dir } => (dir, false),
        };
        let group = Self(Path::new(&dir).join(format!("latido-reach-{}", std::process::id())));
        let write = |file: &str, text: &str| {
            fs::write(group.0.join(file), text).map_err(|error| format!("{}: {error}", group.0.join(file).display()))
        };
        fs::create_dir(&group.0).map_err(|error| format!("{}: {error}", group.0.display()))?;
        if old {
            write("cpuset.mems", fs::read_to_string(Path::new(&dir).join("cpuset.mems")).unwrap().trim())?;
        }
        write("cpuset.cpus", &cpu.to_string())?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_cpuset_binds_and_the_first_line_says_so() {
    if !root("a cpuset of one CPU") {
        return;
    }
    let Some((first, last)) = ends("a cpuset of one CPU") else { return };
    let world = World::new();
    let group = match Group::make(first) {
        Ok(group) => group,
        Err(why) => return skip("a cpuset of one CPU", Need::ControlGroups, &why),
    };
    let inside = |more: &[&str]| {
        let words: Vec<&str> = RUN.iter().copied().chain(more.iter().copied()).collect();
        let plain = world.latido(words.iter().copied());
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ >\"$0\" && exec \"$@\""]).arg(group.0.join("cgroup.procs"));
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(world.dir.path());
        plain.get_envs().for_each(|(key, value)| match value {
            Some(value) => _ = command.env(key, value),
            None => _ = command.env_remove(key),
        });
        command.output().unwrap()
    };
    let output = inside(&[]);
    assert_eq!(cpus(&json(&output, 0)), [u64::from(first)]);
    let name = group.0.file_name().unwrap().to_str().unwrap();
    let told = stderr(&output);
    let line = told.lines().next().unwrap_or_default();
    assert!(
        line.contains(", without CPU ") && line.contains(&format!("(outside of latido's cpuset /{name})")),
        "{told}"
    );
    let refused = inside(&[&format!("-c{last}")]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    let why = format!("CPU {last} is outside of latido's cpuset /{name}; latido can measure CPUs {first}");
    assert!(stderr(&refused).contains(&why), "{}", stderr(&refused));
    world.nothing_left("after runs in a cpuset");
}
