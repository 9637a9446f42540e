//! SIGKILL at moments of `tune apply`, of `tune undo` and of a tuned run: the machine ends as it began.
//!
//! In the suite the moments are steps that latido passes, drawn with a fixed seed. `scripts/slow/kill --tunings` draws times instead.
//! `LATIDO_KILLS` sets the number of kills (default 20), `LATIDO_KILL_SEED` the seed.

use super::kill_moment::{Moment, Points};
use crate::common::family;
use crate::common::whole;
use crate::common::{self, Need};

use common::{World, settled, skip, stderr, until};
use family::Family;
use rand::{
    Rng, SeedableRng,
    seq::{IndexedRandom, SliceRandom},
};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};
use whole::Whole;

/// The default seed of the kills in the suite.
const SEED: u64 = 28;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// The tunings that change something here. The test notes the others as skipped, with latido's message.
fn words(world: &World, cpu: u32) -> Vec<String> {
    let names = |dir: &str| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let irq = names("/proc").find_map(|path| {
        let comm = fs::read_to_string(path.join("comm")).ok()?;
        comm.strip_prefix("irq/")?.split_once('-').map(|(irq, _)| irq.to_owned())
    });
    // Devices that only exist in the kernel have no interrupts and refuse.
    let device = names("/sys/class/net").find(|path| path.join("threaded").exists() && path.join("device").exists());
    let device = device.map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    let mut candidates: Vec<String> = ["timers", "vm-stat:77s", "thp:never,defrag=never", "printk:2", "watchdog"]
        .into_iter()
        .chain(["resume-latency:3us", "rcu:normal", "ksm:on", "frequency", "throttle:off,server=as-is"])
        .map(str::to_owned)
        .collect();
    candidates.extend(["isolate", "irqs", "workqueues"].map(|name| format!("{name}:{cpu}")));
    candidates.extend(irq.map(|irq| format!("irq-priority:{irq},prio=77")));
    candidates.extend(device.map(|device| format!("nic:{device},coalesce=as-is,threaded=on")));
    candidates.retain(|word| {
        let output = world.run(["tune", "apply", word]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        let changes = output.status.code() == Some(0) && said.contains("puts it back");
        if !changes {
            skip(&format!("kills of tuning {word}"), Need::Kernel, said.lines().next().unwrap_or_default());
        }
        undo(world);
        changes
    });
    candidates
}

fn undo(world: &World) -> String {
    let output = world.run(["tune", "undo"]);
    assert_eq!(output.status.code(), Some(0), "tune undo: {}", stderr(&output));
    stderr(&output)
}

/// The process to kill, and its action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    Apply,
    Undo,
    Host,
    Supervisor,
    Measure,
    /// Host and supervisor at once: no process is left to restore anything.
    Both,
}

struct Scene {
    world: World,
    words: Vec<String>,
    before: Whole,
    family: Family,
    chance: ChaCha8Rng,
}

impl Scene {
    /// Starts a command with its output in files: nothing reads pipes while the test waits for the moment.
    fn start(&self, arguments: &[&str], environment: &[(&str, String)]) -> Child {
        let mut command = self.world.latido(arguments.iter().copied());
        command.envs(environment.iter().cloned());
        let file = |name: &str| fs::File::create(self.world.path(name)).unwrap();
        command.env("TMPDIR", self.world.path("tmp")).stdout(file("stdout")).stderr(file("stderr"));
        command.spawn().unwrap()
    }

    fn wait(&self, child: &mut Child) -> ExitStatus {
        common::status(child, "a command whose processes were killed")
    }

    fn said(&self) -> String {
        fs::read_to_string(self.world.path("stderr")).unwrap_or_default()
    }

    /// Runs the command, which must succeed. Returns how long it took and the points that it passed.
    fn whole(&self, arguments: &[&str]) -> (Duration, Points) {
        let started = Instant::now();
        let points = self.world.path("points");
        let environment = [("LATIDO_POINTS", points.display().to_string())];
        let status = self.wait(&mut self.start(arguments, &environment));
        // Status 3: the run was measured on a busy machine.
        let well = matches!(status.code(), Some(0) | Some(3)) && (arguments[0] == "run" || status.code() == Some(0));
        assert!(well, "{arguments:?}: {status}: {}", self.said());
        (started.elapsed(), Points::taken(&points))
    }

    fn arguments(&mut self, victim: Victim) -> Vec<String> {
        // latido undoes the tunings in the opposite of their order, whatever that order is.
        self.words.shuffle(&mut self.chance);
        let of = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match victim {
            Victim::Apply => [of(&["tune", "apply"]), self.words.clone()].concat(),
            Victim::Undo => of(&["tune", "undo"]),
            _ => {
                let probe = ["wakeup", "null"].choose(&mut self.chance).unwrap();
                let mut arguments = of(&["run", probe, "-d", "300ms", "--warmup", "50ms", "--no-report", "--json"]);
                arguments.extend(of(&["--load", "spin:cpu=1,memory=1,size=1,fork=true", "--load", "tree:files=20"]));
                arguments.extend(self.words.iter().flat_map(|word| ["--tune".to_owned(), word.clone()]));
                if *probe == "null" {
                    arguments.extend(of(&["hold=300ms", "samples=100"]));
                }
                arguments
            }
        }
    }

