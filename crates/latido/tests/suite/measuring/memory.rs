//! During sampling the measuring process requests no memory from the kernel and returns none: each such call could interrupt every CPU on
//! which the process measures (a TLB shootdown). Its memory is locked if the record says so.

use crate::common::{self, Need};

use common::{World, ended, json, meanwhile, processes, skip};
use std::{collections::BTreeSet, process::Stdio};

/// The calls that change the mappings of a process.
const MEMORY: [&str; 6] = ["brk", "mmap", "munmap", "mremap", "madvise", "mprotect"];

/// What strace saw of the measuring process.
#[derive(Debug, Default)]
struct Seen {
    /// The lines of strace between the gate and the end of the loops with calls of [`MEMORY`].
    memory: Vec<String>,
    /// The number of memory calls before the gate: it proves that strace sees them.
    before: usize,
    /// The number of progress lines between the two; below, that of checkpoints.
    told: usize,
    checkpoints: usize,
    /// Whether the end was seen.
    ended: bool,
}

/// Reads what strace wrote. The measuring process is the one that became `agent --measure`. Its gate is the first policy that one of its
/// threads requests; its end is the first message that the loops are over.
fn read(trace: &str) -> Seen {
    let mut tasks: BTreeSet<&str> = BTreeSet::new();
    let (mut gate, mut seen) = (false, Seen::default());
    for line in trace.lines() {
        let Some((tid, call)) = line.trim_start().split_once(' ') else { continue };
        let call = call.trim_start();
        if call.starts_with("execve(") && call.contains("\"--measure\"") {
            tasks = BTreeSet::from([tid]);
            continue;
        }
        if !tasks.contains(tid) {
            continue;
        }
        let name = call.strip_prefix("<... ").unwrap_or(call);
        if name.starts_with("clone") {
            if let Some((_, child)) = call.rsplit_once(" = ") {
                tasks.extend(child.split_whitespace().next());
            }
        } else if name.starts_with("sched_setattr(") {
            gate = true;
        } else if call.starts_with("write(1") && gate {
            seen.ended |= call.contains("finishing");
            seen.told += usize::from(!seen.ended && call.contains("progress"));
            seen.checkpoints += usize::from(!seen.ended && call.contains("\"record\\\""));
        } else if !call.starts_with('<') && MEMORY.iter().any(|name| call.starts_with(&format!("{name}("))) {
            match (gate, seen.ended) {
                (false, _) => seen.before += 1,
                (true, false) => seen.memory.push(line.into()),
                (true, true) => {}
            }
        }
    }
    seen
}

#[test]
fn the_reading_of_a_trace_tells_before_from_meanwhile_and_whose_it_is() {
    let trace = r#"
7 execve("/x/latido", ["latido", "agent"], 0x1 /* 9 vars */) = 0
8 execve("/x/latido", ["latido", "agent", "--measure"], 0x1 /* 9 vars */) = 0
8 brk(NULL) = 0x1
8 clone3({flags=CLONE_VM, stack=0x7, exit_signal=0}, 88 <unfinished ...>
9 brk(0x1 <unfinished ...>
8 <... clone3 resumed> => {parent_tid=[9]}, 88) = 9
9 sched_setattr(0, {size=48, sched_policy=SCHED_FIFO}, 0) = 0
9 brk(0x2) = 0x2
7 mmap(NULL, 4096, PROT_READ) = 0x7
8 write(1, "{\"seq\":0,\"body\":{\"type\":\"progress\",\"phase\":\"measuring\""..., 200) = 200
8 madvise(0x7, 4096, MADV_DONTNEED) = 0
8 write(1, "{\"seq\":1,\"body\":{\"type\":\"record\",\"record\":{\"schema\""..., 200) = 200
8 write(1, "{\"seq\":2,\"body\":{\"type\":\"progress\",\"phase\":\"finishing\""..., 200) = 200
8 munmap(0x7, 4096) = 0
"#;
    let seen = read(trace);
    assert_eq!(seen.memory.len(), 2, "{seen:?}");
    assert_eq!((seen.before, seen.told, seen.checkpoints, seen.ended), (1, 1, 1, true), "{seen:?}");
}

/// This includes progress, drained blocks and checkpoints, for loops that sleep, that spin, and that keep every sample in order, with
/// threads that end long before others.
#[test]
fn the_measuring_process_makes_no_memory_call_while_samples_are_taken() {
    let what = "that measuring makes no memory call";
    let calls = format!("trace=execve,clone,clone3,write,sched_setattr,{}", MEMORY.join(","));
    let mut checkpoints = 0;
    for words in [
        &["wakeup", "period=1ms", "-d1500ms"][..],
        &["gap", "duty=50ms/100ms", "-c0", "-d1500ms"],
        &["compute", "size=8,64", "instances=4000", "-c0"],
        &["sleep", "length=1ms", "sleeps=500"],
    ] {
        let world = World::new();
        let mut run = world.faulty(["run"]);
        // Checkpoints are frequent, so that a memory call in one would show.
        run.args(words).args(["--warmup=100ms", "--no-report", "-q"]).env("LATIDO_CHECKPOINT_MS", "300");
        let Some((text, _)) = processes::traced(&world, &run, &["-s120", "-e", &calls], what) else { return };
        let seen = read(&text);
        assert!(seen.ended && seen.before > 0 && seen.told > 0, "{words:?}: {seen:?}");
        checkpoints += seen.checkpoints;
        assert!(seen.memory.is_empty(), "{words:?}: {:#?}", seen.memory);
    }
    // A loop without pauses to copy its counts makes no checkpoint.
    assert!(checkpoints > 0, "no checkpoint was made");
}

/// A record says that memory is locked only if the kernel locks memory of the measuring process during sampling.
#[test]
fn the_record_says_of_locked_memory_what_the_kernel_says() {
    let world = World::new();
    let mut run = world.latido(["run", "wakeup", "period=1ms", "-d600s", "--warmup=0ns", "-c0", "--policy", "other"]);
    let mut child = run.args(["--no-report", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let pid = common::measuring_process(&world);
    meanwhile(&mut child, "100 wake-ups", || (processes::wakeups(pid) > 100).then_some(()));
    let locked_kib = processes::locked_kib(pid).unwrap();
    processes::ctrl_c(child.id());
    let document = json(&ended(child, "an interrupted measurement"), 130);
    world.nothing_left("after the interruption");
    let findings = document["judgement"]["cells"][0]["findings"].as_array().unwrap();
    let memory = findings.iter().find(|finding| finding["check"] == "memory").unwrap();
    if memory["text"] == "locked" {
        assert!(locked_kib > 0, "the record says that memory is locked, and the kernel that none is");
    } else {
        assert_eq!(locked_kib, 0, "{memory}");
        skip("that memory is locked", Need::Root, &format!("memory cannot be locked here: {memory}"));
    }
}
