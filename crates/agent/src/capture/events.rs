//! Which events are recorded: those that the user names, or the usual ones.

use crate::measure::Wanted;
use anyhow::{Context, Result, bail};
use latido_model::{record::MissingEvent, registry::Objection, suggest::closest};
use std::{collections::BTreeSet, fs, path::Path};

/// Events that show which task runs when, where and why: switches, wake-ups and moves between CPUs, interrupts, soft interrupts, timers.
const USUAL: [&str; 12] = [
    "sched:sched_switch",
    "sched:sched_waking",
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_migrate_task",
    "irq:irq_handler_entry",
    "irq:irq_handler_exit",
    "irq:softirq_raise",
    "irq:softirq_entry",
    "irq:softirq_exit",
    "timer:hrtimer_expire_entry",
    "timer:hrtimer_expire_exit",
];

/// Events that help to explain a late sample: waits for kernel locks, signals that stop a task, non-maskable interrupts. All of them are
/// rare.
const EXPLAINING: [&str; 4] =
    ["lock:contention_begin", "lock:contention_end", "signal:signal_generate", "nmi:nmi_handler"];

/// The systems of interrupts that come from no device: the first on x86, the second on other processors.
const VECTORS: [&str; 2] = ["irq_vectors", "ipi"];

/// What a kernel needs for the events of a system (Kconfig of kernel/trace and of the architectures).
const NEEDS: [(&str, &str); 14] = [
    ("sched", "CONFIG_EVENT_TRACING"),
    ("irq", "CONFIG_EVENT_TRACING"),
    ("timer", "CONFIG_EVENT_TRACING"),
    ("irq_vectors", "a kernel for x86 with CONFIG_X86_LOCAL_APIC"),
    ("ipi", "a kernel for a processor other than x86, or Linux 6.3 and later"),
    ("preemptirq", "CONFIG_PREEMPTIRQ_TRACEPOINTS (by CONFIG_IRQSOFF_TRACER or CONFIG_PREEMPT_TRACER)"),
    ("syscalls", "CONFIG_FTRACE_SYSCALLS"),
    ("osnoise", "CONFIG_OSNOISE_TRACER"),
    ("lock", "Linux 5.19; CONFIG_LOCKDEP or CONFIG_LOCK_STAT for all but contention_begin and contention_end"),
    ("signal", "CONFIG_EVENT_TRACING"),
    ("nmi", "CONFIG_EVENT_TRACING"),
    ("kvm", "the module kvm (modprobe kvm)"),
    ("hwlat", "CONFIG_HWLAT_TRACER"),
    ("rcu", "CONFIG_RCU_TRACE"),
];

/// The events of a kernel.
#[derive(Debug)]
pub struct Available(Vec<String>);

impl Available {
    /// Reads `available_events`.
    ///
    /// # Errors
    /// The file cannot be read, or lists no events.
    pub fn read(tracefs: &Path) -> Result<Self> {
        let path = tracefs.join("available_events");
        let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        let all = Self(text.lines().filter(|line| line.contains(':')).map(str::to_owned).collect());
        if all.0.is_empty() {
            bail!(
                "this kernel has no events because it was built without CONFIG_EVENT_TRACING: use a kernel that has it"
            );
        }
        Ok(all)
    }

    fn has(&self, event: &str) -> bool {
        self.0.iter().any(|one| one == event)
    }

    /// Whether the kernel has any event of a system.
    fn knows(&self, system: &str) -> bool {
        self.0.iter().any(|one| one.split(':').next() == Some(system))
    }

