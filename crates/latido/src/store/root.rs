//! Where runs are stored, how they are named, and how latido finds the run that the user names.

use super::runs::{self, ids, runs_dir};
use crate::{config, durable, person::Person};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use latido_model::suggest::closest;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Returns the store: by the flag, then `$LATIDO_STORE`, the configuration, `$XDG_DATA_HOME/latido`, and last `~/.local/share/latido`,
/// where `~` is the home of the user behind sudo.
///
/// # Errors
/// None of them is set, or it names a file.
pub fn root(flag: Option<&Path>) -> Result<PathBuf> {
    let home = Person::behind_sudo().and_then(Person::home);
    let env = |name: &str| std::env::var_os(name);
    let named = flag.is_some() || env("LATIDO_STORE").is_some_and(|value| !value.is_empty());
    let configured = if named { None } else { config::read()?.store };
    let root = root_from(flag.or(configured.as_deref()), env, home)?;
    match root.ancestors().find(|path| path.exists()) {
        Some(path) if path == root && !path.is_dir() => {
            bail!("the store {} is a file, not a directory; name another with --store DIR", root.display())
        }
        Some(path) if !path.is_dir() => {
            let (root, path) = (root.display(), path.display());
            bail!("cannot make the store {root}: {path} is a file, not a directory; name another with --store DIR")
        }
        _ => {}
    }
    Ok(root)
}

fn root_from(
    flag: Option<&Path>,
    env: impl Fn(&str) -> Option<OsString>,
    sudo_home: Option<PathBuf>,
) -> Result<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative XDG_DATA_HOME is invalid and ignored (XDG Base Directory Specification).
    let data = || set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let home = || sudo_home.clone().or_else(|| set("HOME"));
    flag.map(Path::to_path_buf)
        .or_else(|| set("LATIDO_STORE"))
        .or_else(|| data().map(|path| path.join("latido")))
        .or_else(|| home().map(|path| path.join(".local/share/latido")))
        .context("no place to store runs: $HOME is not set; name one with --store DIR or $LATIDO_STORE")
}

/// Makes a directory with an unused name: `20261121T200000Z-quick-k3f9`. Making the directory claims the name.
pub(super) fn claim(root: &Path, plan: &str, now: Timestamp) -> Result<(String, PathBuf)> {
    let all = runs_dir(root);
    durable::make_dirs(&all)?;
    for _ in 0..100 {
        let id = format!("{}-{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), slug(plan), suffix());
        let dir = all.join(&id);
        match durable::make_dir(&dir) {
            Ok(()) => {
                // A directory that is not in the order is not a run, so it is removed.
                runs::begun(root, &id).inspect_err(|_| _ = std::fs::remove_dir(&dir))?;
                return Ok((id, dir));
            }
            Err(error) if durable::kind(&error) == Some(std::io::ErrorKind::AlreadyExists) => {}
            Err(error) => return Err(error),
        }
    }
    bail!("{}: a hundred names for a new run are all taken", all.display())
}

/// Returns the plan's name as a part of a file name.
fn slug(plan: &str) -> String {
    let mut slug = String::new();
    for c in plan.chars().flat_map(char::to_lowercase).take(32) {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "run".into() } else { slug.into() }
}

/// Returns four random characters that are hard to confuse.
fn suffix() -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut bits = durable::unforeseeable();
    let mut text = String::new();
    for _ in 0..4 {
        text.extend(LETTERS.get((bits % 32) as usize).copied().map(char::from));
        bits /= 32;
    }
    text
}

