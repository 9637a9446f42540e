use super::*;
use crate::{judgement::Judgement, judging::of_run};
use latido_model::{
    machine::Preemption,
    quantity::Measurand,
    run::{SeriesData, codec},
    sample::{Fixture, cell, probing, quiet, under, with_spike},
};

/// Removes all limits, so that nothing judges the run; its period is 1 ms.
fn free(fixture: &mut Fixture) {
    for number in 1..=fixture.run.cells.len() {
        fixture.run.cells[number - 1].cell.conditions.limit = None;
        fixture.record(number).cell.conditions.limit = None;
    }
}

fn judged(cells: Vec<(Cell, Vec<Vec<i64>>)>, change: impl FnOnce(&mut Fixture)) -> Judgement {
    let mut fixture = Fixture::new(cells);
    free(&mut fixture);
    change(&mut fixture);
    of_run(&fixture.run, &Passed(&fixture))
}

/// The samples of a fixture, plus the delays of missed slots where its record counts seven of them.
struct Passed<'a>(&'a Fixture);

impl SeriesSource for Passed<'_> {
    fn series(&self, cell: &StoredCell, series: &Series) -> anyhow::Result<SeriesData> {
        let mut data = self.0.series(cell, series)?;
        if series.slots.is_some_and(|slots| slots.missed == 7) {
            let mut missed = codec::histogram()?;
            (1..=7).for_each(|slot| missed.record(7_600_000 - slot * 1_000_000).unwrap());
            data.missed = Some(missed);
        }
        Ok(data)
    }
}

#[test]
fn what_was_kept_is_told_with_what_the_slots_support() {
    let judgement = judged(vec![(cell(), vec![quiet(0), quiet(1)])], |_| {});
    insta::assert_snapshot!(judgement.headline.sentence(), @"0 of 20000 periods of 1 ms missed a deadline of 100 µs (a cause that strikes more often than once in 3.34 s would have been seen with 95 % probability); 14 missed a deadline of 10 µs");
    assert_eq!(judgement.advice.unwrap().next.unwrap(), "latido run wakeup -c 0,1 --load stress-cpu");
}

/// What a probe declares decides, not the names of its options and quantities.
#[test]
fn without_declarations_neither_period_nor_standstill_is_told() {
    let said = |change: fn(&mut Measurand)| {
        let cells = vec![(cell(), vec![quiet(0)]), (probing("gap"), vec![quiet(0)])];
        let judgement = judged(cells, |fixture| {
            for cell in &mut fixture.run.cells {
                cell.cell.probe.options.insert("period".into(), "1ms".into());
                change(&mut cell.measurand);
            }
        });
        let said = judgement.headline.sentence();
        (said.contains("periods of 1 ms"), said.contains("longest interruption of a busy CPU"))
    };
    assert_eq!(said(|_| {}), (true, true));
    assert_eq!(said(|measurand| measurand.period = None), (false, false));
    let discontinuous = |measurand: &mut Measurand| {
        measurand.quantities.iter_mut().for_each(|quantity| quantity.continuous = false);
    };
    assert_eq!(said(discontinuous), (true, false));
}

#[test]
fn of_samples_that_are_made_up_nothing_is_advised() {
    let judgement = judged(vec![(cell(), vec![quiet(0)])], |fixture| fixture.run.cells[0].measurand.made_up = true);
    assert_eq!(judgement.advice, None);
}

