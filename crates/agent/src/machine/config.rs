//! The running kernel's configuration: the options that decide about latency.

use super::Root;
use flate2::read::GzDecoder;
use latido_model::machine::{DEBUGGING, KernelConfig};
use std::{
    collections::BTreeMap,
    io::{BufReader, Read},
};

/// The important options without `CONFIG_`, except the debugging ones.
const SELECTED: &[&str] = &[
    "CPUSETS",
    "CPU_ISOLATION",
    "FUNCTION_TRACER",
    "FUTEX_PI",
    "HIGH_RES_TIMERS",
    "HWLAT_TRACER",
    "HZ",
    "IRQ_FORCED_THREADING",
    "NO_HZ_FULL",
    "NO_HZ_IDLE",
    "OSNOISE_TRACER",
    "PREEMPT",
    "PREEMPT_DYNAMIC",
    "PREEMPT_LAZY",
    "PREEMPT_NONE",
    "PREEMPT_RCU",
    "PREEMPT_RT",
    "PREEMPT_RT_FULL",
    "PREEMPT_VOLUNTARY",
    "RCU_BOOST",
    "RCU_NOCB_CPU",
    "RT_GROUP_SCHED",
    "RT_GROUP_SCHED_DEFAULT_DISABLED",
    "RT_MUTEXES",
    "SCHED_AUTOGROUP",
    "SCHED_INFO",
    "TIMERLAT_TRACER",
];

/// The most bytes of a configuration: no kernel has a longer one.
const LONGEST: u64 = 8 << 20;

/// Returns the important options from the running kernel's configuration, and the hash of the whole.
pub fn config(root: &Root, release: &str) -> Option<KernelConfig> {
    let (source, text) = whole(root, release)?;
    let options = select(&text)?;
    Some(KernelConfig { source, sha256: Some(KernelConfig::hash(&text)), options })
}

/// Returns the running kernel's configuration as it was built: a file of some hundred KiB.
pub fn config_text(root: &Root) -> Option<String> {
    let release = root.read("proc/sys/kernel/osrelease")?;
    String::from_utf8(whole(root, &release)?.1).ok()
}

/// Reads /proc/config.gz, or the file that the distribution keeps for exactly this release. Returns its path and text.
fn whole(root: &Root, release: &str) -> Option<(String, Vec<u8>)> {
    let read = |mut file: &mut dyn Read| {
        let mut text = Vec::new();
        // A compressed file that breaks off must not read as "everything off".
        (&mut file).take(LONGEST).read_to_end(&mut text).ok()?;
        select(&text).map(|_| text)
    };
    let source = "/proc/config.gz";
    if let Ok(file) = root.open(source)
        && let Some(text) = read(&mut GzDecoder::new(BufReader::new(file)))
    {
        return Some((source.into(), text));
    }
    // The release is used as a file name: one with a slash would be an attack.
    if release.is_empty() || release.contains('/') {
        return None;
    }
    let places = [
        format!("/boot/config-{release}"),
        format!("/usr/lib/modules/{release}/config"),
        format!("/lib/modules/{release}/config"),
    ];
    places.into_iter().find_map(|source| {
        let text = read(&mut root.open(&source).ok()?)?;
        Some((source, text))
    })
}

/// Selects the wanted options; `None` if the text is not a kernel configuration.
fn select(text: &[u8]) -> Option<BTreeMap<String, String>> {
    let wanted = || SELECTED.iter().copied().chain(DEBUGGING.iter().map(|(option, _)| *option));
    let mut options: BTreeMap<String, String> = wanted().map(|option| (option.into(), "n".into())).collect();
    let mut settings = 0u32;
    for (option, value) in text.split(|byte| *byte == b'\n').filter_map(setting) {
        settings += 1;
        if let Some(slot) = options.get_mut(option) {
            value.clone_into(slot);
        }
    }
    (settings > 0).then_some(options)
}

/// Parses `CONFIG_HZ=250` as (`HZ`, `250`).
fn setting(line: &[u8]) -> Option<(&str, &str)> {
    let line = line.strip_prefix(b"CONFIG_")?;
    std::str::from_utf8(line).ok()?.trim_end().split_once('=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::machine::Cost;

    const TEXT: &str = "#\n# Linux\n#\nCONFIG_HZ=250\nCONFIG_PREEMPT_RT=y\n# CONFIG_KCSAN is not set\nCONFIG_LOCKDEP=y\nCONFIG_LOCKDEP_BITS=15\n";

    #[test]
    fn reads_set_and_unset_options() {
        let options = select(TEXT.as_bytes()).unwrap();
        let config = KernelConfig { options, ..KernelConfig::default() };
        assert_eq!(config.options["HZ"], "250");
        assert_eq!(config.is_on("PREEMPT_RT"), Some(true));
        assert_eq!(config.is_on("KCSAN"), Some(false));
        assert_eq!(config.is_on("LOCKDEP_BITS"), None);
        assert_eq!(config.debugging().collect::<Vec<_>>(), [("LOCKDEP", Cost::Heavy)]);
    }

    #[test]
    fn a_file_that_is_no_configuration_is_not_taken_for_one() {
        assert_eq!(select("hello\n".as_bytes()), None);
        assert_eq!(select(&[][..]), None);
        // A compressed file that breaks off must not read as "everything off".
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, TEXT.repeat(100).as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sys/kernel")).unwrap();
        std::fs::write(dir.path().join("proc/sys/kernel/osrelease"), "6.1.0\n").unwrap();
        std::fs::write(dir.path().join("proc/config.gz"), &packed).unwrap();
        assert_eq!(config_text(&root).unwrap(), TEXT.repeat(100));
        assert_eq!(config(&root, "6.1.0").unwrap().sha256, Some(KernelConfig::hash(TEXT.repeat(100).as_bytes())));
        std::fs::write(dir.path().join("proc/config.gz"), &packed[..packed.len() / 2]).unwrap();
        assert_eq!((config_text(&root), config(&root, "6.1.0")), (None, None));
    }

    #[test]
    fn prefers_the_running_kernels_own_and_falls_back_to_the_file_of_this_release() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        assert_eq!(config(&root, "6.1.0"), None);
        std::fs::create_dir(dir.path().join("boot")).unwrap();
        std::fs::write(dir.path().join("boot/config-6.1.0"), TEXT).unwrap();
        assert_eq!(config(&root, "6.1.0").unwrap().source, "/boot/config-6.1.0");
        assert_eq!(config(&root, "6.2.0"), None);
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, b"CONFIG_HZ=1000\n").unwrap();
        std::fs::write(dir.path().join("proc/config.gz"), gzip.finish().unwrap()).unwrap();
        assert_eq!(config(&root, "6.1.0").unwrap().options["HZ"], "1000");
    }

    proptest::proptest! {
        #[test]
        fn junk_never_panics(lines in proptest::collection::vec(proptest::collection::vec(0u8.., 0..40), 0..8)) {
            let text = lines.iter().flat_map(|line| [&b"CONFIG_"[..], &line[..], &b"\n"[..]].concat());
            let text: Vec<u8> = text.collect();
            let _ = select(&text);
        }
    }
}