    /// The pid of a role, as soon as the process exists; `None` if the run ends before.
    fn find(&self, host: &mut Child, victim: Victim) -> Option<i32> {
        while host.try_wait().unwrap().is_none() {
            let found = self.world.alive().into_iter().find(|(_, line)| match victim {
                Victim::Measure => line.contains(" agent --measure"),
                Victim::Supervisor | Victim::Both => line.trim_end().ends_with(" agent"),
                _ => false,
            });
            if let Some((pid, _)) = found {
                return Some(pid);
            }
        }
        None
    }

    /// Starts the action, kills the victim at that moment, and waits for the processes that are left. The error is the duration of an
    /// action that ended before the moment.
    fn kill(&mut self, victim: Victim, moment: Moment) -> Result<(), Duration> {
        if victim == Victim::Undo {
            let mut apply = vec!["tune", "apply"];
            apply.extend(self.words.iter().map(String::as_str));
            self.whole(&apply);
        }
        let arguments = self.arguments(victim);
        let started = Instant::now();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut child = self.start(&words, &moment.environment());
        let stopped = moment.reached(&mut child, started, &self.world);
        let own = child.id().cast_signed();
        let victims = match victim {
            Victim::Apply | Victim::Undo | Victim::Host => vec![own],
            role => {
                let Some(pid) = self.find(&mut child, role) else {
                    self.wait(&mut child);
                    return Err(started.elapsed());
                };
                moment.and_then_some();
                if role == Victim::Both { vec![own, pid] } else { vec![pid] }
            }
        };
        let signal = |pid: i32, signal| kill_process(Pid::from_raw(pid).unwrap(), signal).is_ok();
        let over = child.try_wait().unwrap().is_some();
        // The test stops both first, so that neither can react to the death of the other.
        let alive = !over && victims.iter().all(|pid| signal(*pid, Signal::STOP));
        for pid in victims.iter().filter(|_| !over) {
            signal(*pid, if alive { Signal::KILL } else { Signal::CONT });
        }
        // The process that was stopped at the moment goes on, and finds the others dead.
        if let Some(pid) = stopped {
            signal(pid, Signal::CONT);
        }
        let at = started.elapsed();
        let status = self.wait(&mut child);
        if !alive {
            return Err(at);
        }
        match victim {
            // A process that has just ended can no longer be killed.
            Victim::Supervisor | Victim::Measure => assert_ne!(status.signal(), Some(9), "{victim:?}"),
            _ if status.signal() != Some(9) => return Err(at),
            _ => {}
        }
        Ok(())
    }

    /// Checks what must hold. Returns who restored the machine.
    fn after(&mut self, victim: Victim, when: &str) -> &'static str {
        let journal = self.world.state().join("journal.jsonl");
        if victim == Victim::Both {
            // All processes except those of the load, which no process was left to end.
            let own = |line: &str| line.contains(" agent") || line.contains(" run ");
            let gone = || !self.world.alive().iter().any(|(_, line)| own(line));
            until(&format!("the end of latido ({when})"), || gone().then_some(()));
        } else {
            self.world.nothing_left(when);
        }
        let survived = matches!(victim, Victim::Host | Victim::Supervisor | Victim::Measure);
        if survived {
            let left = fs::read_to_string(&journal).unwrap_or_default();
            assert!(
                !journal.exists(),
                "{when}: who survives settles the journal, said: {}; it has {left}",
                self.said()
            );
            self.before.holds(&format!("{when}, by who survived"));
            self.nothing_else(when);
        }
        let status = self.world.run(["tune", "status", "--json"]);
        // Status 2: the kill hit an undo, and the changes that it had already undone are not in force.
        assert!(matches!(status.status.code(), Some(0 | 2)), "{when}: {}", stderr(&status));
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
        let by_hand = !status["applied"].as_array().unwrap().is_empty();
        let by = match survived {
            _ if by_hand || self.chance.random() => {
                let output = self.start(&["tune", "undo"], &[]).wait().unwrap();
                assert_eq!(output.code(), Some(0), "{when}: tune undo: {}", self.said());
                "undo"
            }
            _ => {
                self.whole(&["run", "null", "samples=10", "-d", "10ms", "--no-report", "--json"]);
                "the next run"
            }
        };
        self.world.nothing_left(&format!("{when}, by {by}"));
        self.before.holds(&format!("{when}, by {by}"));
        assert!(!journal.exists(), "{when}: {}", fs::read_to_string(&journal).unwrap_or_default());
        self.nothing_else(when);
        if survived { "who survived" } else { by }
    }

    /// Checks that no lock is held, that no directory of a load is left, and that each task born meanwhile is placed as its parent.
    fn nothing_else(&self, when: &str) {
        let held = fs::read_to_string("/proc/locks").unwrap();
        for name in ["run", "lock"] {
            let Ok(file) = fs::metadata(self.world.state().join(name)) else { continue };
            let inode = format!(":{} ", std::os::unix::fs::MetadataExt::ino(&file));
            assert!(!held.contains(&inode), "{when}: somebody holds the lock {name}");
        }
        let left: Vec<_> = fs::read_dir(self.world.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{when}: left behind: {left:?}");
        settled(&format!("children that are placed as their parent ({when})"), || {
            match Whole::like_their_parent(self.family.forking.pid()) {
                Ok(children) if children > 0 => Ok(()),
                said => Err(format!("{said:?}")),
            }
        });
    }
}

