//! Modules of a kernel's package: those that are asked for, and before each what it depends on.

use super::{sealed, unpack};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A module is no larger when it is unpacked, in bytes.
const MOST: u64 = 256 << 20;

/// A module to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, with `_` where files have `-`.
    pub name: String,
    /// What it is told: `io=0x378 irq=7`.
    pub parameters: String,
    /// Its file, unpacked.
    pub bytes: Vec<u8>,
}

/// The modules in the order in which they are loaded. Each word of `wanted` is a name and its parameters. What is built into
/// the kernel needs none, and a kernel without any has its drivers built in, or not at all.
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

/// `kernel/drivers/char/ppdev.ko` is `ppdev`.
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

/// What a module says in its section `.modinfo` that it depends on: strings with a zero behind each.
fn depends(bytes: &[u8]) -> Vec<String> {
    let names = bytes.split(|byte| *byte == 0).find_map(|text| text.strip_prefix(b"depends="));
    let names = String::from_utf8_lossy(names.unwrap_or_default()).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A module's file as the kernel takes it.
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

    /// A package of modules that do nothing: `top` needs `low-er` and `mid`, which needs it too; `in` is built in.
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

    /// What a module depends on comes before it, once; parameters stay with their module; what is built in needs nothing.
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

    /// Packed as Debian packs it, it is the same module.
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
