//! Interrupts: whether their handlers are threads, and which of them the CPUs to be measured serve.

use super::{Answer, MachineView, Question};
use crate::{machine::Root, tuning::irqs::daemons};
use latido_model::{check::Severity, cpus::CpuSet, machine::Model};

pub const THREADING: Question = Question {
    name: "interrupt threads",
    why: "A handler in a thread has a priority; a handler outside a thread preempts every task.",
    decides: false,
    rules_out: None,
    look: threading,
};

fn threading(view: &MachineView) -> Answer {
    if view.machine.preemption.as_ref().is_some_and(|found| found.model == Model::Rt) {
        return Answer::ok("all handlers, by PREEMPT_RT");
    }
    let Some(line) = &view.machine.command_line else { return Answer::unknown("/proc/cmdline is not readable") };
    // `threadirqs` takes no value. The words after `--` are for init.
    let asked = line.split_whitespace().take_while(|word| *word != "--").any(|word| word == "threadirqs");
    let built = view.machine.config.as_ref().and_then(|config| config.is_on("IRQ_FORCED_THREADING"));
    match (asked, built) {
        (true, Some(false)) => {
            Answer::new(Severity::Advice, "requested by threadirqs, but this kernel does not support it")
                .advise("use a kernel built with CONFIG_IRQ_FORCED_THREADING=y")
        }
        (true, _) => Answer::ok("all handlers, by threadirqs"),
        (false, _) => Answer::new(Severity::Advice, "only handlers whose drivers request it").boot("threadirqs"),
    }
}

pub const PLACEMENT: Question = Question {
    name: "interrupt placement",
    why: "Each interrupt that a measured CPU serves delays the task on it.",
    decides: false,
    rules_out: None,
    look: placement,
};

/// One interrupt in use.
struct IrqLine {
    number: u32,
    name: String,
    /// The CPUs that serve it: the effective ones where the kernel reports them, else the allowed ones.
    cpus: CpuSet,
}

/// The interrupts that have a handler; `None` where the kernel does not show them.
fn lines(root: &Root) -> Option<Vec<IrqLine>> {
    if !root.exists("proc/irq") {
        return None;
    }
    let line = |number: u32| {
        let dir = format!("proc/irq/{number}");
        // Each handler has a directory in it, also the handlers of a shared line.
        let names: Vec<String> =
            root.list(&dir).into_iter().filter(|name| root.path(&format!("{dir}/{name}")).is_dir()).collect();
        let list = |file: &str| root.value::<CpuSet>(&format!("{dir}/{file}")).filter(|cpus| !cpus.is_empty());
        let cpus = list("effective_affinity_list").or_else(|| list("smp_affinity_list"))?;
        (!names.is_empty()).then(|| IrqLine { number, name: names.join(", "), cpus })
    };
    let numbers = root.list("proc/irq").into_iter().filter_map(|name| name.parse().ok());
    Some(numbers.filter_map(line).collect())
}

/// How many interrupts are named in a line.
const NAMED: usize = 6;

