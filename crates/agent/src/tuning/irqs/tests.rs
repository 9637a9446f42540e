//! Interrupts of recorded machines.

use super::DEF;
use crate::{
    fixture::trees::{self, Tree},
    setting::Tuning,
    step::Step,
};
use latido_model::{cell::Item, cpus::CpuSet, record::TuningRecord};

fn irqs(away: &str) -> Box<dyn Tuning> {
    (DEF.new)(toml::Table::from_iter([("away".into(), away.into())])).unwrap()
}

fn record(done: &[Step], note: Option<String>) -> TuningRecord {
    let changes = done.iter().map(Step::change).collect();
    TuningRecord { item: Item::default(), changes, in_force: true, note, programs: vec![] }
}

fn refusal(tree: &Tree, away: &str) -> String {
    trees::apply(irqs(away).as_ref(), &tree.root).unwrap_err().to_string()
}

#[test]
fn every_line_and_the_default_leave_the_cpus() {
    for (tree, away) in
        [(trees::cgroup_v1(), "1"), (trees::cgroup_v2(), "2-3"), (trees::arm(), "3"), (trees::server(), "0,4-7")]
    {
        let before = tree.contents();
        let away: CpuSet = away.parse().unwrap();
        let (done, _) = trees::apply(irqs(&away.to_string()).as_ref(), &tree.root).unwrap();
        assert!(done.len() > 3, "{done:?}");
        let mut seen = 0;
        for line in tree.root.list("proc/irq") {
            let Some(cpus) = tree.root.value::<CpuSet>(&format!("proc/irq/{line}/smp_affinity_list")) else { continue };
            assert!(!cpus.is_empty() && cpus.iter().all(|cpu| !away.contains(cpu)), "{line}: {cpus}");
            seen += 1;
        }
        assert!(seen > 3);
        let mask = tree.root.read(super::DEFAULT).unwrap();
        let default = super::from_mask(&mask).unwrap();
        assert!(!default.is_empty() && default.iter().all(|cpu| !away.contains(cpu)), "{mask}");
        trees::undo(&done, &tree.root);
        assert_eq!(tree.contents(), before);
    }
}

#[test]
fn a_line_that_had_no_other_cpu_gets_all_others() {
    let tree = trees::arm();
    let line = tree.root.list("proc/irq").into_iter().find(|name| name.parse::<u32>().is_ok()).unwrap();
    let file = format!("proc/irq/{line}/smp_affinity_list");
    tree.write(&file, "3\n");
    tree.write(super::DEFAULT, "8\n");
    trees::apply(irqs("3").as_ref(), &tree.root).unwrap();
    assert_eq!(tree.root.read(&file).as_deref(), Some("0-2"));
    assert_eq!(tree.root.read(super::DEFAULT).as_deref(), Some("7"));
}

#[test]
fn lines_that_have_not_moved_yet_are_named_as_pending() {
    let tree = trees::cgroup_v2();
    let on = |line: &str| tree.root.value::<CpuSet>(&format!("proc/irq/{line}/effective_affinity_list"));
    let lines = tree.root.list("proc/irq");
    let handled = |line: &&String| !super::names(&tree.root, line.parse().unwrap_or(u32::MAX)).is_empty();
    let line = lines.iter().filter(handled).find(|line| on(line).is_some_and(|cpus| cpus.len() == 1)).unwrap();
    let away = on(line).unwrap().to_string();
    let tuning = irqs(&away);
    let (done, told) = trees::apply(tuning.as_ref(), &tree.root).unwrap();
    let mut now = record(&done, told.clone());
    tuning.confirm(&tree.root, &mut now);
    let note = now.note.unwrap();
    let name = super::title(&tree.root, line.parse().unwrap());
    assert!(note.contains("pending") && note.contains(&name) && name.len() > "IRQ 99".len(), "{note}");
    // The interrupt comes once more, and then moves away.
    for line in &lines {
        if on(line).is_some() {
            tree.write(&format!("proc/irq/{line}/effective_affinity_list"), if away == "0" { "1\n" } else { "0\n" });
        }
    }
    let mut later = record(&done, told);
    tuning.confirm(&tree.root, &mut later);
    assert!(!later.note.unwrap_or_default().contains("pending"));
}

