use super::*;
use crate::sample::cut;
use latido_model::machine::Cpu;

const PLAIN: Style = Style { width: 80, color: false };

/// The agent's check results for a freshly installed Debian laptop. The agent's tests compare with the same file.
fn desktop() -> (Machine, Vec<Point>) {
    let cpu = Cpu { online: Some("0-3".parse().unwrap()), ..Cpu::default() };
    let machine = Machine {
        hostname: "desk".into(),
        kernel: "6.12.9-amd64".into(),
        architecture: Some("x86_64".into()),
        cpu,
        ..Machine::default()
    };
    (machine, serde_json::from_str(include_str!("desktop.json")).unwrap())
}

/// Returns the table for the desktop.
fn shown() -> String {
    let (machine, points) = desktop();
    table(&machine, &points, None, PLAIN)
}

#[test]
fn a_desktop_without_permission_is_unfit_and_says_what_grants_it() {
    let text = shown();
    let (first, _) = cut(&text, "advice ");
    insta::assert_snapshot!(first, @r#"
    desk, Linux 6.12.9-amd64, x86_64, 4 CPUs
    NOT fit for real-time measurement: real-time permission
    1 UNFIT, 3 warnings, 1 unknown, 11 pieces of advice, 15 ok

    UNFIT   real-time permission    refused: CAP_SYS_NICE is missing and ulimit -r
                                    is 0
            Without SCHED_FIFO the measurement competes with all other tasks, and
            its result says little.
            $ printf '%s - rtprio 99\n%s - memlock unlimited\n' "$USER" "$USER" | sudo tee /etc/security/limits.d/90-latido.conf
            - log out and in again after this command; or run latido with sudo

    warning preemption model        voluntary, says CONFIG_PREEMPT_VOLUNTARY in
                                    /boot/config-6.12.9-amd64
            It bounds how long kernel work for other tasks delays a real-time task.
            boot with preempt=full
            $ sudo apt-get install linux-image-rt-amd64

    warning memory locking          only 8192 KiB (ulimit -l), and CAP_IPC_LOCK is
                                    missing
            A page fault in the loop costs microseconds to milliseconds.
            $ printf '%s - rtprio 99\n%s - memlock unlimited\n' "$USER" "$USER" | sudo tee /etc/security/limits.d/90-latido.conf
            - log out and in again after this command; or run latido with sudo

    warning frequency scaling       powersave, 400-4700 MHz (intel_pstate)
            A CPU that reduced its frequency while idle runs its first instructions
            slowly.
            $ sudo latido tune apply frequency:performance

    unknown management interrupts   there is no /dev/cpu/0/msr
            The firmware takes the CPU for 10 µs up to milliseconds; the kernel
            cannot see or prevent it.
            $ sudo modprobe msr
    "#);
}

#[test]
fn advice_on_interrupts_and_cpus_says_what_it_is_for_and_how_to_follow_it() {
    let text = shown();
    let (advice, _) = cut(cut(&text, "advice ").1, "advice  swap");
    insta::assert_snapshot!(advice, @"
    advice  interrupt threads       only handlers whose drivers request it
            A handler in a thread has a priority; a handler outside a thread
            preempts every task.
            boot with threadirqs

    advice  turbo                   on
            Frequencies above the nominal one depend on the temperature and on the
            load of other cores.
            $ sudo latido tune apply frequency:performance

    advice  fair server             50ms of 1s on CPUs 0-3; it affects busy loops,
                                    not periodic tasks
            Since Linux 6.12 it takes time from busy real-time tasks when other
            tasks starve.
            - only for a task that never sleeps; this affects all real-time tasks,
              and one that hangs blocks its CPU
            $ sudo latido tune apply throttle:off

    advice  isolated CPUs           none
            On an isolated CPU a real-time task meets no other tasks and few
            interrupts.
            $ sudo latido tune apply isolate:3
            boot with isolcpus=domain,managed_irq,3 nohz_full=3 rcu_nocbs=3

    advice  full tickless           no CPU; it hardly affects periodic tasks
            On other CPUs the tick interrupts a busy task 100 to 1000 times per
            second.
            boot with nohz_full=3

    advice  RCU callbacks           on every CPU
            They run in soft interrupts of the CPU that queued them, unless they are
            offloaded.
            boot with rcu_nocbs=3

    advice  interrupt placement     1 interrupt on all CPUs; no CPU is kept free
            Each interrupt that a measured CPU serves delays the task on it.
            - name the CPUs to be measured: latido check --cpus 3

    advice  SMT                     on
            A sibling thread shares the core's caches and execution units with the
            measured one.
            $ sudo latido tune apply smt:all
            boot with nosmt
    ");
}

#[test]
fn advice_on_memory_comes_after_that_on_cpus() {
    let text = shown();
    let (advice, _) = cut(cut(&text, "advice  swap").1, "ok ");
    insta::assert_snapshot!(advice, @"
    advice  swap                    1024 MiB
            Locked memory stays present, but a machine that swaps delays all tasks
            that wait for its disk.
            $ sudo swapoff -a

    advice  transparent huge pages  always
            The kernel moves memory to make them, and stops the tasks that use this
            memory meanwhile.
            $ sudo latido tune apply thp:madvise

    advice  memory compaction       moves locked pages too
            If the kernel moves a locked page, the next access is a page fault, even
            after mlockall.
            $ sudo latido tune apply compaction:off
    ");
}

#[test]
fn what_is_fine_is_brief_and_all_remedies_come_together_at_the_end() {
    let text = shown();
    let (_, fine) = cut(&text, "ok ");
    insta::assert_snapshot!(fine, @"
    ok      high-resolution timers  on, says /boot/config-6.12.9-amd64
    ok      clock source            tsc
    ok      kernel debugging        no costly option, says /boot/config-6.12.9-amd64
    ok      preemptible RCU         yes
    ok      priority inheritance    available to programs (PTHREAD_PRIO_INHERIT)
    ok      idle states             C10 takes 230 µs to leave; a run avoids it
                                    unless you pass --tune cstates:as-is
    ok      real-time throttle      950 ms of 1000 ms, which this kernel (6.12 or
                                    newer) no longer enforces
    ok      RT group scheduling     off
    ok      timer slack             50 µs, for time-sharing threads only
    ok      load now                0.40 tasks on 4 CPUs in the last minute; 0 now
    ok      hypervisor              none
    ok      stolen time             none since the start
    ok      container               none
    ok      group limits            no limit on processor time or CPUs
    ok      temperature             48 degrees, critical at 105

    all tunings together, until `latido tune undo` or a reboot (for one run: --tune each):
            $ sudo latido tune apply frequency:performance isolate:3 smt:all thp:madvise compaction:off

    all boot parameters together:
            preempt=full threadirqs isolcpus=domain,managed_irq,3 nohz_full=3 rcu_nocbs=3 nosmt
    ");
}

#[test]
fn json_is_one_document_with_the_points_and_the_verdict() {
    let (machine, points) = desktop();
    let document: serde_json::Value = serde_json::from_str(&json(Examined::Machine(&machine), &points)).unwrap();
    assert_eq!(document["verdict"], "unfit");
    assert_eq!(document["exit"], 2);
    assert_eq!(document["points"].as_array().unwrap().len(), points.len());
    assert_eq!(document["machine"]["kernel"], "6.12.9-amd64");
    let smt = &document["points"].as_array().unwrap().iter().find(|p| p["check"] == "SMT").unwrap()["remedies"][0];
    assert_eq!(smt["tune"], "smt:all");
}

#[test]
fn colour_adds_only_escape_sequences() {
    let (machine, points) = desktop();
    let (plain, coloured) =
        (table(&machine, &points, None, PLAIN), table(&machine, &points, None, Style { color: true, ..PLAIN }));
    assert!(coloured.contains("\x1b["));
    assert_eq!(crate::terminal::printable(&coloured, true), coloured, "the terminal shows each colour");
    let mut stripped = String::new();
    for (index, piece) in coloured.split("\x1b[").enumerate() {
        stripped.push_str(if index == 0 { piece } else { piece.split_once('m').unwrap().1 });
    }
    assert_eq!(stripped, plain);
}
