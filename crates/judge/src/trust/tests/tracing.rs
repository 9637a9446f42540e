//! The kernel's trace: active without a request, or frozen on request.

use super::*;

/// A user who stops on a sample wants the trace; any other user pays for one without knowing it.
#[test]
fn a_trace_that_nobody_asked_for_is_a_note() {
    let on = |r: &mut Record| {
        let active = vec![tracer("", "function", true), tracer("mine", "nop", true)];
        r.quality.tracing = Some(Tracing::Seen { active });
    };
    let found = finding("tracing", on);
    insta::assert_snapshot!(found.sentence(), @"tracing: the kernel traces: function and events, in the instance mine events; each sample includes the cost of that");
    assert_eq!(found.grade, Note);
    let asked = finding("tracing", |r| {
        on(r);
        r.cell.conditions.stop_on = Some(latido_model::units::Ns(1));
    });
    assert_eq!(asked.grade, Grade::Ok);
    assert!(asked.text().contains("the cost"), "{}", asked.text());
    let unseen = finding("tracing", |r| r.quality.tracing = Some(Tracing::Unseen { why: "no tracefs".into() }));
    assert_eq!((unseen.grade, unseen.text().as_str()), (Unknown, "not measured: no tracefs"));
    let none = finding("tracing", |r| r.quality.tracing = Some(Tracing::Seen { active: vec![] }));
    assert_eq!((none.grade, none.text().as_str()), (Grade::Ok, "none seen, checked once per second"));
    let record = sample::record();
    let findings = findings(&record, &Deciding::default());
    assert!(findings.iter().all(|f| f.check != "tracing" && f.check != "frozen trace"), "nobody looked");
}

#[test]
fn a_frozen_trace_says_how_to_go_on() {
    let frozen = |failed: Option<&str>| {
        finding("frozen trace", |r| {
            r.quality.freeze = Some(Freeze::Frozen {
                switches: vec!["/sys/kernel/tracing/tracing_on".into()],
                value_ns: 123_456,
                cpu: Some(1),
                monotonic_ns: 5,
                failed: failed.map(String::from),
            });
        })
    };
    let found = frozen(None);
    insta::assert_snapshot!(found.sentence(), @"frozen trace: marked and switched off at a sample of 123 µs, CPU 1, as stop_on requests; it stays off until `echo 1 > /sys/kernel/tracing/tracing_on`");
    assert_eq!(found.grade, Note);
    assert!(frozen(Some("EBADF")).text().contains("EBADF"));
    let state = |freeze: Freeze| {
        let found = finding("frozen trace", |r| r.quality.freeze = Some(freeze.clone()));
        (found.grade, found.text())
    };
    assert_eq!(state(Freeze::Armed), (Grade::Ok, "ready, and not needed: no sample was above stop_on".into()));
    assert_eq!(state(Freeze::Off), (Grade::Ok, "tracing was off: nothing to freeze".into()));
    assert_eq!(
        state(Freeze::Impossible { why: "x".into() }),
        (Note, "latido could not freeze the kernel's trace: x".into())
    );
}

/// A sample that events did not show may be the worst one: the check reports it with the count. The check does not apply to a probe that
/// runs its own loop.
#[test]
fn what_the_kernel_left_out_is_a_note() {
    let of = |facts: &[(&str, i64)]| {
        finding("events", |r| {
            r.series[0].facts.extend(facts.iter().map(|(name, count)| ((*name).to_owned(), *count)));
        })
    };
    let found = of(&[("lost", 0), ("voided", 2), ("unseen", 3)]);
    insta::assert_snapshot!(found.sentence(), @"events: 2 samples void because events were lost, 3 without a switch, which the kernel did not record: the missing samples may be the worst, and may differ from the others");
    assert_eq!(found.grade, Note);
    assert_eq!(of(&[("lost", 0), ("voided", 0)]).grade, Grade::Ok);
    let cut = finding("events", |r| {
        r.series[0].facts.insert("lost".into(), 0);
        r.quality.trace = Some(sample::trace());
    });
    assert_eq!(cut.grade, Note);
    assert!(cut.sentence().contains("the recording ended early (the disk is full)"), "{}", cut.sentence());
    assert!(findings(&sample::record(), &Deciding::default()).iter().all(|f| f.check != "events"));
}
