//! The user's own kernels: TOML files with the keys of the shipped ones. Files in the user's directory give names to kernels, and a plan
//! may name any other file by its path.

use super::{
    kernel::{Kernel, Origin, read, shipped},
    lookup::among,
    sealed,
};
use crate::config;
use anyhow::{Context, Result, anyhow, ensure};
use latido_agent::program;
use latido_model::{
    cell::RUNNING,
    plan::source::{Place, Problem},
};
use std::{
    ffi::OsStr,
    fs,
    io::{
        ErrorKind::{NotADirectory, NotFound, PermissionDenied},
        Read,
    },
    path::{Path, PathBuf},
};

/// The largest file that latido reads, bytes.
const BYTES_MAX: u64 = 64 << 10;

/// The longest name of a kernel in a plan, in letters.
const NAME_MAX: usize = 64;

/// The ending of a kernel's file.
const ENDING: &str = ".toml";

/// Returns the directory with the user's kernels: `$XDG_CONFIG_HOME/latido/kernels`, else `~/.config/latido/kernels`. It need not exist.
pub fn directory() -> Option<PathBuf> {
    Some(config::directory()?.join("kernels"))
}

/// Returns the names of the kernels in a directory, without reading their files.
pub fn names(directory: &Path) -> Vec<String> {
    files(directory).unwrap_or_default().iter().filter_map(|file| name_of(file).ok()).collect()
}

/// Reads the kernels of a directory and adds them to these, in the order of their names.
///
/// # Errors
/// A file describes no kernel, or takes a name that another kernel has: a [`Problem`].
pub(super) fn add(all: &mut Vec<Kernel>, directory: &Path) -> Result<()> {
    for file in files(directory)? {
        let kernel = file_of(&file, &name_of(&file)?, all)?;
        all.push(kernel);
    }
    Ok(())
}

/// Returns the kernel that a file describes, with the file's path as its name.
///
/// # Errors
/// The file cannot be read, describes no kernel, or has the name of a shipped one.
pub(super) fn at(file: &Path) -> Result<Kernel> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Kernel { name: file.display().to_string(), ..file_of(file, &name, &shipped()?)? })
}

/// Splits the name of a kernel that is a file's path into the path and the boards after it; `None` if it is no such name.
///
/// # Errors
/// Boot parameters follow the path, as they may follow the path of a kernel's image.
pub(super) fn described(name: &str) -> Result<Option<(&str, Vec<&str>)>> {
    let (path, parameters) = name.split_once(':').map_or((name, None), |(path, words)| (path, Some(words)));
    let found = match path.rsplit_once(".toml+") {
        _ if path.ends_with(ENDING) => Some((path, Vec::new())),
        Some((before, boards)) if !boards.contains('/') => {
            Some((path.get(..before.len() + ENDING.len()).unwrap_or_default(), boards.split('+').collect()))
        }
        _ => None,
    };
    if let (Some((file, _)), Some(words)) = (&found, parameters) {
        let message =
            format!("boot parameters do not follow the path of such a file: write append = \"{words}\" into it");
        return Err(Place::whole(file).problem(message).into());
    }
    Ok(found)
}

/// Returns the kernels' files of a directory, in the order of their names. Editors keep hidden files there, which are no kernels.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | PermissionDenied) => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("the directory of your kernels, {}", directory.display()))?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.ends_with(ENDING.as_bytes()) && !name.starts_with(b".")
    };
    let mut files: Vec<PathBuf> = paths.into_iter().filter(is_one).collect();
    files.sort();
    Ok(files)
}

/// Returns the name that a file of the user's directory gives to its kernel.
fn name_of(file: &Path) -> Result<String, Problem> {
    let stem = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let is_plain = stem.len() <= NAME_MAX
        && stem.starts_with(|c: char| c.is_ascii_alphanumeric())
        && stem.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let is_taken = stem == RUNNING || stem.starts_with("linux-image-") || stem.ends_with(ENDING);
    if is_plain && !is_taken {
        return Ok(stem.to_owned());
    }
    Err(Place::whole(&file.display().to_string()).problem(
        "the name of this file cannot be the name of a kernel: rename it to at most 64 letters, digits, `.`, `_` and `-`, but not `running` or \
         `linux-image-...`",
    ))
}

/// Reads a kernel's file. None of its names may belong to one of these kernels.
fn file_of(file: &Path, name: &str, all: &[Kernel]) -> Result<Kernel> {
    let shown = file.display().to_string();
    let (kernel, place) = read(name, &shown, &text(file)?)?;
    for name in kernel.names() {
        let Ok(Some(other)) = among(all, name) else { continue };
        let (at, what, remedy) = match kernel.name == name {
            true => (Place::whole(&shown), "the kernel of this file has the name", "rename the file"),
            false => (place("stands_for"), "`stands_for` has the name", "remove the name here"),
        };
        let theirs = match &other.origin {
            Origin::Shipped(file) => format!("{file}, which comes with latido"),
            origin => origin.shown(),
        };
        let message = format!("{what} `{name}`, and so has the kernel of {theirs}: {remedy}");
        return Err(at.problem(message).into());
    }
    let origin = Origin::Own { file: file.into(), image: kernel.image.is_some().then(|| place("image")) };
    // An absolute path stays as it is.
    let image = kernel.image.as_ref().map(|image| file.parent().unwrap_or(Path::new("")).join(image));
    Ok(Kernel { image, origin, ..kernel })
}

