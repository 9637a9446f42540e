//! The running kernel's configuration: the options that decide about latency.

use super::Root;
use flate2::read::GzDecoder;
use latido_model::machine::{DEBUGGING, KernelConfig};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
};

/// Options that matter besides the debugging ones, without `CONFIG_`.
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

/// Reads /proc/config.gz, or the file that the distribution keeps for exactly this release.
pub fn config(root: &Root, release: &str) -> Option<KernelConfig> {
    let source = "/proc/config.gz";
    if let Ok(file) = root.open(source)
        && let Some(options) = select(BufReader::with_capacity(1 << 16, GzDecoder::new(BufReader::new(file))))
    {
        return Some(KernelConfig { source: source.into(), options });
    }
    // A release is a file name; one with a slash would be somebody's trick.
    if release.is_empty() || release.contains('/') {
        return None;
    }
    let places = [
        format!("/boot/config-{release}"),
        format!("/usr/lib/modules/{release}/config"),
        format!("/lib/modules/{release}/config"),
    ];
    places.into_iter().find_map(|source| {
        let options = select(BufReader::new(root.open(&source).ok()?))?;
        Some(KernelConfig { source, options })
    })
}

/// Picks the wanted options; `None` when the text is not a kernel configuration or breaks off.
fn select(text: impl BufRead) -> Option<BTreeMap<String, String>> {
    let wanted = || SELECTED.iter().copied().chain(DEBUGGING.iter().map(|(option, _)| *option));
    let mut options: BTreeMap<String, String> = wanted().map(|option| (option.into(), "n".into())).collect();
    let mut reader = text.take(8 << 20);
    let (mut line, mut settings) = (Vec::new(), 0u32);
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        if let Some((option, value)) = setting(&line) {
            settings += 1;
            if let Some(slot) = options.get_mut(option) {
                value.clone_into(slot);
            }
        }
        line.clear();
    }
    (settings > 0).then_some(options)
}

/// `CONFIG_HZ=250` as (`HZ`, `250`).
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
        let config = KernelConfig { source: String::new(), options };
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
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, TEXT.repeat(100).as_bytes()).unwrap();
        let whole = gzip.finish().unwrap();
        let read = |bytes: &[u8]| select(BufReader::new(GzDecoder::new(bytes)));
        assert!(read(&whole).is_some());
        assert_eq!(read(&whole[..whole.len() / 2]), None);
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
        fn junk_never_panics(bytes in proptest::collection::vec(0u8.., 0..300)) {
            let _ = select(&bytes[..]);
            let _ = select(BufReader::new(GzDecoder::new(&bytes[..])));
        }
    }
}
