//! Memory does not grow with a trace: the analysis of a file of several hundred MB fits into 64 MB in addition to the mapped file.

use crate::common;

use common::World;
use latido_trace::{
    bytes::Endian,
    write::{Contents, Ring},
};
use std::{
    fs::{self, File},
    io::Read,
    process::{Command, Stdio},
};

/// The size of a page of memory, and so of the ring.
const PAGE: usize = 4096;
/// The time from one page to the next in ns.
const LENGTH: u64 = 100_000;
/// The wake-ups on a page.
const WOKEN: u64 = 4;

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

fn format(name: &str, id: u16, fields: &[(&str, usize, usize)]) -> String {
    let field =
        |(name, at, size): &(&str, usize, usize)| format!("\tfield:{name};\toffset:{at};\tsize:{size};\tsigned:1;\n");
    format!("name: {name}\nID: {id}\nformat:\n{COMMON}{}", fields.iter().map(field).collect::<String>())
}

fn contents() -> Contents<'static> {
    let waking = [("char comm[16]", 8, 16), ("int pid", 24, 4), ("int prio", 28, 4)];
    let switch = [
        ("char prev_comm[16]", 8, 16),
        ("int prev_pid", 24, 4),
        ("int prev_prio", 28, 4),
        ("long prev_state", 32, 8),
        ("char next_comm[16]", 40, 16),
        ("int next_pid", 56, 4),
        ("int next_prio", 60, 4),
    ];
    Contents {
        endian: Endian::Little,
        long: 8,
        page: PAGE as u32,
        header_page: "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
            .into(),
        header_event: "".into(),
        ftrace: Vec::new(),
        systems: vec![(
            "sched".into(),
            vec![format("sched_switch", 316, &switch).into(), format("sched_waking", 318, &waking).into()],
        )],
        kallsyms: "".into(),
        printk: "".into(),
        comms: "".into(),
        clock: "mono".into(),
        uname: "Linux board 6.12.0 x86_64".into(),
        recorder: "a test".into(),
        cpus: 2,
        statistics: Vec::new(),
        sub_buffer: PAGE as u32,
    }
}

/// Appends an event: its header and these words.
fn event(page: &mut Vec<u8>, delta: u32, id: u16, words: &[u32]) {
    page.extend(((2 + words.len() as u32) | (delta << 5)).to_le_bytes());
    page.extend(u32::from(id).to_le_bytes());
    page.extend([0; 4]);
    page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

/// Generates pages one after another: a task is woken, runs and sleeps, `WOKEN` times per page.
struct Pages {
    cpu: u64,
    /// The number of tasks that alternate on the CPU.
    tasks: u64,
    left: u64,
    number: u64,
    page: Vec<u8>,
    at: usize,
}

impl Pages {
    fn fill(&mut self) {
        let (name, idle) = ([u32::from_le_bytes(*b"task"), 0, 0, 0], [0u32; 4]);
        let mut data = Vec::new();
        for at in 0..WOKEN {
            // The numbers are far apart, as on a machine that has been up for a long time.
            let pid = 1_000 + 13 * ((self.number * WOKEN + at) % self.tasks * 2 + self.cpu) as u32;
            event(&mut data, 10_000, 318, &[&name[..], &[pid, 120]].concat());
            event(
                &mut data,
                700 + (self.number % 300) as u32,
                316,
                &[&idle[..], &[0, 120, 0, 0], &name, &[pid, 120]].concat(),
            );
            event(&mut data, 5_000, 316, &[&name[..], &[pid, 120, 1, 0], &idle, &[0, 120]].concat());
        }
        self.page.clear();
        self.page.extend((1_000_000 + self.number * LENGTH).to_le_bytes());
        self.page.extend((data.len() as u64).to_le_bytes());
        self.page.extend(data);
        self.page.resize(PAGE, 0);
        (self.at, self.left, self.number) = (0, self.left - 1, self.number + 1);
    }
}

impl Read for Pages {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.page.len() && self.left > 0 {
            self.fill();
        }
        let read = (&self.page[self.at..]).read(into)?;
        self.at += read;
        Ok(read)
    }
}

/// Analyses a trace with this number of pages and tasks per CPU. Returns the peak memory in KiB without the mapped file, and the number of
/// waits.
fn analysed(world: &World, pages: u64, tasks: u64) -> (u64, u64) {
    let path = world.path("large.dat");
    let rings = [0u32, 1].map(|cpu| Ring {
        cpu,
        length: pages * PAGE as u64,
        pages: Pages { cpu: u64::from(cpu), tasks, left: pages, number: 0, page: Vec::new(), at: 0 },
    });
    contents().write(&mut File::create(&path).unwrap(), rings.into()).unwrap();
    // The process may have at most 64 MiB of writable memory (RLIMIT_DATA): an allocation above the limit ends it.
    let limited = "ulimit -d 65536 && exec \"$0\" trace analyze large.dat --json";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_latido")]).current_dir(world.dir.path());
    let mut child = command.stdin(Stdio::null()).stdout(File::create(world.path("out.json")).unwrap()).spawn().unwrap();
    let mut most = 0;
    // The test also samples the resident anonymous memory.
    let status = loop {
        let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let anonymous =
            text.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(anonymous.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    assert!(status.success(), "{status}");
    fs::remove_file(path).unwrap();
    let told: serde_json::Value = serde_json::from_slice(&fs::read(world.path("out.json")).unwrap()).unwrap();
    let one = &told["buffers"][0];
    assert_eq!(one["events"].as_u64(), Some(pages * 2 * WOKEN * 3));
    let row = one["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "scheduling").unwrap();
    (most, row["count"].as_u64().unwrap())
}

/// A file of 80 MB and one of four times this size take the same memory, and both take less than 64 MB.
#[test]
fn memory_is_flat_whatever_the_size_of_a_trace() {
    let world = World::new();
    let (small, waits) = analysed(&world, 10_000, 250);
    assert_eq!(waits, 10_000 * 2 * WOKEN);
    let (large, waits) = analysed(&world, 40_000, 250);
    assert_eq!(waits, 40_000 * 2 * WOKEN);
    println!("{small} KiB of a file of 80 MB, {large} KiB of one of 320 MB");
    assert!(small > 0 && large <= 64 << 10, "{large} KiB");
    // There is room for the timeline, which is full only for the larger file. Memory in proportion to the file would be far above this.
    assert!(large <= small + small / 4 + 2_048, "{small} KiB of 80 MB, {large} KiB of 320 MB");
}

/// A machine that starts a thousand tasks per second for minutes: each task is a new one, and latido follows all of them.
#[test]
fn memory_is_bounded_however_many_tasks_there_are() {
    let world = World::new();
    let (most, waits) = analysed(&world, 40_000, 160_000);
    println!("{most} KiB of 320,000 tasks");
    assert!(most <= 64 << 10 && waits == 40_000 * 2 * WOKEN, "{most} KiB, {waits}");
}
