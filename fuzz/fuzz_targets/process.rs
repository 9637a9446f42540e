//! Any content of a process's files under /proc and of its control group's: latido reports or refuses the process, as text and as JSON.
//! Pieces end with 0xff; the first byte of each names the file.
#![no_main]

use latido_agent::{check, machine::Root};
use latido_model::check::Fitness;
use latido_report::{check as page, terminal::Style};
use libfuzzer_sys::fuzz_target;
use std::{fs, path::PathBuf, sync::LazyLock};

const FILES: [&str; 16] = [
    "proc/77/status",
    "proc/77/stat",
    "proc/77/comm",
    "proc/77/cmdline",
    "proc/77/timerslack_ns",
    "proc/77/task/77/stat",
    "proc/77/task/77/status",
    "proc/77/task/77/cgroup",
    "proc/77/task/78/stat",
    "proc/77/task/78/status",
    "proc/77/task/78/cgroup",
    "proc/78/timerslack_ns",
    "sys/fs/cgroup/a/cpu.max",
    "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
];

static DIR: LazyLock<PathBuf> = LazyLock::new(|| latido_fuzz::scratch("process"));

fuzz_target!(|bytes: &[u8]| {
    let mut written = Vec::new();
    for piece in bytes.split(|byte| *byte == 0xff).take(12) {
        let Some((which, content)) = piece.split_first() else { continue };
        let path = DIR.join(FILES[usize::from(*which) % FILES.len()]);
        fs::create_dir_all(path.parent().expect("a directory")).expect("memory");
        fs::write(&path, content).expect("memory");
        written.push(path);
    }
    let root = Root::new(DIR.as_path());
    let style = Style { width: 80, color: true };
    for word in ["77", "motor"] {
        let Ok((process, points)) = check::process(&root, word) else { continue };
        let _ = page::process::table(&process, &points, style);
        let text = page::json(page::Examined::Process(&process), &points);
        let document: serde_json::Value = serde_json::from_str(&text).expect("one document");
        assert_eq!(document["exit"], Fitness::of(&points).exit_code(), "{text}");
    }
    for path in written {
        let _ = fs::remove_file(path);
    }
});
