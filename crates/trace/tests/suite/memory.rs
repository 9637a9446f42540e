//! The memory of the reader is bounded, whatever the file contains. The test measures the peak of this process's resident memory (VmHWM),
//! which is why it runs in a process that does nothing else.

use crate::common::{
    Bytes, File, LITTLE, Ring,
    events::{format, story},
    pack,
    read::read,
    skip,
};
use latido_trace::file::Packing;

/// This variable is set in the process that runs the one test.
const ALONE: &str = "LATIDO_TEST_ALONE";

/// Runs one test of this binary in a process without the threads of other tests.
fn alone(name: &str) {
    let binary = std::env::current_exe().unwrap();
    let arguments = ["--exact", name, "--nocapture", "--test-threads=1"];
    let output = std::process::Command::new(binary).args(arguments).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// A value of this process's status, in KiB; `None` if the kernel does not report it.
fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// The peak of this process while it read a file, minus what it had before, in MiB.
fn grown(bytes: &[u8]) -> u64 {
    // Resets the peak (proc(5), clear_refs).
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:").unwrap();
    drop(read(bytes));
    let grown = status("VmHWM:").unwrap().saturating_sub(before) >> 10;
    println!("{} KiB: {grown} MiB", bytes.len() >> 10);
    grown
}

/// A chunk of zeros, the largest number of CPUs with such a chunk each, and descriptions that repeat themselves: the limits are those of
/// `file::unpack` and `file::meta`, 256 MiB for the chunks of all CPUs together, 64 MiB for everything else.
#[test]
fn no_file_takes_more_than_it_may() {
    if std::env::var_os(ALONE).is_none() {
        return alone("memory::no_file_takes_more_than_it_may");
    }
    if status("VmHWM:").is_none() || std::fs::write("/proc/self/clear_refs", "5").is_err() {
        return skip(
            "the memory of a hostile trace",
            "a kernel feature or device",
            "the kernel does not tell the peak of a process",
        );
    }
    let plain = File::of(LITTLE, story(10, 1_000).pages(LITTLE, 4096));

    // As many names of tasks and formats as fit: short ones take the most memory.
    let described = |systems, names| File { systems, names, ..plain.clone() }.build().bytes;
    let text = format("x", 7, &vec![("a b", 0, 1, 0); 900], "");
    for (what, bytes) in [
        ("names just short enough", described(vec![], "1 a\n".repeat(1 << 19))),
        ("names", described(vec![], "1 a\n".repeat(8 << 20))),
        ("fields", described(vec![("many", vec![text; 700])], String::new())),
        ("formats", described(vec![("tiny", vec!["name:a\nID:1\n".into(); 400_000])], String::new())),
        ("no formats", described(vec![("none", vec!["x".into(); 400_000])], String::new())),
    ] {
        let grown = grown(&bytes);
        assert!(grown <= 64, "{what}: {grown} MiB");
    }

    // Zeros: first one chunk of the allowed size, then more than is allowed, by length or by the number of CPUs.
    let zeros = vec![0u8; 32 << 20];
    for packing in [Packing::Zlib, Packing::Zstd] {
        let bomb = pack(packing, &zeros);
        for (cpus, length) in [(1, 32u64 << 20), (1, 0xffff_ffff), (64, 32 << 20), (4_096, 64 << 10)] {
            let shorter = pack(packing, &zeros[..length.min(32 << 20) as usize]);
            let packed = if length > 32 << 20 { &bomb } else { &shorter };
            let mut chunk = Bytes::of(LITTLE);
            chunk.number(packed.len() as u64, 4).number(length, 4).bytes.extend(packed);
            let built = chunks(packing, cpus, &chunk.bytes);
            let limit = if cpus == 1 { 64 } else { 256 + 64 };
            let grown = grown(&built);
            assert!(grown <= limit, "{packing:?}: {cpus} CPUs with {length} bytes each: {grown} MiB");
        }
    }

    // Of a million losses the reader stores only the first ones.
    let broken = Ring { name: "", clock: "mono", page: 64, cpus: vec![(0, vec![0xff; 32 << 20])] };
    let built = File { rings: vec![broken], ..plain }.build();
    assert!(grown(&built.bytes) <= 64);
}

/// A file of this number of CPUs with the same chunk, each with its own copy.
fn chunks(packing: Packing, cpus: u32, chunk: &[u8]) -> Vec<u8> {
    let empty = File { packing, ..File::of(LITTLE, (0..cpus).map(|cpu| (cpu, Vec::new())).collect()) };
    let mut packed = File { packed_data: true, ..empty };
    packed.rings[0].page = 4096;
    let built = packed.build();
    let mut bytes = Bytes { bytes: built.bytes, endian: LITTLE.endian };
    // The table of CPUs is at the end: number, place, size of each; then the end of the options.
    let table = bytes.bytes.len() - 14 - 20 * cpus as usize;
    for cpu in 0..cpus as usize {
        let here = bytes.bytes.len() as u64;
        bytes.put(table + 20 * cpu + 4, here, 8);
        bytes.put(table + 20 * cpu + 12, chunk.len() as u64, 8);
        bytes.number(1, 4).bytes.extend(chunk);
    }
    bytes.bytes
}