/// Finds the directory of a run by its id, an unambiguous prefix of it, a path, a label, or `last`.
///
/// # Errors
/// No run has the name, or several have it; the error names the nearest.
pub fn find(root: &Path, name: &str) -> Result<PathBuf> {
    let path = Path::new(name);
    let is_run = |dir: &Path| dir.join("run.json").exists() || dir.join("plan.toml").exists();
    if name.contains('/') || name == "." {
        if !is_run(path) {
            bail!("{name}: there is no run (a run's directory contains run.json and plan.toml)");
        }
        return Ok(path.to_path_buf());
    }
    let dir = |id: &str| runs_dir(root).join(id);
    if name == "last" {
        return match runs::newest(root)? {
            Some(id) => Ok(dir(&id)),
            None => bail!("there is no run in {} yet; `latido run` makes one", root.display()),
        };
    }
    let ids = ids(root)?;
    if ids.binary_search_by(|id| id.as_str().cmp(name)).is_ok() {
        return Ok(dir(name));
    }
    let matching: Vec<&String> = ids.iter().filter(|id| !name.is_empty() && id.starts_with(name)).collect();
    match matching[..] {
        [one] => Ok(dir(one)),
        [] if is_run(path) => Ok(path.to_path_buf()),
        [] => {
            if let Some(id) = runs::labelled(root, name)? {
                return Ok(dir(&id));
            }
            let near = closest(name, ids.iter().map(String::as_str));
            let hint = near.map(|id| format!(" (did you mean `{id}`?)")).unwrap_or_default();
            bail!("there is no run `{name}` in {}{hint}; `latido list runs` shows them all", root.display())
        }
        [first, .., last] => {
            bail!(
                "the names of {} runs begin with `{name}`, from {first} to {last}: write more of the name",
                matching.len()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_is_set_wins() {
        let place = |flag: Option<&str>, env: &[(&str, &str)], sudo: Option<&str>| {
            root_from(
                flag.map(Path::new),
                |name| env.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()),
                sudo.map(PathBuf::from),
            )
            .map(|path| path.display().to_string())
        };
        let all = [("LATIDO_STORE", "/s"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(place(Some("/f"), &all, None).unwrap(), "/f");
        assert_eq!(place(None, &all, None).unwrap(), "/s");
        assert_eq!(place(None, &all[1..], None).unwrap(), "/x/latido");
        assert_eq!(place(None, &all[2..], None).unwrap(), "/h/.local/share/latido");
        assert_eq!(place(None, &all[2..], Some("/home/ana")).unwrap(), "/home/ana/.local/share/latido");
        assert_eq!(place(None, &[("XDG_DATA_HOME", "x"), ("HOME", "/h")], None).unwrap(), "/h/.local/share/latido");
        let error = place(None, &[("LATIDO_STORE", "")], None).unwrap_err().to_string();
        assert!(error.contains("--store"), "{error}");
    }

    #[test]
    fn a_file_is_no_store() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = root(Some(file.path())).unwrap_err().to_string();
        assert!(error.ends_with("is a file, not a directory; name another with --store DIR"), "{error}");
        assert!(error.contains(file.path().to_str().unwrap()), "{error}");
        let error = root(Some(&file.path().join("deeper"))).unwrap_err().to_string();
        assert!(error.contains("cannot make") && error.ends_with("--store DIR"), "{error}");
    }

    #[test]
    fn ids_are_claimed_once_and_read_well() {
        let store = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
        let mut names = std::collections::BTreeSet::new();
        for _ in 0..50 {
            let (id, dir) = claim(store.path(), "Quick  Look/…", now).unwrap();
            assert!(dir.is_dir());
            assert!(id.starts_with("20261121T200000Z-quick-look-"), "{id}");
            assert!(names.insert(id));
        }
        assert_eq!(slug("../.."), "run");
    }

    fn store_with(ids: &[&str]) -> tempfile::TempDir {
        let store = tempfile::tempdir().unwrap();
        for id in ids {
            let dir = runs_dir(store.path()).join(id);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("plan.toml"), "").unwrap();
        }
        store
    }

    #[test]
    fn a_run_is_found_by_what_people_type() {
        let (a, b) = ("20261121T200000Z-quick-k3f9", "20261122T200000Z-ramp-00aa");
        let store = store_with(&[a, b, "notes"]);
        let find = |name: &str| find(store.path(), name).map(|p| p.file_name().unwrap().to_str().unwrap().to_string());
        assert_eq!(find(a).unwrap(), a);
        assert_eq!(find("20261121").unwrap(), a);
        assert_eq!(find("last").unwrap(), b);
        assert_eq!(
            super::find(Path::new("/nowhere"), store.path().join("runs").join(a).to_str().unwrap()).unwrap(),
            store.path().join("runs").join(a)
        );
        let error = find("2026112").unwrap_err().to_string();
        assert!(error.contains("2 runs"), "{error}");
        let error = find("20261121T200000Z-quick-k3f8").unwrap_err().to_string();
        assert!(error.contains(a), "{error}");
        for name in ["", "./nothing", "zzz"] {
            assert!(find(name).is_err(), "{name}");
        }
        assert!(super::find(Path::new("/nowhere"), "last").unwrap_err().to_string().contains("latido run"));
    }
}
