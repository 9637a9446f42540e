//! `show` must leave out nothing of a run.

use super::*;
use crate::sample::cut;
use latido_judge::{configuration, judging};
use latido_model::cell::Item;
use latido_model::{
    record::{Change, LoadRecord, Skip, Slots, TuningRecord},
    run::CellState,
    sample::{Fixture, cell, quiet, under},
};

/// Returns the record of a load that lived throughout.
fn load() -> LoadRecord {
    LoadRecord {
        item: Item { name: "stress-ng".into(), options: toml::toml! { sleep = 16 } },
        argv: ["stress-ng", "--sleep", "16"].map(String::from).to_vec(),
        version: Some("0.18.06".into()),
        note: None,
        alive: true,
        died: None,
        cpu_ns: None,
        achieved: Default::default(),
        rates: Default::default(),
        unaccounted: None,
        commands: vec![],
        programs: vec![],
        ..LoadRecord::default()
    }
}

/// Returns the record of a tuning that was in force.
fn tuning() -> TuningRecord {
    let (knob, original, new) = ("scaling_governor".into(), "powersave".into(), "performance".into());
    TuningRecord {
        item: Item { name: "governor".into(), options: toml::Table::new() },
        changes: vec![Change { knob, original, new }],
        in_force: true,
        note: None,
        programs: vec![],
    }
}

/// Returns everything of a run as text. Its first cell has something of each kind, and its second one was not measured.
fn shown() -> String {
    let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)]), (under("busy"), vec![quiet(0)])]);
    fixture.run.cells[1].state = CellState::Infra("the agent vanished".into());
    let record = fixture.record(1);
    record.load.push(load());
    record.tunings.push(tuning());
    record.series[1].slots = Some(Slots { met: 10_001, late: 1, missed: 2 });
    record.series[0].facts.insert("own_ns".into(), 1_200);
    record.skipped.push(Skip { what: "deadline".into(), why: "pinned threads cannot have it".into() });
    let found = configuration::configurations([&fixture.run], &fixture);
    let judgement = judging::of_run(&fixture.run, &fixture);
    show(&fixture.run, &judgement, &found, (false, Beside::default()), Style { width: 80, color: false })
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let text = shown();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_figures_of_all_cells_come_first() {
    let text = shown();
    let (figures, _) = cut(&text, "cell 1: ");
    insta::assert_snapshot!(figures, @"
    20261121T200000Z-quick-k3f9 on bench-07, Linux 6.12.48

    Wake-up latency (µs)
    configuration  wake-ups   min   p50  mean   p99  p99.9   max  > 100 µs  missed
    idle              20000  2.00  2.62  2.64  3.24   3.25  24.8         0       2
     A once-a-day event shows in 10 s with a chance of less than 1 %, in 3 days with
     95 %

    NOT MEASURED: wakeup, busy: the agent vanished

    Wake-up latency, quantiles with 95 % limits (µs)
    configuration  wake-ups                  p50                  p90
    idle              20000  2.62 (2.62 to 2.63)  3.12 (3.12 to 3.13)

    Wake-up latency, quantiles with 95 % limits (µs)
    configuration  wake-ups                  p99                 p99.9
    idle              20000  3.24 (3.23 to 3.24)  3.25 (3.25 to 12.86)

    Wake-up latency, quantiles with 95 % limits (µs)
    configuration  wake-ups                      p99.99  p99.999
    idle              20000  22.5 (17.7 to n too small)        -
     Limits by binomial ranks of the number of independent samples, estimated from
     blocks of time, for these repeats only: if repeats differ, another may lie
     outside.
     n too small: the number of samples is too small for a 95 % limit of this
     quantile; a longer measurement has one.
    ");
}

#[test]
fn everything_of_a_measured_cell_is_shown() {
    let text = shown();
    let (cell, _) = cut(cut(&text, "cell 1: ").1, "cell 2: ");
    insta::assert_snapshot!(cell, @"
    cell 1: wakeup, idle
      PASS worst 24.8 µs of 20000 samples (latency, CPU 1), 75.2 µs inside the limit
           of 100 µs
      probe       wakeup:period=1ms
      scheduling  fifo 80
      cpus        0,1
      measured    10.0 s after 500 ms of warm-up
      limit       100us
      load        stress-ng:sleep=16 (0.18.06): stress-ng --sleep 16
      tuning      governor: scaling_governor powersave -> performance

      latency (µs)  wake-ups   min   p50  mean   p99  p99.9   max  late  missed
      CPU 0            10000  2.00  2.62  2.64  3.24   3.25  24.8     0       0
      CPU 1            10000  2.00  2.62  2.64  3.24   3.25  24.8     1       2
       A once-a-day event shows in 10 s with a chance of less than 1 %, in 3 days
       with 95 %
      CPU 0: own 1.20 µs

      ?   hypervisor         not measured
      ok  policy             fifo 80 granted
      ok  load               alive throughout
      ok  tunings            in force
      ok  pinning            each thread stayed on its CPU
      ok  clock              monotonic (tsc), 21 ns per reading, step 1 ns
      ok  foreign tasks      none seen
      ok  steal              0 ns of the measured CPUs' time stolen
      ok  kernel threads     none seen
      ok  smi                0 management interrupts
      ok  throttle           the probe does not look for it
      ok  run delay          explained by the tasks that latido saw and 10 µs per
                             wake-up
      ok  outcome            complete, 10.0 s
      ok  memory             locked
      ok  page faults        0 minor, 0 major while measuring
      ok  preemptions        0 involuntary switches
      ok  wall clock         CLOCK_REALTIME moved by 0 ns
      ok  throttle settings  real-time budget unlimited, fair server off
      ok  idle states        disabled through /dev/cpu_dma_latency
      ok  frequency          3000 to 3000 MHz
      ok  temperature        at most 45 degrees, critical at 100
      ok  timer slack        none with real-time policy
      ok  autogroup          off
      ok  housekeeping       left for everything else: 2
      skipped deadline: pinned threads cannot have it
    ");
}

/// Other tests cover the rows of the machine: here each of them only has to exist.
#[test]
fn every_row_of_the_machine_is_shown() {
    let text = shown();
    let (machine, _) = cut(cut(&text, "machine\n").1, "run\n");
    let rows = machine.strip_prefix("machine\n").unwrap();
    for (name, value) in latido_model::sample::machine().rows() {
        assert!(rows.contains(name) && value.split_whitespace().all(|word| rows.contains(word)), "{name}: {rows}");
    }
}

#[test]
fn a_cell_that_was_not_measured_says_why_and_the_run_comes_last() {
    let text = shown();
    let (cells, machine) = cut(&text, "machine\n");
    let ((_, cell), (_, run)) = (cut(cells, "cell 2: "), cut(machine, "run\n"));
    insta::assert_snapshot!(format!("{cell}\n\n{run}"), @"
    cell 2: wakeup, busy
      NOT MEASURED the agent vanished

    run
      plan       quick
      seed       42
      started    2026-11-21 20:00:00 UTC
      finished   2026-11-21 20:01:00 UTC
      latido     0.1.0
      directory  /nowhere
      command    latido run quick
    ");
}
