//! The modules of a kernel's package that a guest needs, each after the modules on which it depends.

use super::{sealed, unpack};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The largest size of an unpacked module, bytes.
const MOST: u64 = 256 << 20;

/// A module to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, with `_` where file names have `-`.
    pub name: String,
    /// Its parameters: `io=0x378 irq=7`.
    pub parameters: String,
    /// The unpacked file.
    pub bytes: Vec<u8>,
}

/// Returns the modules in the order in which the guest loads them. Each word of `wanted` is a name and its parameters. A module that is
/// built into the kernel is left out. A kernel without modules has its drivers built in, or does not have them.
///
/// # Errors
/// There is no such module, or its file cannot be read.
pub fn of(tree: Option<&Path>, wanted: &[String]) -> Result<Vec<Module>> {
    let Some(dir) = tree.map(|tree| tree.join("lib/modules")).filter(|dir| dir.is_dir() && !wanted.is_empty()) else {
        return Ok(Vec::new());
    };
    let release = fs::read_dir(&dir)?.flatten().map(|entry| entry.path()).find(|path| path.is_dir());
    let dir = release.with_context(|| format!("{} has no release", dir.display()))?;
    let files = |list: &str| -> Result<BTreeMap<String, PathBuf>> {
        let text = fs::read_to_string(dir.join(list)).with_context(|| format!("{}", dir.join(list).display()))?;
        Ok(text.lines().map(|line| (named(line), dir.join(line))).collect())
    };
    let mut all = All { loaded: files("modules.order")?, built_in: files("modules.builtin")?, order: Vec::new() };
    for word in wanted {
        let (name, parameters) = word.split_once(' ').unwrap_or((word, ""));
        all.add(&name.replace('-', "_"), parameters.trim(), &mut Vec::new())?;
    }
    Ok(all.order)
}

/// Returns the name of a module's path: `kernel/drivers/char/ppdev.ko` is `ppdev`.
fn named(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".ko").unwrap_or(name).replace('-', "_")
}

struct All {
    loaded: BTreeMap<String, PathBuf>,
    built_in: BTreeMap<String, PathBuf>,
    order: Vec<Module>,
}

impl All {
    fn add(&mut self, name: &str, parameters: &str, above: &mut Vec<String>) -> Result<()> {
        if let Some(known) = self.order.iter_mut().find(|module| module.name == name) {
            if !parameters.is_empty() {
                known.parameters = parameters.into();
            }
            return Ok(());
        }
        if self.built_in.contains_key(name) {
            return Ok(());
        }
        let Some(path) = self.loaded.get(name) else { bail!("the kernel's package has no module `{name}`") };
        if above.iter().any(|one| one == name) {
            bail!("the module `{name}` depends on itself");
        }
        let bytes = unpacked(path)?;
        above.push(name.into());
        for one in depends(&bytes) {
            self.add(&one, "", above)?;
        }
        above.pop();
        self.order.push(Module { name: name.into(), parameters: parameters.into(), bytes });
        Ok(())
    }
}

/// Returns the dependencies that a module lists in its section `.modinfo`, which consists of zero-terminated strings.
fn depends(bytes: &[u8]) -> Vec<String> {
    let names = bytes.split(|byte| *byte == 0).find_map(|text| text.strip_prefix(b"depends="));
    let names = String::from_utf8_lossy(names.unwrap_or_default()).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Reads a module's file, unpacked for the kernel.
fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let with = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    if path.exists() {
        return fs::read(path).with_context(|| format!("{}", path.display()));
    }
    for format in unpack::FORMATS {
        let packed = with(format.ending);
        if packed.exists() {
            return format.unpack(sealed::file(&packed)?, MOST).with_context(|| format!("{}", packed.display()));
        }
    }
    bail!("there is no {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a package of modules that do nothing: `top` needs `low-er` and `mid`, `mid` needs `low-er` too, and `in` is built in.
    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let dir = tree.path().join("lib/modules/6.0-test");
        fs::create_dir_all(dir.join("kernel")).unwrap();
        fs::write(dir.join("modules.order"), "kernel/top.ko\nkernel/low-er.ko\nkernel/mid.ko\nkernel/round.ko\n")
            .unwrap();
        fs::write(dir.join("modules.builtin"), "kernel/in.ko\n").unwrap();
        for (name, depends) in [("top", "mid,low-er"), ("mid", "low-er"), ("low-er", ""), ("round", "round")] {
            fs::write(dir.join(format!("kernel/{name}.ko")), format!("\x7fELF\0name={name}\0depends={depends}\0"))
                .unwrap();
        }
        tree
    }

    /// A dependency comes once, before the module that needs it. Parameters stay with their module. A built-in module needs nothing.
    #[test]
    fn what_a_module_needs_is_loaded_before_it() {
        let tree = tree();
        let of = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|word| (*word).to_owned()).collect();
            of(Some(tree.path()), &wanted)
        };
        let told = |wanted: &[&str]| -> Vec<String> {
            of(wanted).unwrap().iter().map(|module| format!("{} {}", module.name, module.parameters)).collect()
        };
        assert_eq!(told(&["in", "top io=1 irq=7", "low-er x"]), ["low_er x", "mid ", "top io=1 irq=7"]);
        assert!(of(&["none"]).unwrap_err().to_string().contains("no module `none`"));
        assert!(of(&["round"]).unwrap_err().to_string().contains("itself"));
        assert_eq!(super::of(None, &["top".into()]).unwrap(), []);
    }

    /// A module packed as Debian packs it gives the same bytes.
    #[test]
    fn a_packed_module_is_unpacked() {
        let tree = tree();
        let path = tree.path().join("lib/modules/6.0-test/kernel/mid.ko");
        let plain = fs::read(&path).unwrap();
        assert!(std::process::Command::new("gzip").arg(&path).status().unwrap().success());
        assert!(!path.exists());
        assert_eq!(unpacked(&path).unwrap(), plain);
    }
}