fn text(file: &Path) -> Result<String> {
    let opened = sealed::file(file).context("the file of a kernel")?;
    // The file has options of QEMU, and QEMU writes what they say.
    program::out_of_reach(file)
        .with_context(|| format!("latido as root boots no kernel whose file others may change: {}", file.display()))?;
    let mut bytes = Vec::new();
    opened.take(BYTES_MAX + 1).read_to_end(&mut bytes).with_context(|| format!("reading {}", file.display()))?;
    let most = BYTES_MAX >> 10;
    ensure!(bytes.len() as u64 <= BYTES_MAX, "{}: larger than {most} KiB: a kernel's file is TOML", file.display());
    String::from_utf8(bytes).map_err(|_| anyhow!("{}: this is not text (UTF-8)", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{
        arch::Arch,
        kernels::{all_with, named_with},
    };
    use latido_model::machine::{CoreKind, Model};

    /// A directory with these files. Each file `vmlinuz` is a kernel as far as latido looks at it.
    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut image = vec![0; 4096];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        fs::write(dir.path().join("vmlinuz"), image).unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    const MINE: &str = "about = \"mine\"\narch = \"x86_64\"\nimage = \"vmlinuz\"\n";

    /// Returns the error about a directory's kernels, with `DIR` in place of the directory.
    fn refused(files: &[(&str, &str)]) -> String {
        let dir = directory(files);
        let error = all_with(Some(dir.path())).unwrap_err();
        assert!(error.is::<Problem>(), "{error:#}");
        format!("{error:#}").replace(&dir.path().display().to_string(), "DIR")
    }

    /// A file of the directory is a kernel like a shipped one: by its name or a system's, with boards and boot parameters. A relative image
    /// lies beside the file, wherever latido runs. Other files are none.
    #[test]
    fn kernels_of_the_directory_have_names() {
        let text =
            format!("{MINE}append = \"quiet\"\npreemption = \"full\"\ncore = \"evl\"\nstands_for = [\"dual\"]\n");
        let dir = directory(&[("my-evl.toml", &text), (".#other.toml", "?"), ("notes.txt", "?")]);
        let named = |name: &str| named_with(name, Some(dir.path()));
        for name in ["my-evl", "dual", "my-evl+net"] {
            let kernel = named(name).unwrap();
            assert_eq!((kernel.image.as_deref(), &*kernel.append), (Some(&*dir.path().join("vmlinuz")), "quiet"));
            assert_eq!((kernel.preemption, kernel.core), (Some(Model::Full), Some(CoreKind::Evl)));
            assert_eq!(kernel.origin.shown(), dir.path().join("my-evl.toml").display().to_string());
        }
        assert_eq!(named("my-evl+net").unwrap().board.devices.len(), 2);
        assert_eq!(named("my-evl+multi-cpu").unwrap().board.cpus(), 2);
        assert!(named("6.12-rt").is_ok_and(|kernel| kernel.origin.shown() == "kernels/6.12-rt.toml"));
        assert!(named("my-elv").unwrap_err().to_string().contains("did you mean `my-evl`"));
        assert_eq!(names(dir.path()), ["my-evl"]);
        let nowhere = dir.path().join("nowhere");
        assert_eq!(all_with(Some(&nowhere)).unwrap().len(), shipped().unwrap().len());
    }

    /// A path that ends in `.toml` names the kernel that the file describes, also without a slash, and boards may follow it.
    #[test]
    fn a_path_names_a_kernel() {
        let dir = directory(&[("a.toml", MINE)]);
        let path = dir.path().join("a.toml").display().to_string();
        let named = |name: &str| named_with(name, None);
        let kernel = named(&path).unwrap();
        assert_eq!(
            (kernel.name, kernel.image, kernel.arch),
            (path.clone(), Some(dir.path().join("vmlinuz")), Arch::X86_64)
        );
        let kernel = named(&format!("{path}+net+multi-cpu")).unwrap();
        assert_eq!((kernel.name, kernel.board.devices.len()), (format!("{path}+net+multi-cpu"), 2));
        assert!(named(&format!("{path}+nut")).unwrap_err().to_string().contains("no board `nut`"));
        let parameters = named(&format!("{path}:quiet")).unwrap_err().to_string();
        assert!(
            parameters.contains("a.toml: boot parameters") && parameters.contains("append = \"quiet\""),
            "{parameters}"
        );
        assert!(format!("{:#}", named("none.toml").unwrap_err()).contains("none.toml: No such file"));
        for other in ["path/vmlinuz", "path/vmlinuz:init=/a.toml", "d.toml+net/vmlinuz", "6.12-rt+net"] {
            assert_eq!(described(other).unwrap(), None, "{other}");
        }
    }

    /// Two kernels never share a name. The error names both files.
    #[test]
    fn a_name_belongs_to_one_kernel() {
        let told = refused(&[("6.12-rt.toml", MINE)]);
        assert!(told.starts_with("DIR/6.12-rt.toml: the kernel of this file has the name `6.12-rt`"), "{told}");
        assert!(told.contains("kernels/6.12-rt.toml, which comes with latido: rename the file"), "{told}");
        assert!(refused(&[("built-rt-arm64.toml", MINE)]).contains("kernels/built-rt.toml"), "a twin is a kernel too");
        let told = refused(&[("a.toml", &format!("{MINE}stands_for = [\"preempt-rt\"]\n"))]);
        assert!(told.starts_with("DIR/a.toml:4: `stands_for` has the name `preempt-rt`, and so has"), "{told}");
        assert!(told.contains("kernels/6.12-rt.toml"), "{told}");
        let told = refused(&[("a.toml", MINE), ("b.toml", &format!("{MINE}stands_for = [\"a\"]\n"))]);
        assert!(told.starts_with("DIR/b.toml:4: ") && told.contains("the kernel of DIR/a.toml: remove"), "{told}");
        for name in ["running", "linux-image-6.12", "a+net", "a b", "-a", "a.toml", &"a".repeat(65)] {
            let told = refused(&[(&format!("{name}.toml"), MINE)]);
            assert!(told.contains(&format!("DIR/{name}.toml: the name of this file cannot")), "{told}");
        }
        let dir = directory(&[("6.12-rt.toml", MINE)]);
        let path = dir.path().join("6.12-rt.toml").display().to_string();
        assert!(named_with(&path, None).unwrap_err().to_string().contains("kernels/6.12-rt.toml"), "by its path too");
    }

    /// Whatever is wrong in a file, the error names the file, the line and what to do.
    #[test]
    fn a_wrong_line_is_named() {
        for (text, told) in [
            (
                "about = \"a\"\narch = \"x86_64\"\nimage = \"i\"\ncore = \"rtai\"\n",
                ":4: unknown variant `rtai`, expected `evl` or",
            ),
            ("about = \"a\"\nfoo = 1\n", ":2: unknown field `foo`"),
            ("about = \"a\"\narch = \"riscv64\"\n", ":2: unknown variant `riscv64`"),
            ("about = \"a\"\n\narch = \n", ":3: "),
            (
                "about = \"a\"\narch = \"x86_64\"\nimage = \"i\"\ndebian = \"d\"\n",
                ":3: the kernel `k` must name one of",
            ),
            ("about = \"a\"\narch = \"x86_64\"\n", ": the kernel `k` must name one of `debian`, `image` and `build`"),
            ("arch = \"x86_64\"\nimage = \"i\"\n", ":1: missing field `about`"),
        ] {
            let error = refused(&[("k.toml", text)]);
            assert!(error.starts_with(&format!("DIR/k.toml{told}")), "{error}");
        }
        let dir = directory(&[
            ("k.toml", &MINE.replace("vmlinuz", "no/such")),
            ("l.toml", &MINE.replace("vmlinuz", "k.toml")),
        ]);
        let told = |name: &str| {
            let error = named_with(name, Some(dir.path())).unwrap_err();
            assert!(error.is::<Problem>(), "{error:#}");
            error.to_string().replace(&dir.path().display().to_string(), "DIR")
        };
        assert!(told("k").starts_with("DIR/k.toml:3: the image: DIR/no/such: No such file"), "{}", told("k"));
        assert!(told("l").starts_with("DIR/l.toml:3: the image: DIR/k.toml is not a kernel for a PC"), "{}", told("l"));
        assert_eq!(all_with(Some(dir.path())).unwrap().len(), shipped().unwrap().len() + 2, "latido can list them");
        let large = directory(&[("k.toml", &"#\n".repeat(40 << 10))]);
        assert!(all_with(Some(large.path())).unwrap_err().to_string().contains("k.toml: larger than 64 KiB"));
    }

    /// latido reads the example of the document, and the page has every key of a kernel's file.
    #[test]
    fn the_document_s_example_is_a_kernel() {
        let page = include_str!("../../../../docs/lab.md");
        let section = page.split("### Kernels of your own").nth(1).unwrap();
        let example = section.split("```").nth(1).unwrap().trim_start_matches("toml");
        let (kernel, _) = read("my-evl", "docs/lab.md", example).unwrap();
        assert_eq!((kernel.core, kernel.preemption), (Some(CoreKind::Evl), Some(Model::Full)));
        assert_eq!(kernel.image.as_deref(), Some(Path::new("bzImage-6.6-evl")));
        let wrong = read("k", "k.toml", "zzz = 1").err().unwrap().to_string();
        let keys = wrong.split('`').skip(3).step_by(2).map(|key| format!("`{key}`"));
        let missing: Vec<String> = keys.filter(|key| !page.contains(key) && key != "`board`").collect();
        assert_eq!(missing, Vec::<String>::new(), "{wrong}");
    }
}
