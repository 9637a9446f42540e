//! A trace file of sound events. The bytes decide which events occur, when, and of which task; pages, formats and records always fit each
//! other. Random bytes seldom make two events that belong together.

use latido_trace::{
    bytes::Endian,
    write::{Contents, Ring},
};

/// The content of a field.
#[derive(Clone, Copy)]
enum Field {
    /// The task that the bytes name, or the one that runs on the CPU.
    Pid,
    Current,
    Comm,
    Priority,
    State,
    /// A number of this many bytes.
    Number(usize),
    /// A text elsewhere in the record.
    Text,
}
use Field::{Comm, Current, Number, Pid, Priority, State, Text};

const TASK: &[(&str, Field)] = &[("comm", Comm), ("pid", Pid), ("prio", Priority), ("target_cpu", Number(4))];
const VEC: &[(&str, Field)] = &[("vec", Number(4))];
const CALL: &[(&str, Field)] = &[("id", Number(8)), ("ret", Number(8))];
const MIGRATED: &[(&str, Field)] =
    &[("comm", Comm), ("pid", Pid), ("prio", Priority), ("orig_cpu", Number(4)), ("dest_cpu", Number(4))];

/// Every event that latido resolves, by its system; an event's number is its place plus seven.
const EVENTS: [(&str, &str, &[(&str, Field)]); 25] = [
    (
        "sched",
        "sched_switch",
        &[
            ("prev_comm", Comm),
            ("prev_pid", Current),
            ("prev_prio", Priority),
            ("prev_state", State),
            ("next_comm", Comm),
            ("next_pid", Pid),
            ("next_prio", Priority),
        ],
    ),
    ("sched", "sched_waking", TASK),
    ("sched", "sched_wakeup", TASK),
    ("sched", "sched_wakeup_new", TASK),
    ("irq", "irq_handler_entry", &[("irq", Number(4)), ("name", Text)]),
    ("irq", "irq_handler_exit", &[("irq", Number(4)), ("ret", Number(4))]),
    ("irq", "softirq_raise", VEC),
    ("irq", "softirq_entry", VEC),
    ("irq", "softirq_exit", VEC),
    ("irq_vectors", "local_timer_entry", VEC),
    ("irq_vectors", "local_timer_exit", VEC),
    ("irq_vectors", "reschedule_entry", VEC),
    ("irq_vectors", "reschedule_exit", VEC),
    ("nmi", "nmi_handler", &[("handler", Number(8)), ("delta_ns", Number(8)), ("handled", Number(4))]),
    ("raw_syscalls", "sys_enter", CALL),
    ("raw_syscalls", "sys_exit", CALL),
    ("syscalls", "sys_enter_read", CALL),
    ("syscalls", "sys_exit_read", CALL),
    ("preemptirq", "irq_disable", VEC),
    ("preemptirq", "irq_enable", VEC),
    ("preemptirq", "preempt_disable", VEC),
    ("preemptirq", "preempt_enable", VEC),
    ("timer", "hrtimer_expire_entry", &[("hrtimer", Number(8)), ("function", Number(8)), ("now", Number(8))]),
    ("task", "task_rename", &[("pid", Pid), ("oldcomm", Comm), ("newcomm", Comm)]),
    ("sched", "sched_migrate_task", MIGRATED),
];

impl Field {
    fn size(self) -> usize {
        match self {
            Pid | Current | Priority | Text => 4,
            Comm => 16,
            State => 8,
            Number(size) => size,
        }
    }

    fn declared(self, name: &str) -> String {
        match self {
            Comm => format!("char {name}[16]"),
            Text => format!("__data_loc char[] {name}"),
            _ => format!("int {name}"),
        }
    }
}

fn format(at: usize) -> String {
    let (_, name, fields) = EVENTS[at];
    let mut text = format!(
        "name: {name}\nID: {}\nformat:\n\
         \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
         \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
        at + 7
    );
    let mut offset = 8;
    for (name, field) in fields {
        text += &format!("\tfield:{};\toffset:{offset};\tsize:{};\tsigned:1;\n", field.declared(name), field.size());
        offset += field.size();
    }
    text
}

/// The growing ring of one CPU.
struct Cpu {
    endian: Endian,
    pages: Vec<u8>,
    page: Vec<u8>,
    begin: u64,
    last: u64,
    missed: u64,
    current: u32,
}

const PAGE: usize = 1024;

impl Cpu {
    fn number(endian: Endian, number: u64, size: usize, into: &mut Vec<u8>) {
        match endian {
            Endian::Little => into.extend(&number.to_le_bytes()[..size]),
            Endian::Big => into.extend(&number.to_be_bytes()[8 - size..]),
        }
    }

