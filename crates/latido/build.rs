//! The commit for `latido --version`; nothing where the source is no clone.

use std::{path::Path, process::Command};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |words: &[&str]| {
        let told = Command::new("git").arg("-C").arg(&root).args(words).output().ok()?;
        let text = String::from_utf8(told.stdout).ok()?.trim().to_owned();
        (told.status.success() && !text.is_empty()).then_some(text)
    };
    // A source inside of another project's clone has that one's commit, which says nothing of latido.
    let own = git(&["rev-parse", "--show-prefix"]).is_none() && root.join("Cargo.lock").exists();
    let commit = git(&["rev-parse", "--short=8", "HEAD"]).filter(|_| own);
    println!("cargo::rustc-env=LATIDO_COMMIT={}", commit.map(|commit| format!(" ({commit})")).unwrap_or_default());
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={}", root.join(log).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
}
