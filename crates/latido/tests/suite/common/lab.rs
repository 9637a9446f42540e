//! What the tests of the virtual laboratory share: available kernels, a short measurement, the files that a guest delivered.

use crate::common::{Need, World, installed, skip, stderr};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

/// The kernel that boots here; `None` if it is not available, which the test notes.
pub fn kernel(name: &str, what: &str) -> Option<PathBuf> {
    let emulator = match name.rsplit('-').next() {
        Some("arm64") => "qemu-system-aarch64",
        Some("armhf") => "qemu-system-arm",
        _ => "qemu-system-x86_64",
    };
    if !installed(emulator, what) {
        return None;
    }
    let world = World::new();
    // If the package is already in the cache, latido does not use the network.
    let fetched = world.run(["lab", "fetch", name]);
    if fetched.status.code() != Some(0) {
        skip(what, Need::Qemu, stderr(&fetched).trim());
        return None;
    }
    let said = String::from_utf8(fetched.stdout).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    let cache = std::env::var_os("LATIDO_LAB").map(PathBuf::from).or_else(|| {
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
        Some(std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?.join("latido/lab"))
    });
    let boot = cache.unwrap().join("kernels").join(format!("{}_{}", words[1], words[2])).join("boot");
    let mut files = fs::read_dir(&boot).unwrap().flatten().map(|file| file.path());
    Some(files.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("vmlinuz-")).unwrap())
}

/// The words of a short measurement in the laboratory.
pub fn run<'a>(kernel: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "wakeup", "-d", "100ms", "--on", "lab", "--kernel", kernel, "--seed", "3"], more].concat()
}

pub fn refused(output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    words.iter().for_each(|word| assert!(said.contains(word), "no `{word}` in: {said}"));
}

/// The guests' files of a run, by cell and name: all except what the host wrote.
pub fn measured(run: &Path) -> BTreeMap<String, BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for cell in fs::read_dir(run.join("cells")).unwrap().flatten().map(|entry| entry.path()) {
        let files = fs::read_dir(&cell).unwrap().flatten().map(|entry| entry.path());
        // A host that was killed may have left a directory into which it was storing.
        let own = files.filter(|path| path.is_file() && !path.ends_with("host.json"));
        let own = own.map(|path| (name(&path), fs::read(&path).unwrap())).collect::<BTreeMap<_, _>>();
        if own.contains_key("record.json") {
            all.insert(name(&cell), own);
        }
    }
    all
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The record of a run's first cell.
pub fn record(run: &Path) -> serde_json::Value {
    serde_json::from_slice(&measured(run).values().next().unwrap()["record.json"]).unwrap()
}
