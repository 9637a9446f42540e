//! Programs of the host that a guest bears, with their libraries.

use anyhow::{Context, Result, bail, ensure};
use latido_agent::program;
use std::{
    fs::File,
    io::Read,
    path::{Component, Path, PathBuf},
    process::Command,
};

/// A program of the host in a guest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Brought {
    /// Its path there, without the leading slash: where the word that names it leads to from the root.
    pub(super) at: String,
    /// Its file here.
    pub(super) from: PathBuf,
}

impl Brought {
    /// What a word names here; `None` where that is no program.
    ///
    /// # Errors
    /// Others may replace it, or its path leads to no place in a guest.
    pub fn found(word: &str) -> Result<Option<Self>> {
        let Some(found) = program::find(word)? else { return Ok(None) };
        let mut at = PathBuf::new();
        for part in Path::new(word).components() {
            match part {
                Component::Normal(part) => at.push(part),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
                Component::ParentDir => {
                    bail!("`{word}` leads out of the directory, and a guest begins in its root: write the whole path")
                }
            }
        }
        if !word.contains('/') {
            at = Path::new("bin").join(at);
        }
        let at = at.into_os_string().into_string().ok().with_context(|| format!("`{word}` is no text"))?;
        Ok(Some(Self { at, from: found.record().path.into() }))
    }
}

/// Where programs of the system lie.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The libraries of a program, and their loader (ldd(1)).
pub(super) fn libraries(program: &Path) -> Result<Vec<String>> {
    let mut begin = [0; 2];
    let read = File::open(program).and_then(|mut file| file.read_exact(&mut begin));
    ensure!(
        read.is_err() || &begin != b"#!",
        "{} is a script, and a guest has nothing that reads it: name the interpreter's own program, or a compiled one",
        program.display()
    );
    // What a user's environment puts before the system's libraries is not the guest's.
    let output = Command::new("ldd")
        .arg(program)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .output()
        .context("ldd, which finds libraries")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        // A static program has none.
        ensure!(text.contains("not a dynamic") || output.stderr.is_empty(), "ldd {}: {text}", program.display());
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for line in text.lines().map(str::trim) {
        let path = line.split_once(" => ").map_or(line, |(_, path)| path).split(" (").next().unwrap_or_default();
        if path == "not found" {
            bail!("{} needs a library that is not here: {line}", program.display());
        }
        if path.starts_with('/') {
            all.push(path.to_owned());
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    /// A guest has a program where the word that names it leads to: its PATH, a whole path, or its root.
    #[test]
    fn a_program_lies_where_its_word_leads_to() {
        assert_eq!(Brought::found("sh").unwrap().unwrap().at, "bin/sh");
        assert_eq!(Brought::found("/bin/sh").unwrap().unwrap().at, "bin/sh");
        assert_eq!(Brought::found("no-such-program").unwrap(), None);
        assert_eq!(Brought::found("./no-such-program").unwrap(), None);
        let above = Brought::found("/usr/../bin/sh").unwrap_err();
        assert!(above.to_string().contains("whole path"), "{above:#}");
    }

    /// A dynamic program has its loader with it, and a script is refused by name.
    #[test]
    fn a_script_is_no_program_of_a_guest() {
        let libraries_of_sh = libraries(Path::new("/bin/sh")).unwrap();
        assert!(libraries_of_sh.iter().any(|path| path.contains("libc")), "{libraries_of_sh:?}");
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let why = libraries(&script).unwrap_err().to_string();
        assert!(why.contains("script") && why.contains(script.to_str().unwrap()), "{why}");
    }
}
