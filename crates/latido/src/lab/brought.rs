//! Programs of the host that latido puts into a guest, with their libraries.

use super::{elf::Elf, search};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::program;
use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

/// The most libraries of a program.
const MOST: usize = 1024;

/// A program of the host in a guest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Brought {
    /// Its path in the guest, without the leading slash: the path to which its word leads from the root directory.
    pub(super) at: String,
    /// Its file on the host.
    pub(super) from: PathBuf,
}

impl Brought {
    /// Returns the program that a word names on the host; `None` if there is no such program.
    ///
    /// # Errors
    /// Other users may replace it, or its path leads to no place in a guest.
    pub fn found(word: &str) -> Result<Option<Self>> {
        let Some(found) = program::find(word)? else { return Ok(None) };
        let mut at = PathBuf::new();
        for part in Path::new(word).components() {
            match part {
                Component::Normal(part) => at.push(part),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
                Component::ParentDir => {
                    bail!("`{word}` leads out of the directory, and a guest starts in its root: write the whole path")
                }
            }
        }
        if !word.contains('/') {
            at = Path::new("bin").join(at);
        }
        let at = at.into_os_string().into_string().ok().with_context(|| format!("`{word}` is not text"))?;
        Ok(Some(Self { at, from: found.record().path.into() }))
    }
}

/// Returns the libraries of a program, and its loader, by their paths on the host. latido only reads files; neither the program nor its
/// loader runs. Libraries that the user's environment adds before the system's do not count.
///
/// # Errors
/// The program is a script, cannot be read, or needs a library that the host does not have.
pub(super) fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let bytes = fs::read(program).with_context(|| format!("{}", program.display()))?;
    ensure!(
        !bytes.starts_with(b"#!"),
        "{} is a script, and a guest has no interpreter for it: name the interpreter's own program, or a compiled one",
        program.display()
    );
    let read = |bytes: &[u8]| Elf::read(bytes).with_context(|| format!("{}", program.display()));
    // A file that is not ELF has no libraries; nor has a static program.
    let Some(first) = read(&bytes)? else { return Ok(Vec::new()) };
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    let loader = first.loader.clone().map(PathBuf::from);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    found.extend(loader.map(|path| (name(&path), path)));
    let system = search::system();
    let mut open = vec![(program.to_path_buf(), first.clone())];
    while let Some((from, elf)) = open.pop() {
        for wanted in &elf.needed {
            let short = name(Path::new(wanted));
            if found.contains_key(&short) {
                continue;
            }
            let own = search::origins(&elf.paths, &from);
            let all = own.into_iter().chain(search::origins(&first.paths, program)).chain(system.iter().cloned());
            let there = search::first(wanted, all, first.kind);
            let (path, library) = there.with_context(|| {
                format!("{} needs a library that this machine does not have: {wanted}", program.display())
            })?;
            found.insert(short, path.clone());
            open.push((path, library));
        }
        ensure!(found.len() <= MOST, "{} needs more than {MOST} libraries", program.display());
    }
    Ok(found.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};
    use std::os::unix::fs::PermissionsExt;

    /// A guest has a program at the path to which its word leads: in PATH, at an absolute path, or from the root directory.
    #[test]
    fn a_program_lies_where_its_word_leads_to() {
        assert_eq!(Brought::found("sh").unwrap().unwrap().at, "bin/sh");
        assert_eq!(Brought::found("/bin/sh").unwrap().unwrap().at, "bin/sh");
        assert_eq!(Brought::found("no-such-program").unwrap(), None);
        assert_eq!(Brought::found("./no-such-program").unwrap(), None);
        let above = Brought::found("/usr/../bin/sh").unwrap_err();
        assert!(above.to_string().contains("whole path"), "{above:#}");
    }

    /// Reading alone finds what ldd(1) finds by running the loader.
    #[test]
    fn libraries_are_those_that_the_loader_takes() {
        let said = std::process::Command::new("ldd").arg("/bin/sh").output();
        let Ok(said) = said else {
            return skip("the libraries of a program", Need::Program, "ldd is not installed");
        };
        let text = String::from_utf8(said.stdout).unwrap();
        let line = |line: &str| {
            let path = line.trim().split_once(" => ").map_or(line.trim(), |(_, path)| path);
            path.split(" (").next().filter(|path| path.starts_with('/')).map(|path| fs::canonicalize(path).unwrap())
        };
        let mut expected: Vec<PathBuf> = text.lines().filter_map(line).collect();
        let mut found: Vec<PathBuf> =
            libraries(Path::new("/bin/sh")).unwrap().iter().map(|path| fs::canonicalize(path).unwrap()).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }

    /// A dynamic program brings its loader, and a script is refused by its name.
    #[test]
    fn a_script_is_no_program_of_a_guest() {
        let libraries_of_sh = libraries(Path::new("/bin/sh")).unwrap();
        assert!(libraries_of_sh.iter().any(|path| path.to_string_lossy().contains("libc")), "{libraries_of_sh:?}");
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let why = libraries(&script).unwrap_err().to_string();
        assert!(why.contains("script") && why.contains(script.to_str().unwrap()), "{why}");
    }
}