fn placement(view: &MachineView) -> Answer {
    let Some(lines) = lines(view.root) else { return Answer::unknown("/proc/irq is not readable") };
    let isolated = view.machine.isolation.cpus();
    let measured = match &view.cpus {
        Some(cpus) => cpus.clone(),
        None if isolated.is_empty() => {
            let online = view.machine.cpu.online.clone().unwrap_or_default();
            if online.len() == 1 {
                return Answer::ok(match lines.len() {
                    1 => "1 interrupt on the only CPU".into(),
                    all => format!("all {all} interrupts on the only CPU"),
                });
            }
            let last = online.iter().last().map_or_else(|| "N".into(), |cpu| cpu.to_string());
            return Answer::new(
                Severity::Advice,
                match lines.len() {
                    1 => "1 interrupt on all CPUs; no CPU is kept free".into(),
                    many => format!("{many} interrupts on all CPUs; no CPU is kept free"),
                },
            )
            .advise(format!("name the CPUs to be measured: latido check --cpus {last}"));
        }
        None => isolated,
    };
    let there: Vec<&IrqLine> = lines.iter().filter(|line| line.cpus.iter().any(|cpu| measured.contains(cpu))).collect();
    if there.is_empty() {
        return Answer::ok(match lines.len() {
            1 => format!("CPUs {measured} do not serve the only interrupt"),
            all => format!("CPUs {measured} serve none of {all} interrupts"),
        });
    }
    let mut named: Vec<String> =
        there.iter().take(NAMED).map(|line| format!("{} ({})", line.number, line.name)).collect();
    if there.len() > NAMED {
        named.push(format!("{} more", there.len() - NAMED));
    }
    let state = match (there.len(), named.join(", ")) {
        (1, named) if lines.len() == 1 => format!("CPUs {measured} serve the only interrupt: {named}"),
        (some, named) => format!("CPUs {measured} serve {some} of {} interrupts: {named}", lines.len()),
    };
    let others = view.machine.cpu.online.clone().unwrap_or_default().without(&measured);
    let answer = Answer::new(Severity::Warning, state);
    if others.is_empty() {
        return answer.advise("measure fewer CPUs, so that another CPU can serve them");
    }
    let answer = answer.tune(format!("irqs:{measured}")).boot(format!("irqaffinity={others}"));
    match daemons::absent(view.root, &measured) {
        Ok(()) => answer,
        Err(why) => answer.advise(format!("latido refuses the tuning: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture::machine as fixture, machine};

    fn placed(tree: &fixture::FakeMachine, cpus: Option<&str>) -> Answer {
        let machine = machine::read(&tree.root);
        placement(&MachineView { root: &tree.root, machine: &machine, cpus: cpus.map(|cpus| cpus.parse().unwrap()) })
    }

    #[test]
    fn interrupts_on_measured_cpus_are_named_with_the_command_that_moves_them() {
        let tree = fixture::desktop();
        tree.write("proc/irq/24/nvme0q1/x", "");
        tree.write("proc/irq/24/smp_affinity_list", "0-3\n");
        tree.write("proc/irq/24/effective_affinity_list", "3\n");
        tree.write("proc/irq/9/acpi/x", "");
        tree.write("proc/irq/9/smp_affinity_list", "0\n");
        tree.write("proc/irq/5/smp_affinity_list", "0-3\n");
        let count = lines(&tree.root).unwrap().len();
        let found = placed(&tree, Some("2-3"));
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(found.state, format!("CPUs 2,3 serve 1 of {count} interrupts: 24 (nvme0q1)"));
        assert_eq!(found.remedies[0], latido_model::check::Remedy::Tune("irqs:2,3".into()));
        assert_eq!(placed(&tree, Some("2")).severity, Severity::Ok);
        assert_eq!(placed(&tree, None).severity, Severity::Advice);
        tree.write("proc/77/comm", "irqbalance\n");
        let names_it = || placed(&tree, Some("3")).remedies.iter().any(|r| format!("{r:?}").contains("irqbalance"));
        assert!(names_it());
        tree.write("proc/77/status", "Uid:\t1000\t1000\t1000\t1000\n");
        assert!(!names_it(), "a program of a user that has the same name");
    }

    /// The only interrupt of a machine is no part of several.
    #[test]
    fn the_only_interrupt_is_told_as_the_only_one() {
        let tree = fixture::desktop();
        assert_eq!(lines(&tree.root).unwrap().len(), 1);
        assert_eq!(placed(&tree, Some("1,3")).state, "CPUs 1,3 serve the only interrupt: 1 (i8042)");
        assert_eq!(placed(&tree, Some("3")).state, "CPUs 3 do not serve the only interrupt");
    }

    #[test]
    fn forced_threading_is_a_word_of_the_command_line() {
        let tree = fixture::desktop();
        let severity = |line: &str| {
            tree.write("proc/cmdline", line);
            let machine = machine::read(&tree.root);
            threading(&MachineView { root: &tree.root, machine: &machine, cpus: None }).severity
        };
        assert_eq!(severity("quiet threadirqs"), Severity::Ok);
        assert_eq!(severity("quiet -- threadirqs"), Severity::Advice);
        assert_eq!(severity("quiet"), Severity::Advice);
    }
}