    /// Returns the events that a word names: an event, an event of a system, or all events of a system.
    fn named(&self, word: &str) -> Vec<String> {
        let word = word.replace('/', ":");
        let (system, event) =
            word.split_once(':').map_or((None, word.as_str()), |(system, event)| (Some(system), event));
        let fits = |one: &&String| {
            one.split_once(':').is_some_and(|(of, name)| match system {
                Some(system) => of == system && (name == event || matches!(event, "" | "*")),
                None => name == event,
            })
        };
        let found: Vec<String> = self.0.iter().filter(fits).cloned().collect();
        let whole = |one: &&String| system.is_none() && one.split_once(':').is_some_and(|(of, _)| of == event);
        if found.is_empty() { self.0.iter().filter(whole).cloned().collect() } else { found }
    }

    /// Explains that the kernel has no such event, and suggests others.
    fn refusal(&self, word: &str) -> String {
        let plain = word.replace('/', ":");
        let plain = plain.to_lowercase();
        let (system, name) = plain.split_once(':').unwrap_or(("", &plain));
        let parts = self.0.iter().filter_map(|one| one.split_once(':'));
        let of_system = parts.filter(|(of, _)| system.is_empty() || *of == system);
        let mut names: Vec<&str> = of_system.map(|(_, name)| name).collect();
        let has = names.len();
        // The user may mean a whole system.
        names.extend(
            self.0.iter().filter_map(|one| one.split_once(':')).map(|(of, _)| of).filter(|_| system.is_empty()),
        );
        names.sort_unstable();
        names.dedup();
        let mut near = Vec::new();
        while let Some(one) = closest(name, names.iter().copied()).filter(|_| near.len() < 3) {
            names.retain(|name| *name != one);
            near.push(one);
        }
        let family = if system.is_empty() { of_name(name) } else { system };
        let needs = NEEDS.iter().find(|(of, _)| *of == family).filter(|(of, _)| !self.knows(of));
        let needs = needs.map(|(of, needs)| format!("; this kernel has no events `{of}`, which need {needs}"));
        let systems = || self.0.iter().filter_map(|one| one.split(':').next());
        let near = match &near[..] {
            [] if has == 1 && !system.is_empty() => format!(" (`{system}` has 1 other; `{system}:*` selects it)"),
            [] if has > 0 && !system.is_empty() => {
                format!(" (`{system}` has {has} others; `{system}:*` selects all of them)")
            }
            [] if !system.is_empty() && !self.knows(system) => match closest(system, systems()) {
                Some(other) => format!(" (did you mean one of `{other}`?)"),
                None => String::new(),
            },
            [] => String::new(),
            near => {
                format!(" (did you mean {}?)", near.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", "))
            }
        };
        format!("this kernel has no event `{word}`{near}{}", needs.unwrap_or_default())
    }
}

/// Returns the system that an event's name suggests: `irq_disable` is of `preemptirq`, `sys_enter_read` of `syscalls`.
fn of_name(name: &str) -> &str {
    match name {
        "irq_disable" | "irq_enable" | "preempt_disable" | "preempt_enable" => "preemptirq",
        name if name.starts_with("sys_") => "syscalls",
        name if name.ends_with("_noise") => "osnoise",
        name => name,
    }
}

/// The events that are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The events, such as `sched:sched_switch`, sorted by name.
    pub events: Vec<String>,
    /// Optional events that this kernel does not have.
    pub missing: Vec<MissingEvent>,
}

impl Chosen {
    /// Chooses the requested events, and those that a probe needs.
    ///
    /// # Errors
    /// As [`Chosen::named`].
    pub fn of(asked: Option<&[String]>, explaining: bool, wanted: &Wanted, available: &Available) -> Result<Self> {
        let named = |words| if explaining { Self::explaining(words, available) } else { Self::named(words, available) };
        let mut chosen = asked.map(named).transpose()?.unwrap_or_default();
        let mut needed = wanted.events.clone();
        if let Some((system, others)) = &wanted.instead
            && !available.knows(system)
            && others.iter().all(|event| available.has(event))
        {
            needed.retain(|event| event.split(':').next() != Some(system));
            needed.extend_from_slice(others);
        }
        if !needed.is_empty() {
            chosen.events.extend(Self::named(&needed, available)?.events);
        }
        for event in wanted.also.iter().chain(wanted.explaining.iter().filter(|_| explaining)) {
            if available.has(event) {
                chosen.events.push(event.clone());
            } else {
                chosen.missing.push(MissingEvent { event: event.clone(), why: available.refusal(event) });
            }
        }
        chosen.events.sort();
        chosen.events.dedup();
        Ok(chosen)
    }

