//! Events as a kernel describes and writes them, and a story whose latencies are all known.

use super::{Bytes, Machine, pages::pages};

pub const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\
    \tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\
    \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

pub const COMMS: &str = "100 task-0\n101 task-1\n102 task-2\n103 task-3\n104 task-4\n";

pub fn header_page(machine: Machine, size: usize) -> String {
    let long = machine.long;
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
         \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
         \tfield: char data;\toffset:{};\tsize:{};\tsigned:0;\n",
        8 + long,
        size - 8 - long
    )
}

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

/// The text of a format; a field is its C declaration, offset, size and sign.
pub fn format(name: &str, id: u16, fields: &[(&str, usize, usize, u8)], print: &str) -> String {
    let field = |(declared, at, size, signed): &(&str, usize, usize, u8)| {
        format!("\tfield:{declared};\toffset:{at};\tsize:{size};\tsigned:{signed};\n")
    };
    let fields: String = fields.iter().map(field).collect();
    format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}\nprint fmt: {print}\n")
}

pub const SWITCH: u16 = 316;
pub const WAKING: u16 = 318;
pub const ENTRY: u16 = 150;
pub const EXIT: u16 = 149;

pub fn switch_format(machine: Machine) -> String {
    let long = machine.long;
    let fields = [
        ("char prev_comm[16]", 8, 16, 0),
        ("pid_t prev_pid", 24, 4, 1),
        ("int prev_prio", 28, 4, 1),
        ("long prev_state", 32, long, 1),
        ("char next_comm[16]", 32 + long, 16, 0),
        ("pid_t next_pid", 48 + long, 4, 1),
        ("int next_prio", 52 + long, 4, 1),
    ];
    format("sched_switch", SWITCH, &fields, "\"%d ==> %d\", REC->prev_pid, REC->next_pid")
}

pub fn waking_format() -> String {
    let fields =
        [("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int prio", 28, 4, 1), ("int target_cpu", 32, 4, 1)];
    format("sched_waking", WAKING, &fields, "\"%d\", REC->pid")
}

pub fn systems(machine: Machine) -> Vec<(&'static str, Vec<String>)> {
    let entry = [("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4, 0)];
    let exit = [("int irq", 8, 4, 1), ("int ret", 12, 4, 1)];
    vec![
        ("sched", vec![switch_format(machine), waking_format()]),
        (
            "irq",
            vec![
                format("irq_handler_entry", ENTRY, &entry, "\"irq=%d name=%s\", REC->irq, __get_str(name)"),
                format("irq_handler_exit", EXIT, &exit, "\"irq=%d ret=%d\", REC->irq, REC->ret"),
            ],
        ),
    ]
}

/// An event that a kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Waking { pid: i32 },
    Switch { from: i32, state: u64, to: i32 },
    Entry { irq: i32 },
    Exit { irq: i32 },
}

fn head(machine: Machine, id: u16, pid: i32) -> Bytes {
    let mut out = Bytes::of(machine);
    out.number(u64::from(id), 2).number(0, 1).number(0, 1).number(u64::from(pid.cast_unsigned()), 4);
    out
}

fn comm(pid: i32) -> [u8; 16] {
    let mut comm = [0; 16];
    let name = if pid == 0 { "swapper/0".to_owned() } else { format!("task-{}", pid - 100) };
    comm[..name.len()].copy_from_slice(name.as_bytes());
    comm
}

fn priority(pid: i32) -> u64 {
    [120, 19, 120, 89, 120, 110][usize::try_from(pid % 6).unwrap()]
}

impl Event {
    pub fn record(self, machine: Machine) -> Vec<u8> {
        let wide = |pid: i32| u64::from(pid.cast_unsigned());
        let mut out = match self {
            Self::Waking { pid } => {
                let mut out = head(machine, WAKING, 0);
                out.bytes.extend(comm(pid));
                out.number(wide(pid), 4).number(priority(pid), 4).number(0, 4);
                out
            }
            Self::Switch { from, state, to } => {
                let mut out = head(machine, SWITCH, from);
                out.bytes.extend(comm(from));
                out.number(wide(from), 4).number(priority(from), 4).number(state, machine.long);
                out.bytes.extend(comm(to));
                out.number(wide(to), 4).number(priority(to), 4);
                out
            }
            Self::Entry { irq } => {
                let mut out = head(machine, ENTRY, 0);
                // The name follows the fields: its offset is in the low half, its length in the high half.
                out.number(wide(irq), 4).number(16 | 5 << 16, 4).text("eth0");
                out
            }
            Self::Exit { irq } => {
                let mut out = head(machine, EXIT, 0);
                out.number(wide(irq), 4).number(1, 4);
                out
            }
        };
        out.align(4);
        out.bytes
    }
}

/// The events on two CPUs, and the latencies in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// The events of each CPU, in order of time.
    pub events: [Vec<(u64, Event)>; 2],
    /// The times from waking to switch, sorted.
    pub waits: Vec<u64>,
    /// The times from entry to exit, sorted.
    pub handled: Vec<u64>,
}

/// Makes a story in which `count` tasks are woken on one CPU and run on the other, every 10 us; an interrupt follows each.
pub fn story(count: u64, begin: u64) -> Story {
    let mut story = Story::default();
    for at in 0..count {
        let time = begin + at * 10_000;
        let (wait, length) = (500 + at * 37 % 1_000, 100 + at * 13 % 700);
        let pid = 100 + (at % 5) as i32;
        let (waker, own) = ((at % 2) as usize, (1 - at % 2) as usize);
        story.events[waker].push((time, Event::Waking { pid }));
        story.events[waker].push((time + 3_000, Event::Entry { irq: 7 }));
        story.events[waker].push((time + 3_000 + length, Event::Exit { irq: 7 }));
        story.events[own].push((time + wait, Event::Switch { from: 0, state: 0, to: pid }));
        story.events[own].push((time + 5_000, Event::Switch { from: pid, state: 1, to: 0 }));
        story.waits.push(wait);
        story.handled.push(length);
    }
    story.waits.sort_unstable();
    story.handled.sort_unstable();
    story
}

impl Story {
    /// The pages of each CPU.
    pub fn pages(&self, machine: Machine, size: usize) -> Vec<(u32, Vec<u8>)> {
        let of = |events: &Vec<(u64, Event)>| {
            let records: Vec<_> = events.iter().map(|(time, event)| (*time, event.record(machine))).collect();
            pages(machine, size, &records)
        };
        (0..).zip(self.events.iter().map(of)).collect()
    }

    /// The number of events.
    pub fn count(&self) -> u64 {
        self.events.iter().map(|events| events.len() as u64).sum()
    }
}