    fn head(&mut self, kind: u64, delta: u64) {
        let word = match self.endian {
            Endian::Little => kind | delta << 5,
            Endian::Big => kind << 27 | delta,
        };
        Self::number(self.endian, word, 4, &mut self.page);
    }

    /// Ends the page. `time` and `missed` belong to the next one.
    fn turn(&mut self, time: u64, missed: u64) {
        if !self.page.is_empty() {
            Self::number(self.endian, self.begin, 8, &mut self.pages);
            Self::number(self.endian, self.page.len() as u64 | self.missed, 8, &mut self.pages);
            self.pages.append(&mut self.page);
            self.pages.resize(self.pages.len().next_multiple_of(PAGE), 0);
        }
        (self.begin, self.last, self.missed) = (time, time, missed);
    }

    fn event(&mut self, time: u64, at: usize, who: u8, amount: u8) {
        let pid = u32::from(who & 15);
        let mut record = Vec::new();
        let endian = self.endian;
        let mut put = |number: u64, size: usize| Self::number(endian, number, size, &mut record);
        put(at as u64 + 7, 2);
        put(u64::from(amount), 1);
        put(u64::from(amount & 3), 1);
        put(u64::from(self.current), 4);
        let prev = if who & 128 == 0 { self.current } else { pid };
        for (_, field) in EVENTS[at].2 {
            match field {
                Pid => put(u64::from(pid), 4),
                Current => put(u64::from(prev), 4),
                Comm => {
                    put(u64::from(b'a' + (who & 7)), 1);
                    (0..15).for_each(|_| put(0, 1));
                }
                Priority => put([120, 89, 19, 99][usize::from(who >> 4 & 3)], 4),
                State => put([0, 1, 2, 16, 4, 256, 0, 1][usize::from(amount & 7)], 8),
                Number(size) => put(u64::from(amount), *size),
                // The text is at the start of the record's last word, if at all.
                Text => put(u64::from(amount) | 4 << 16, 4),
            }
        }
        record.resize(record.len().next_multiple_of(4), 0);
        if self.page.len() + record.len() + 12 + 16 > PAGE {
            self.turn(time, 0);
        }
        let delta = time - self.last;
        if delta >= 1 << 27 {
            self.head(30, delta & 0x7ff_ffff);
            Self::number(self.endian, delta >> 27, 4, &mut self.page);
        }
        self.head(record.len() as u64 / 4, if delta >= 1 << 27 { 0 } else { delta });
        self.page.append(&mut record);
        self.last = time;
        if at == 0 {
            self.current = pid;
        }
    }
}

/// Makes the file. Times only increase. Each four bytes are an event: CPU and kind, task, amount, time since the last event.
pub fn file(bytes: &[u8]) -> Vec<u8> {
    let endian = if bytes.first().is_some_and(|first| first & 1 == 1) { Endian::Big } else { Endian::Little };
    let cpu = || Cpu { endian, pages: vec![], page: vec![], begin: 0, last: 0, missed: 0, current: 0 };
    let (mut cpus, mut time) = ([cpu(), cpu()], 1_000_000);
    for item in bytes.get(1..).unwrap_or_default().chunks_exact(4) {
        let (kind, later) = (usize::from(item[0]), u64::from(item[3]));
        time += if later == 255 { 1 << 28 } else { later * later };
        let cpu = &mut cpus[kind & 1];
        match kind / 2 % (EVENTS.len() + 2) {
            at if at < EVENTS.len() => cpu.event(time, at, item[1], item[2]),
            at => cpu.turn(time, if at == EVENTS.len() { 1 << 31 } else { 0 }),
        }
    }
    cpus.iter_mut().for_each(|cpu| cpu.turn(time, 0));
    let systems = (0..EVENTS.len()).map(|at| (EVENTS[at].0.into(), vec![format(at).into()])).collect();
    let contents = Contents {
        endian,
        long: 8,
        page: PAGE as u32,
        header_page: "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:1008;\tsigned:0;\n"
            .into(),
        header_event: "".into(),
        ftrace: Vec::new(),
        systems,
        kallsyms: "".into(),
        printk: "".into(),
        comms: "1 a\n".into(),
        clock: "mono".into(),
        uname: "".into(),
        recorder: "".into(),
        cpus: 2,
        statistics: Vec::new(),
        sub_buffer: PAGE as u32,
    };
    let rings = cpus.iter().zip(0..);
    let rings = rings.map(|(cpu, number)| Ring { cpu: number, length: cpu.pages.len() as u64, pages: &cpu.pages[..] });
    let mut file = Vec::new();
    contents.write(&mut file, rings.collect()).expect("memory takes all");
    file
}
