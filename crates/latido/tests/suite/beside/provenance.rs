//! What a record keeps about the machine: weaknesses and mitigations, limits, and the whole kernel configuration, stored once.

use crate::common::{self, Need};

use common::{World, json, skip};
use latido_model::machine::KernelConfig;
use std::{fs, path::Path, process::Command};

#[test]
fn the_whole_kernel_configuration_is_kept_once_under_its_hash() {
    let world = World::new();
    let run = ["run", "null", "samples=1000", "--repeat", "3", "--no-report", "--json"];
    let document = json(&world.run(run), 0);
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 3);
    let Some(hash) = records[0]["machine"]["config"]["sha256"].as_str() else {
        return skip("the kernel's configuration", Need::Kernel, "it is not readable here");
    };
    assert!(records.iter().all(|record| record["machine"]["config"]["sha256"] == hash));
    let dir = world.runs().remove(0);
    let names = || {
        let all = fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
        all.filter(|name| name.starts_with("config-")).collect::<Vec<_>>()
    };
    assert_eq!(names(), [KernelConfig::file(hash)], "once, not for each of three cells");
    let packed = dir.join(KernelConfig::file(hash));
    let unpacked = Command::new("gzip").arg("-dc").arg(&packed).output().unwrap();
    assert!(unpacked.status.success());
    let sum = Command::new("sh").args(["-c", "gzip -dc \"$0\" | sha256sum"]).arg(&packed).output().unwrap();
    assert!(String::from_utf8_lossy(&sum.stdout).starts_with(hash), "{hash}: {sum:?}");
    let text = String::from_utf8(unpacked.stdout).unwrap();
    assert!(text.lines().filter(|line| line.starts_with("CONFIG_")).count() > 100, "{} bytes", text.len());
    let shown = world.run(["show", "--full", "last"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.split_whitespace().any(|word| word.trim_end_matches(')') == hash), "{shown}");
}

#[test]
fn mitigations_and_limits_are_recorded_and_printed() {
    let world = World::new();
    let document = json(&world.run(["run", "null", "samples=1000", "--no-report", "--json"]), 0);
    let machine = &document["records"][0]["machine"];
    let weaknesses = Path::new("/sys/devices/system/cpu/vulnerabilities");
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    match fs::read_dir(weaknesses) {
        Err(_) => skip("weaknesses of the processor", Need::Kernel, "this kernel does not list them"),
        Ok(files) => {
            for name in files.flatten().map(|file| file.file_name().into_string().unwrap()) {
                let state = fs::read_to_string(weaknesses.join(&name)).unwrap();
                assert_eq!(machine["cpu"]["vulnerabilities"][&name], state.trim(), "{name}");
                assert!(state.starts_with("Not affected") || shown.contains(&format!("{name}:")), "{name}: {shown}");
            }
        }
    }
    let limits = &machine["limits"];
    assert!(
        limits["rtprio"].is_string() && limits["memlock"].is_string() && limits["seccomp"].is_boolean(),
        "{limits}"
    );
    assert_eq!(machine["cpu"]["usable"], latido_agent::machine::Reach::ask().usable.to_string().as_str());
    for row in ["microcode", "vulnerabilities", "CPUs usable", "limits of CPU time", "limits of memory", "cpuset"] {
        assert!(shown.contains(&format!("\n  {row} ")), "{row}: {shown}");
    }
}