#[test]
fn a_line_that_will_not_move_is_named_and_the_others_go() {
    let tree = trees::cgroup_v1();
    let tuning = irqs("1");
    let mut pursuit = tuning.wanted(&tree.root).unwrap().pursuit.unwrap();
    let steps = pursuit.left(&tree.root).unwrap();
    let stuck = steps.iter().find(|step| step.change().knob.contains("/4/")).unwrap();
    // The kernel keeps it there; debugfs shows why.
    tree.write("sys/kernel/debug/irq/irqs/4", "handler:  handle_edge_irq\n            IRQD_AFFINITY_MANAGED\n");
    for step in &steps {
        if step != stuck {
            step.apply(&tree.root).unwrap();
        }
    }
    pursuit.refused(&tree.root, stuck, anyhow::anyhow!("Input/output error")).unwrap();
    assert!(pursuit.left(&tree.root).unwrap().is_empty(), "it is not asked for again");
    let told = pursuit.told(&tree.root).unwrap();
    assert_eq!(told, "cannot be moved: IRQ 4 ttyS0 (managed for its driver)");
}

#[test]
fn nobody_is_raced() {
    let tree = trees::server();
    tree.write("proc/4990/comm", "irqbalance\n");
    let told = refusal(&tree, "4-7");
    assert!(told.contains("IRQBALANCE_BANNED_CPULIST=4-7") && told.contains("systemctl stop irqbalance"), "{told}");
    tree.write("proc/4990/environ", "A=b\0IRQBALANCE_BANNED_CPULIST=4-6\0");
    assert!(refusal(&tree, "4-7").contains("irqbalance"), "one CPU is not banned");
    tree.write("proc/4990/environ", "A=b\0IRQBALANCE_BANNED_CPULIST=4-7\0");
    trees::apply(irqs("4-7").as_ref(), &tree.root).unwrap();
    tree.write("proc/4991/comm", "tuned\n");
    let told = refusal(&tree, "4-7");
    assert!(told.contains("systemctl stop tuned") && told.contains("isolated_cores=4-7"), "{told}");
}

/// Any user may give a process the name of a daemon. Such a process moves nothing.
#[test]
fn only_daemons_of_root_are_in_the_way() {
    for name in ["irqbalance", "tuned"] {
        let tree = trees::server();
        tree.write("proc/4990/comm", &format!("{name}\n"));
        tree.write("proc/4990/status", "Name:\tx\nUid:\t1000\t0\t0\t0\n");
        assert!(refusal(&tree, "4-7").contains(name), "it acts as root");
        tree.write("proc/4990/status", "Name:\tx\nUid:\t0\t1000\t1000\t1000\n");
        trees::apply(irqs("4-7").as_ref(), &tree.root).unwrap();
    }
}

#[test]
fn impossible_places_are_refused() {
    let tree = trees::arm();
    assert!(refusal(&tree, "0-3").contains("need another CPU"));
    assert!(refusal(&tree, "4").contains("CPU 4 is not online"));
}

#[test]
fn masks_are_words_of_32_cpus() {
    for (text, cpus) in
        [("3", "0-1"), ("ffffffff,00000000", "32-63"), ("1,00000001", "0,32"), ("00000000,0000000f", "0-3")]
    {
        let set: CpuSet = cpus.parse().unwrap();
        assert_eq!(super::from_mask(text).unwrap(), set, "{text}");
        assert_eq!(super::from_mask(&super::to_mask(&set)).unwrap(), set, "{text}");
        assert_eq!(crate::step::Form::Mask.value(&super::to_mask(&set)), crate::step::Form::Mask.value(text));
    }
    assert_eq!(super::from_mask("xyz"), None);
}

proptest::proptest! {
    #[test]
    fn writing_and_reading_masks_agree(cpus in proptest::collection::btree_set(0u32..300, 1..40)) {
        let set = CpuSet(cpus);
        proptest::prop_assert_eq!(super::from_mask(&super::to_mask(&set)), Some(set));
    }
}
