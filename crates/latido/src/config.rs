//! `config.toml`: what the user sets once for every command. A flag and an environment variable take precedence.

use crate::person::Person;
use anyhow::{Context, Result, anyhow, ensure};
use latido_model::{cpus::CpuSet, units::Ns};
use serde::Deserialize;
use std::{
    ffi::OsString,
    io::ErrorKind::{NotADirectory, NotFound, PermissionDenied},
    path::{Path, PathBuf},
};

/// The largest file that latido reads, bytes.
const BYTES_MAX: u64 = 64 << 10;

/// The settings of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where runs are kept.
    pub store: Option<PathBuf>,
    /// The limit of a probe for which the user gives none, for example `100us`.
    pub limit: Option<String>,
    /// The CPUs of a probe for which the user gives none, for example `2-3`.
    pub cpus: Option<String>,
}

/// Reads the user's file. Without a file, nothing is set.
///
/// # Errors
/// The file cannot be read, or it contains something that latido does not know.
pub fn read() -> Result<Config> {
    let sudo_home = Person::behind_sudo().and_then(Person::home);
    let home = sudo_home.clone().or_else(|| std::env::var_os("HOME").map(PathBuf::from));
    match place(|name| std::env::var_os(name), sudo_home) {
        Some(path) => read_from(&path, home.as_deref()),
        None => Ok(Config::default()),
    }
}

/// Returns the directory of the user's configuration: `$XDG_CONFIG_HOME/latido`, else `~/.config/latido`, where `~` is the home of the
/// user behind sudo.
pub fn directory() -> Option<PathBuf> {
    directory_from(|name| std::env::var_os(name), Person::behind_sudo().and_then(Person::home))
}

/// Returns the path of the user's file.
fn place(env: impl Fn(&str) -> Option<OsString>, sudo_home: Option<PathBuf>) -> Option<PathBuf> {
    Some(directory_from(env, sudo_home)?.join("config.toml"))
}

fn directory_from(env: impl Fn(&str) -> Option<OsString>, sudo_home: Option<PathBuf>) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = sudo_home.or_else(|| set("HOME")).map(|home| home.join(".config"));
    // A relative XDG_CONFIG_HOME is invalid and ignored (XDG Base Directory Specification).
    let base = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or(home)?;
    Some(base.join("latido"))
}

/// Returns the store that the file names as an absolute path: it does not depend on the directory in which latido starts.
fn absolute(store: &Path, home: Option<&Path>) -> Result<PathBuf> {
    let place = match (store.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => store.to_path_buf(),
    };
    ensure!(place.is_absolute(), "`{}`: write a path that begins with / or ~/", store.display());
    Ok(place)
}

fn read_from(path: &Path, home: Option<&Path>) -> Result<Config> {
    let what = match std::fs::metadata(path) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | PermissionDenied) => {
            return Ok(Config::default());
        }
        what => what.with_context(|| format!("reading {}", path.display()))?,
    };
    // Opening something that is not a regular file may block for ever.
    ensure!(what.is_file(), "{}: not a file; remove it", path.display());
    ensure!(
        what.len() <= BYTES_MAX,
        "{}: larger than {BYTES_MAX} bytes, the most that a configuration may have",
        path.display()
    );
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let text = String::from_utf8(bytes).with_context(|| format!("{}: this is not text (UTF-8)", path.display()))?;
    let mut config: Config = toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        let place = line.map(|line| format!(":{line}")).unwrap_or_default();
        let message = error.message().replace('\n', " ");
        anyhow!("{}{place}: {message}; correct or remove the line", path.display())
    })?;
    let place = |key: &str| format!("{}: {key}", path.display());
    let limit = config.limit.as_deref().map(str::parse::<Ns>).transpose().with_context(|| place("limit"))?;
    ensure!(limit.is_none_or(|limit| limit.0 > 0), "{}: it must be longer than 0", place("limit"));
    config.store = config.store.map(|store| absolute(&store, home)).transpose().with_context(|| place("store"))?;
    config.cpus.as_deref().map(str::parse::<CpuSet>).transpose().map_err(|why| anyhow!("{}: {why}", place("cpus")))?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lies_where_configuration_lies() {
        let place = |env: &[(&str, &str)], sudo: Option<&str>| {
            let found =
                place(|name| env.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()), sudo.map(PathBuf::from));
            found.map(|path| path.display().to_string()).unwrap_or_default()
        };
        assert_eq!(place(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")], None), "/x/latido/config.toml");
        assert_eq!(place(&[("XDG_CONFIG_HOME", "x"), ("HOME", "/h")], None), "/h/.config/latido/config.toml");
        assert_eq!(place(&[("HOME", "/root")], Some("/home/ana")), "/home/ana/.config/latido/config.toml");
        assert_eq!(place(&[], None), "");
    }

    #[test]
    fn a_wrong_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        assert_eq!(read_from(&path, None).unwrap(), Config::default(), "there need not be one");
        std::fs::write(&path, "limit = \"100us\"\nstore = \"/srv/latido\"\n").unwrap();
        let found = read_from(&path, None).unwrap();
        assert_eq!((found.limit.as_deref(), found.store.as_deref()), (Some("100us"), Some(Path::new("/srv/latido"))));
        std::fs::write(&path, "limit = \"100us\"\nlimmit = 3\n").unwrap();
        let error = read_from(&path, None).unwrap_err().to_string();
        assert!(error.contains("config.toml:2: unknown field `limmit`"), "{error}");
        std::fs::write(&path, "limit = \"100\"\n").unwrap();
        assert!(format!("{:#}", read_from(&path, None).unwrap_err()).contains("config.toml: limit: "));
        std::fs::write(&path, "limit = \"0us\"\n").unwrap();
        assert!(read_from(&path, None).unwrap_err().to_string().contains("config.toml: limit: it must be longer"));
        std::fs::write(&path, "store = \"~/runs\"\n").unwrap();
        let store = read_from(&path, Some(Path::new("/home/ana"))).unwrap().store;
        assert_eq!(store.as_deref(), Some(Path::new("/home/ana/runs")));
        for store in ["", "runs"] {
            std::fs::write(&path, format!("store = \"{store}\"\n")).unwrap();
            assert!(format!("{:#}", read_from(&path, None).unwrap_err()).contains("config.toml: store: "));
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(read_from(&path, None).unwrap_err().to_string().contains("not text"));
    }
}