/// The first run of a new user: idle and busy, wake-ups and gaps. Slots that passed count as misses, like late ones.
#[test]
fn misses_are_counted_by_deadline_and_the_worst_cell_is_named() {
    let busy = vec![with_spike(0, 3_000, 7_600_000), quiet(1)];
    let gaps = (probing("gap"), vec![with_spike(0, 5, 44_000_000)]);
    let judgement = judged(vec![(cell(), vec![quiet(0), quiet(1)]), (under("busy"), busy), gaps], |fixture| {
        let series = &mut fixture.record(2).series[0];
        let mut corrected = series.plain();
        corrected.count += 7;
        corrected.bands.last_mut().unwrap().count += 7;
        series.corrected = Some(corrected);
        let slots = series.slots.as_mut().unwrap();
        (slots.met, slots.late, slots.missed) = (slots.met - 1, slots.late + 1, slots.missed + 7);
        let preemption = Preemption { model: Model::None, dynamic: false, source: "test".into() };
        fixture.record(1).machine.preemption = Some(preemption);
        fixture.record(1).machine.hypervisor = Some(Layer::Present("KVM".into()));
        fixture.record(1).quality.dma_latency_held = false;
    });
    insta::assert_snapshot!(judgement.headline.sentence(), @"0 of 40007 periods of 1 ms missed a deadline of 10 ms (a cause that strikes more often than once in 3.34 s in any of 2 conditions would have been seen with 95 % probability); 8 missed a deadline of 1 ms, all in wakeup, busy; longest interruption of a busy CPU: 44.0 ms (gap, idle)");
    let advice = judgement.advice.unwrap();
    assert_eq!(advice.in_the_way, ["preemption model (none)", "idle states", "hypervisor (KVM)"]);
}

#[test]
fn the_next_command_takes_the_load_and_the_deadline_that_was_kept() {
    let mut busy = under("busy");
    let options = toml::toml! { sleep = 16 };
    busy.load.items = vec![Item { name: "stress-ng".into(), options }];
    let judgement = judged(vec![(busy.clone(), vec![quiet(0)])], |_| {});
    assert_eq!(
        judgement.advice.unwrap().next.unwrap(),
        "latido run wakeup -c 0,1 --load stress-ng:sleep=16 -d 10m --limit 100us"
    );
    // The advice repeats the settings under which this run was measured.
    busy.tuning.items = vec![Item { name: "vm-stat".into(), options: toml::toml! { interval = "60s" } }];
    let judgement = judged(vec![(busy.clone(), vec![quiet(0)])], |_| {});
    let next = "latido run wakeup -c 0,1 --tune vm-stat:interval=60s --load stress-ng:sleep=16 -d 10m --limit 100us";
    assert_eq!(judgement.advice.unwrap().next.unwrap(), next);
    busy.tuning.items.clear();
    // A shell would split the load's `argv`, so the command names the load by its level instead.
    busy.load.items[0].options = toml::toml! { argv = ["sh", "-c", "true"] };
    (busy.conditions.cpus, busy.target) = (None, "ssh:board".into());
    busy.scheduling = Scheduling::Other { nice: 5, by: latido_model::cell::NiceBy::Nice };
    let judgement = judged(vec![(busy, vec![quiet(0)])], |_| {});
    let next = "latido run wakeup --on ssh:board --policy other --nice 5 --load stress-cpu -d 10m --limit 100us";
    assert_eq!(judgement.advice.unwrap().next.unwrap(), next);
}

#[test]
fn too_few_slots_say_nothing_and_what_is_judged_has_no_advice() {
    let judgement = judged(vec![(cell(), vec![vec![2_000; 20]])], |_| {});
    insta::assert_snapshot!(judgement.headline.sentence(), @"wakeup, idle: worst 2.00 µs of 20 samples (latency, CPU 0)");
    let fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
    assert_eq!(of_run(&fixture.run, &fixture).advice, None);
}

/// A failure names what prevents better figures, but no command: the user knows what failed.
#[test]
fn what_stands_in_the_way_is_told_beside_a_failure() {
    let mut fixture = Fixture::new(vec![(cell(), vec![with_spike(0, 3_000, 7_600_000)])]);
    fixture.record(1).machine.hypervisor = Some(Layer::Present("KVM".into()));
    let judgement = of_run(&fixture.run, &fixture);
    assert_eq!(judgement.verdict, Verdict::Fail);
    assert_eq!(
        judgement.advice,
        Some(Advice { in_the_way: vec!["hypervisor (KVM)".into()], check: "latido check".into(), next: None })
    );
    fixture.run.cells[0].measurand.made_up = true;
    assert_eq!(of_run(&fixture.run, &fixture).advice, None);
}

