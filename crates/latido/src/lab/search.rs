//! Finds where the system's loader looks for libraries (ld.so(8)), from its configuration files. latido runs nothing for this.

use super::elf::Elf;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The directories that a loader searches without any configuration.
const USUAL: [&str; 5] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

/// How deep configuration files may include each other.
const DEPTH: usize = 8;

/// Returns the directories of the system's libraries, in the loader's order.
pub(super) fn system() -> Vec<PathBuf> {
    let mut all = Vec::new();
    configured(Path::new("/etc/ld.so.conf"), &mut all, DEPTH);
    // musl's loader reads another file: paths separated by colons or line ends.
    let musl = format!("/etc/ld-musl-{}.path", std::env::consts::ARCH);
    let text = fs::read_to_string(musl).unwrap_or_default();
    all.extend(text.split([':', '\n']).map(str::trim).filter(|path| path.starts_with('/')).map(PathBuf::from));
    all.extend(USUAL.map(PathBuf::from));
    all
}

/// Reads what ldconfig(8) reads: one directory per line, and included files.
fn configured(file: &Path, all: &mut Vec<PathBuf>, depth: usize) {
    if depth == 0 {
        return;
    }
    for line in fs::read_to_string(file).unwrap_or_default().lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(pattern) = line.strip_prefix("include ") {
            matching(file, pattern.trim()).iter().for_each(|other| configured(other, all, depth - 1));
        } else if line.starts_with('/') {
            all.push(line.into());
        }
    }
}

/// Returns the files that match a pattern with at most one `*`, in the last part of its path.
fn matching(beside: &Path, pattern: &str) -> Vec<PathBuf> {
    let whole = beside.parent().unwrap_or(Path::new("/")).join(pattern);
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((before, behind)) = name.split_once('*') else { return vec![whole] };
    let dir = whole.parent().unwrap_or(Path::new("/"));
    let fits =
        |name: &str| name.len() >= before.len() + behind.len() && name.starts_with(before) && name.ends_with(behind);
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> =
        files.filter(|file| fits(&file.file_name().to_string_lossy())).map(|file| file.path()).collect();
    all.sort();
    all
}

/// Returns the directories that a file names, with the file's own directory in place of `$ORIGIN`. A path with another variable of the
/// loader is left out.
pub(super) fn origins(paths: &[String], file: &Path) -> Vec<PathBuf> {
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.into());
    let origin = file.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let with = |path: &String| path.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
    paths.iter().map(with).filter(|path| path.starts_with('/') && !path.contains('$')).map(PathBuf::from).collect()
}

/// Returns the first library in these directories that has this name and kind, with its parsed contents.
pub(super) fn first(wanted: &str, mut dirs: impl Iterator<Item = PathBuf>, kind: (u8, u16)) -> Option<(PathBuf, Elf)> {
    let fitting = |path: PathBuf| {
        let regular = fs::metadata(&path).is_ok_and(|what| what.is_file());
        let elf = regular.then(|| Elf::read(&fs::read(&path).ok()?).ok().flatten()).flatten()?;
        (elf.kind == kind).then_some((path, elf))
    };
    match wanted.contains('/') {
        true => fitting(wanted.into()),
        false => dirs.find_map(|dir| fitting(dir.join(wanted))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directories come in the order of the configuration, and included files in the order of their names. A circular include ends.
    #[test]
    fn directories_come_in_the_loaders_order() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        file("ld.so.conf", "/first # of all\ninclude parts-*.conf\ninclude ld.so.conf\n/last\nnowhere\n");
        file("parts-b.conf", "/b\n");
        file("parts-a.conf", "/a\n");
        let mut all = Vec::new();
        configured(&dir.path().join("ld.so.conf"), &mut all, 2);
        let once = ["/first", "/a", "/b", "/last"].map(PathBuf::from);
        assert_eq!(all[..3], once[..3]);
        assert_eq!(all.last(), once.last());
        assert_eq!(
            origins(&["$ORIGIN/lib".into(), "$LIB".into(), "rel".into()], Path::new("/bin/none")),
            [PathBuf::from("/bin/lib")]
        );
    }
}