    /// Chooses the events that `words` name, or the usual ones if `words` is empty.
    ///
    /// # Errors
    /// The kernel has no event of that name. The error suggests others, and says what a kernel needs for it.
    fn named(words: &[String], available: &Available) -> Result<Self> {
        if words.is_empty() {
            return Self::usual(&[], available);
        }
        let mut events = Vec::new();
        for word in words {
            let found = available.named(word);
            if found.is_empty() {
                let refusal = available.refusal(word);
                return Err(Objection::Value(format!("{refusal}; `latido trace record --list` shows all")).into());
            }
            events.extend(found);
        }
        events.sort();
        events.dedup();
        Ok(Self { events, missing: Vec::new() })
    }

    /// Chooses the usual events, those that explain late samples, and those that `words` name.
    ///
    /// # Errors
    /// As [`Self::of`].
    fn explaining(words: &[String], available: &Available) -> Result<Self> {
        let mut all = Self::usual(&EXPLAINING, available)?;
        if !words.is_empty() {
            all.events.extend(Self::named(words, available)?.events);
            let mut seen = BTreeSet::new();
            all.events.retain(|event| seen.insert(event.clone()));
        }
        Ok(all)
    }

    fn usual(more: &[&'static str], available: &Available) -> Result<Self> {
        let all = USUAL.iter().chain(more).copied();
        let (there, missing): (Vec<&str>, Vec<&str>) = all.partition(|event| available.has(event));
        let mut events: Vec<String> = there.into_iter().map(str::to_owned).collect();
        for system in VECTORS {
            let of_system = available.0.iter().filter(|one| one.split(':').next() == Some(system));
            let paired = of_system.filter(|one| one.ends_with("_entry") || one.ends_with("_exit"));
            events.extend(paired.cloned());
        }
        if events.is_empty() {
            bail!("this kernel has none of the usual events; name others (-e EVENT)");
        }
        let missing =
            missing.into_iter().map(|event| MissingEvent { event: event.into(), why: available.refusal(event) });
        let none = !available.0.iter().any(|one| VECTORS.iter().any(|system| one.split(':').next() == Some(system)));
        let vectors = none.then(|| MissingEvent { event: VECTORS.join(" or "), why: available.refusal("irq_vectors") });
        let missing = missing.chain(vectors).collect();
        Ok(Self { events, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available() -> Available {
        let all = [
            "sched:sched_switch",
            "sched:sched_waking",
            "sched:sched_wakeup",
            "irq:softirq_entry",
            "irq:irq_handler_entry",
            "irq_vectors:local_timer_entry",
            "irq_vectors:local_timer_exit",
            "irq_vectors:vector_alloc",
            "ext4:ext4_sync",
        ];
        Available(all.map(String::from).into())
    }

    fn chosen(words: &[&str]) -> Result<Vec<String>> {
        let words: Vec<String> = words.iter().map(|word| (*word).into()).collect();
        Chosen::of(Some(&words), false, &Wanted::default(), &available()).map(|chosen| chosen.events)
    }

    #[test]
    fn events_are_named_with_and_without_their_system_and_all_of_one() {
        assert_eq!(chosen(&["sched_switch"]).unwrap(), ["sched:sched_switch"]);
        assert_eq!(chosen(&["sched:sched_switch", "sched/sched_switch"]).unwrap(), ["sched:sched_switch"]);
        let vectors = ["irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit", "irq_vectors:vector_alloc"];
        for word in ["irq_vectors", "irq_vectors:*", "irq_vectors:"] {
            assert_eq!(chosen(&[word]).unwrap(), vectors, "{word}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_answered_with_the_nearest_and_with_what_it_needs() {
        let said = |word: &str| chosen(&[word]).unwrap_err().to_string();
        assert!(said("sched_swtich").contains("did you mean `sched_switch`"), "{}", said("sched_swtich"));
        assert!(said("sched:sched_wakng").contains("`sched_waking`"), "{}", said("sched:sched_wakng"));
        assert!(said("irq_disable").contains("CONFIG_PREEMPTIRQ_TRACEPOINTS"), "{}", said("irq_disable"));
        assert!(said("sys_enter_read").contains("CONFIG_FTRACE_SYSCALLS"), "{}", said("sys_enter_read"));
        assert!(!said("zzz").contains("did you mean"), "{}", said("zzz"));
        assert!(said("sched:foo").contains("`sched` has 3 others"), "{}", said("sched:foo"));
        assert!(said("SCHED").contains("did you mean `sched`"), "{}", said("SCHED"));
        assert!(said("shced:sched_switch").contains("did you mean one of `sched`"), "{}", said("shced:sched_switch"));
        assert!(!said("zzz:bar").contains("did you mean"), "{}", said("zzz:bar"));
    }

    /// Where a kernel has no events of single system calls, latido takes the events of all system calls instead. Where the kernel has some
    /// of them, latido refuses a name that it does not have.
    #[test]
    fn what_stands_in_for_a_system_is_taken_where_the_kernel_has_nothing_of_it() {
        let raw = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit"];
        let mut wanted = Wanted::events(&["sched:sched_switch", "syscalls:sys_enter_read", "syscalls:sys_exit_read"]);
        let Available(mut all) = available();
        all.extend(raw.map(String::from));
        let chosen = |wanted: &Wanted, all: &[String]| Chosen::of(None, false, wanted, &Available(all.to_vec()));
        assert!(chosen(&wanted, &all).is_err());
        wanted = wanted.or("syscalls", &raw);
        assert_eq!(chosen(&wanted, &all).unwrap().events, [raw[0], raw[1], "sched:sched_switch"]);
        all.push("syscalls:sys_enter_write".into());
        assert!(chosen(&wanted, &all).unwrap_err().to_string().contains("sys_enter_read"));
        all.extend(["syscalls:sys_enter_read".into(), "syscalls:sys_exit_read".into()]);
        let named = ["sched:sched_switch", "syscalls:sys_enter_read", "syscalls:sys_exit_read"];
        assert_eq!(chosen(&wanted, &all).unwrap().events, named);
    }

    #[test]
    fn the_usual_ones_are_those_that_there_are() {
        let chosen = Chosen::of(Some(&[]), false, &Wanted::default(), &available()).unwrap();
        assert!(chosen.events.contains(&"irq_vectors:local_timer_exit".into()));
        assert!(!chosen.events.iter().any(|event| event.contains("vector_alloc") || event.contains("ext4")));
        let missing: Vec<&str> = chosen.missing.iter().map(|one| one.event.as_str()).collect();
        assert!(
            missing.contains(&"irq:softirq_exit") && !missing.iter().any(|one| one.contains("vectors")),
            "{missing:?}"
        );
        let explaining = Chosen::explaining(&["ext4_sync".into(), "sched_switch".into()], &available()).unwrap();
        assert!(chosen.events.iter().all(|event| explaining.events.contains(event)), "{explaining:?}");
        assert_eq!(
            explaining.events.len(),
            chosen.events.len() + 1,
            "ext4_sync, and sched_switch once: {explaining:?}"
        );
        assert!(explaining.missing.iter().any(|one| one.event == "lock:contention_begin"), "{explaining:?}");
        let none = Available(vec!["ext4:ext4_sync".into()]);
        assert!(Chosen::of(Some(&[]), false, &Wanted::default(), &none).unwrap_err().to_string().contains("-e EVENT"));
    }
}