/// The machine of a laboratory guest is the plan's choice, and a longer draw is no better than several draws.
#[test]
fn the_laboratory_is_advised_by_its_own_means() {
    let lab = |cell: Cell| Cell { target: "lab".into(), kernel: "6.12-none".into(), ..cell };
    let emulate = |fixture: &mut Fixture| {
        for number in 1..=fixture.run.cells.len() {
            let machine = &mut fixture.record(number).machine;
            machine.emulated = Some(latido_model::sample::emulated());
            machine.hypervisor = Some(Layer::Present("QEMU".into()));
            machine.preemption = Some(Preemption { model: Model::None, dynamic: true, source: "test".into() });
        }
    };
    let judgement = judged(vec![(lab(cell()), vec![quiet(0), quiet(1)])], emulate);
    let advice = judgement.advice.unwrap();
    assert!(!advice.in_the_way.iter().any(|what| what.contains("hypervisor") || what.contains("preemption")));
    assert_eq!(advice.next.unwrap(), "latido run wakeup --on lab --kernel 6.12-none -c 0,1 --load messaging");
    let finding = judgement.cells[0].findings.iter().find(|one| one.check == "hypervisor").unwrap();
    assert_eq!(finding.grade, Grade::Ok);
    assert!(crate::span::unbroken(&finding.spans()).contains("ns per instruction"), "{finding:?}");
    let mut loaded = lab(under("busy"));
    loaded.load.items = vec![Item { name: "messaging".into(), options: toml::Table::new() }];
    let advice = judged(vec![(loaded, vec![quiet(0)])], emulate).advice.unwrap();
    assert_eq!(
        advice.next.unwrap(),
        "latido run wakeup --on lab --kernel 6.12-none -c 0,1 --load messaging --repeat 20"
    );
}

/// What one kernel keeps says nothing about another: latido counts nothing over several kernels, and names each.
#[test]
fn deadlines_are_told_kernel_by_kernel() {
    let with = |kernel: &str, load: Cell| Cell { kernel: kernel.into(), ..load };
    let late = vec![with_spike(0, 3_000, 7_600_000)];
    let cells = vec![
        (with("6.12-full", cell()), vec![quiet(0)]),
        (with("6.12-rt", cell()), vec![quiet(0)]),
        (with("6.12-none", cell()), vec![quiet(0)]),
        (with("6.12-none", under("busy")), late),
    ];
    let judgement = judged(cells, |_| {});
    insta::assert_snapshot!(judgement.headline.sentence(), @"6.12-none: 0 of 20000 periods of 1 ms missed a deadline of 10 ms (a cause that strikes more often than once in 3.34 s in any of 2 conditions would have been seen with 95 % probability); 1 missed a deadline of 1 ms, all in wakeup, busy; 6.12-full, 6.12-rt, each: 0 of 10000 periods of 1 ms missed a deadline of 100 µs (a cause that strikes more often than once in 3.34 s would have been seen with 95 % probability); 7 missed a deadline of 10 µs");
    let few = vec![(with("a", cell()), vec![vec![2_000; 20]]), (with("b", cell()), vec![quiet(0)])];
    insta::assert_snapshot!(judged(few, |_| {}).headline.sentence(), @"a: too few periods to tell; b: 0 of 10000 periods of 1 ms missed a deadline of 100 µs (a cause that strikes more often than once in 3.34 s would have been seen with 95 % probability); 7 missed a deadline of 10 µs");
    // A headline only has room for the weakest kernels.
    let many = (0..6).map(|k| (with(&format!("k{k}"), cell()), vec![vec![2_000; 100 + k]])).collect();
    let said = judged(many, |_| {}).headline.sentence();
    assert!(said.contains("k3: ") && said.ends_with("; 2 other kernels are no worse"), "{said}");
}