/// Restores the machine even if the test fails half-way; dropping the snapshot restores the rest.
impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for pid in self.world.alive().into_iter().filter_map(|(pid, _)| Pid::from_raw(pid)) {
                let _ = kill_process(pid, Signal::KILL);
            }
            let _ = self.world.run(["tune", "undo"]);
        }
    }
}

#[test]
fn killed_at_any_step_the_machine_is_as_before() {
    let seed = number("LATIDO_KILL_SEED").unwrap_or(SEED);
    kills("kills of tunings", seed, |chance, victim, known| Moment::step(chance, victim, known.points(victim)));
}

#[test]
#[ignore = "moments of the clock, by the hundred: scripts/slow/kill --tunings"]
fn killed_at_random_times_the_machine_is_as_before() {
    let seed = number("LATIDO_KILL_SEED").expect("scripts/slow/kill says the seed");
    kills("random kills of tunings", seed, |chance, victim, known| Moment::time(chance, known.length(victim)));
}

/// The durations and points of undisturbed actions: of `apply`, of `undo`, of a run.
struct Known([(Duration, Points); 3]);

impl Known {
    fn at(victim: Victim) -> usize {
        match victim {
            Victim::Apply => 0,
            Victim::Undo => 1,
            _ => 2,
        }
    }

    fn length(&self, victim: Victim) -> Duration {
        self.0[Self::at(victim)].0
    }

    fn points(&self, victim: Victim) -> &Points {
        &self.0[Self::at(victim)].1
    }
}

fn kills(what: &str, seed: u64, mut moment: impl FnMut(&mut ChaCha8Rng, Victim, &Known) -> Moment) {
    if !common::root(what) {
        return;
    }
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let cpus: latido_model::cpus::CpuSet = online.trim().parse().unwrap();
    let Some(cpu) = cpus.iter().filter(|_| cpus.len() > 1).last() else {
        return skip(what, Need::TwoCpus, "needs two CPUs");
    };
    let rounds = number("LATIDO_KILLS").unwrap_or(20);
    println!("{rounds} kills of tunings; LATIDO_KILL_SEED={seed} repeats their choices");

    let _machine = common::machine();
    let world = World::new();
    fs::create_dir(world.path("tmp")).unwrap();
    let family = Family::start(cpu);
    let words = words(&world, cpu);
    if words.len() < 3 {
        return skip(what, Need::Kernel, "fewer than three tunings can be changed here");
    }
    until("children", || matches!(Whole::like_their_parent(family.forking.pid()), Ok(1..)).then_some(()));
    let before = Whole::take();
    let mut scene = Scene { world, words, before, family, chance: ChaCha8Rng::seed_from_u64(seed) };
    let mut known = Known([Victim::Apply, Victim::Undo, Victim::Host].map(|victim| {
        let arguments = scene.arguments(victim);
        scene.whole(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }));
    scene.before.holds("undisturbed");
    println!("undisturbed (apply, undo, run): {:?}; {}", known.0, scene.words.join(" "));

    let (mut done, mut late) = (0, 0);
    while done < rounds {
        let victims = [Victim::Apply, Victim::Undo, Victim::Host, Victim::Supervisor, Victim::Measure, Victim::Both];
        let victim = victims[[0, 0, 1, 1, 2, 3, 4, 5][scene.chance.random_range(0..8)]];
        let at = moment(&mut scene.chance, victim, &known);
        let when = format!("round {} of seed {seed}: {victim:?} killed {at}", done + 1);
        let length = &mut known.0[Known::at(victim)].0;
        if let Err(took) = scene.kill(victim, at) {
            // The action did not reach the step, or ended before the moment because the machine is busier at some times than at others. The
            // moments then follow the new duration, and spread again after kills.
            *length = took;
            late += 1;
            println!("{when}: it was over before");
            assert!(late < 5 * rounds + 20, "nothing lives long enough to be killed");
            undo(&scene.world);
            scene.before.holds("ended by itself");
            continue;
        }
        *length = length.mul_f64(1.05);
        done += 1;
        let by = scene.after(victim, &when);
        println!("{when}: put back by {by}");
    }
    println!("{done} kills, all as before; {late} more came too late and do not count");
}
