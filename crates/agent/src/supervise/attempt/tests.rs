//! Each decision separately: an event, the deeds, and what follows.

use super::*;
use latido_model::{record::Record, sample};

/// Returns the names of the deeds, and what follows.
fn told(next: Move) -> (Vec<String>, Next) {
    (next.deeds.iter().map(name).collect(), next.next)
}

/// Returns a deed's name.
pub(super) fn name(deed: &Deed) -> String {
    format!("{deed:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns a record from the measuring process.
pub(super) fn record(outcome: Outcome, place: &str) -> Told {
    let record = Record { outcome, ..sample::measured(sample::cell(), &[]) };
    Told::Record { record: Box::new(record), files: Vec::new(), place: place.into() }
}

fn progress(phase: Phase) -> Event {
    Event::Told(Told::Progress(Progress::of(phase)))
}

/// Returns an attempt whose measuring process was started at this time.
fn listening(at: Duration) -> Attempt {
    let mut attempt = Attempt::default();
    for event in [Event::Begun, Event::Done, Event::Loaded(Duration::ZERO), Event::Loads { stops: false }, Event::Done]
    {
        attempt.on(event, at);
    }
    assert_eq!(attempt.stage, Stage::Listening);
    attempt
}

/// Returns the deeds directly after a message.
fn said(attempt: &mut Attempt, event: Event) -> Vec<String> {
    let (deeds, next) = told(attempt.on(event, ms(0)));
    assert_eq!(next, Next::Ask(Ask::Pause(Duration::ZERO)), "the clock is read next");
    deeds
}

fn asks(ask: Ask) -> (Vec<String>, Next) {
    (Vec::new(), Next::Ask(ask))
}

fn does<const N: usize>(names: [&str; N], ask: Ask) -> (Vec<String>, Next) {
    (names.map(String::from).to_vec(), Next::Ask(ask))
}

#[test]
fn steps_follow_each_other_and_everything_is_undone_before_the_record_is_sent() {
    let mut attempt = Attempt::default();
    let mut next = |event| told(attempt.on(event, ms(0)));
    assert_eq!(next(Event::Begun), asks(Ask::Tune));
    assert_eq!(next(Event::Done), asks(Ask::Load));
    assert_eq!(next(Event::Loaded(ms(0))), asks(Ask::Loads));
    assert_eq!(next(Event::Loads { stops: false }), asks(Ask::Start));
    assert_eq!(next(Event::Done), asks(Ask::Host));
    assert_eq!(next(Event::Host { wish: Wish::GoOn, gone: false }), asks(Ask::Hear(LOOK)));
    assert_eq!(next(Event::Silence), asks(Ask::Pause(ms(0))));
    assert_eq!(next(Event::Turn), asks(Ask::Host));
    assert_eq!(next(Event::Ended), asks(Ask::Collect));
    assert_eq!(next(Event::Done), asks(Ask::Undo));
    assert_eq!(next(Event::Done), (Vec::new(), Next::Close(Close::Send)));
}

/// latido checks the loads while they settle, and once more when that time is over. Only the clock decides when.
#[test]
fn loads_settle_by_the_clock() {
    let mut attempt = Attempt::default();
    attempt.on(Event::Begun, ms(0));
    attempt.on(Event::Done, ms(0));
    let mut next = |event, at| told(attempt.on(event, ms(at)));
    let live = || Event::Loads { stops: false };
    assert_eq!(next(Event::Loaded(ms(250)), 1000), asks(Ask::Loads));
    assert_eq!(next(live(), 1001), asks(Ask::Pause(ms(100))));
    assert_eq!(next(Event::Turn, 1200), asks(Ask::Loads));
    assert_eq!(next(live(), 1249), asks(Ask::Pause(ms(50))), "what was left when they were looked at");
    assert_eq!(next(Event::Turn, 1250), asks(Ask::Loads));
    assert_eq!(next(live(), 1250), asks(Ask::Start));
}

#[test]
fn a_stop_while_loads_settle_undoes_them() {
    let mut attempt = Attempt::default();
    for event in [Event::Begun, Event::Done, Event::Loaded(ms(0))] {
        attempt.on(event, ms(0));
    }
    assert_eq!(told(attempt.on(Event::Loads { stops: true }, ms(0))), asks(Ask::Undo));
    assert_eq!(attempt.on(Event::Done, ms(0)).next, Next::Close(Close::TooEarly));
}

/// Before the start of the measuring process there is nothing to drop. From its start on, it must go before the loads and settings.
#[test]
fn a_failure_of_any_step_undoes_everything() {
    let steps = || [Event::Begun, Event::Done, Event::Loaded(ms(0)), Event::Loads { stops: false }, Event::Done];
    for taken in 1..=5 {
        let mut attempt = Attempt::default();
        steps().into_iter().take(taken).for_each(|event| _ = attempt.on(event, ms(0)));
        let expected = if taken == 5 { does(["LetGo"], Ask::Undo) } else { asks(Ask::Undo) };
        assert_eq!(told(attempt.on(Event::Failed, ms(0))), expected, "after {taken} steps");
        assert_eq!(attempt.on(Event::Done, ms(0)).next, Next::Close(Close::Report));
    }
    let mut attempt = listening(ms(0));
    attempt.on(Event::Ended, ms(0));
    assert_eq!(told(attempt.on(Event::Failed, ms(0))), does(["LetGo"], Ask::Undo), "no record came");
    assert_eq!(attempt.on(Event::Failed, ms(0)).next, Next::Close(Close::Report), "what cannot be undone is reported");
}

#[test]
fn samples_count_from_the_first_measuring_to_the_first_finishing() {
    let mut attempt = listening(ms(0));
    let armed = || Event::Told(Told::Progress(Progress { armed_at_ns: 7, ..Progress::of(Phase::WarmUp) }));
    assert_eq!(said(&mut attempt, progress(Phase::WarmUp)), ["Tell"]);
    assert_eq!(said(&mut attempt, armed()), ["LetGoOfCode", "Tell"]);
    assert_eq!(said(&mut attempt, armed()), ["Tell"], "it is let go once");
    assert_eq!(said(&mut attempt, progress(Phase::Measuring)), ["LoadsBegin", "WatchBegins", "Tell"]);
    assert_eq!(said(&mut attempt, progress(Phase::Measuring)), ["Tell"]);
    assert_eq!(said(&mut attempt, progress(Phase::Finishing)), ["LoadsEnd", "WatchEnds", "Tell"]);
    assert_eq!(said(&mut attempt, progress(Phase::Finishing)), ["Tell"]);
    assert_eq!(said(&mut attempt, progress(Phase::Measuring)), ["Tell"], "what is over does not begin again");
    // If the loops are shorter than a look, they are over before the supervisor learns that they measure.
    let mut short = listening(ms(0));
    assert_eq!(said(&mut short, progress(Phase::Finishing)), ["LoadsEnd", "WatchEnds", "Tell"]);
}

#[test]
fn every_word_has_its_deed() {
    let mut attempt = listening(ms(0));
    let interrupt = Told::IrqPriority { line: "eth0".into(), prio: 90 };
    for (word, deed) in [
        (record(Outcome::Checkpoint, "1"), "Checkpoint"),
        (record(Outcome::Complete, "2"), "Keep"),
        (record(Outcome::Interrupted, "3"), "Keep"),
        (Told::Ranks { priority: Some(90) }, "Rank"),
        (Told::Watched, "HandOver"),
        (interrupt, "Raise"),
        (Told::Error { message: "no".into() }, "Blame"),
    ] {
        assert_eq!(said(&mut attempt, Event::Told(word)), [deed]);
    }
    assert_eq!(said(&mut attempt, Event::Told(Told::End)), [""; 0]);
}

/// latido requests the end of the loops. It forces the end only if the host is gone, and only after ten seconds.
#[test]
fn an_end_is_made_where_the_host_is_gone_and_the_loops_do_not_end() {
    let mut attempt = listening(ms(0));
    let mut next = |gone, at| told(attempt.on(Event::Host { wish: Wish::End, gone }, ms(at)));
    assert_eq!(next(false, 1_000), does(["Stop"], Ask::Hear(LOOK)));
    assert_eq!(next(true, 5_000), asks(Ask::Hear(LOOK)), "once");
    assert_eq!(next(true, 11_000), asks(Ask::Hear(LOOK)), "not at ten seconds, but behind them");
    assert_eq!(next(false, 60_000), asks(Ask::Hear(LOOK)), "a host that is there waits for its record");
    assert_eq!(next(true, 60_000), does(["Kill", "StopLoads", "LetGo"], Ask::Undo));
    assert_eq!(attempt.on(Event::Done, ms(60_000)).next, Next::Close(Close::AtOnce));
}

#[test]
fn an_end_at_once_ends_the_loops_before_the_loads() {
    let mut attempt = listening(ms(0));
    let next = attempt.on(Event::Host { wish: Wish::EndNow, gone: false }, ms(0));
    assert_eq!(told(next), does(["Kill", "StopLoads", "LetGo"], Ask::Undo));
    assert_eq!(attempt.on(Event::Done, ms(0)).next, Next::Close(Close::AtOnce));
}

/// There must be ten glances per second, a hundred while a thread is stalled, and no glance while nothing is watched.
#[test]
fn a_thread_that_stands_is_glanced_at_more_often() {
    let mut attempt = listening(ms(0));
    assert_eq!(told(attempt.on(Event::Turn, ms(100))), asks(Ask::Host), "nothing is watched yet");
    attempt.on(progress(Phase::Measuring), ms(100));
    assert_eq!(told(attempt.on(Event::Turn, ms(199))), asks(Ask::Host));
    assert_eq!(told(attempt.on(Event::Turn, ms(200))), asks(Ask::Glance));
    assert_eq!(told(attempt.on(Event::Glanced { stands: true }, ms(201))), asks(Ask::Host));
    let go_on = || Event::Host { wish: Wish::GoOn, gone: false };
    assert_eq!(told(attempt.on(go_on(), ms(202))), asks(Ask::Hear(CLOSE_LOOK)));
    assert_eq!(told(attempt.on(Event::Turn, ms(209))), asks(Ask::Host));
    assert_eq!(told(attempt.on(Event::Turn, ms(210))), asks(Ask::Glance));
    assert_eq!(told(attempt.on(Event::Glanced { stands: false }, ms(210))), asks(Ask::Host));
    assert_eq!(told(attempt.on(go_on(), ms(211))), asks(Ask::Hear(LOOK)));
    // The loops end while a thread is stalled: nothing is watched any longer.
    attempt.on(Event::Turn, ms(310));
    attempt.on(Event::Glanced { stands: true }, ms(310));
    attempt.on(progress(Phase::Finishing), ms(311));
    assert_eq!(told(attempt.on(Event::Turn, ms(320))), asks(Ask::Host));
    assert_eq!(told(attempt.on(go_on(), ms(321))), asks(Ask::Hear(LOOK)));
}

/// Looks come once per second. The second begins anew when samples begin to count.
#[test]
fn looks_come_once_a_second() {
    let mut attempt = listening(ms(0));
    let turn = |attempt: &mut Attempt, at| {
        let next = attempt.on(Event::Turn, ms(at));
        // A glance that is due comes first.
        told(if next.next == Next::Ask(Ask::Glance) {
            attempt.on(Event::Glanced { stands: false }, ms(at))
        } else {
            next
        })
    };
    assert_eq!(turn(&mut attempt, 999), asks(Ask::Host));
    assert_eq!(turn(&mut attempt, 1_000), does(["Reap"], Ask::Heat), "the loads heat before anything is watched");
    attempt.on(Event::Felt { hot: false }, ms(1_000));
    attempt.on(progress(Phase::Measuring), ms(1_500));
    assert_eq!(turn(&mut attempt, 1_501), asks(Ask::Host));
    assert_eq!(turn(&mut attempt, 2_500), asks(Ask::Host), "a second behind the begin, not behind the last look");
    assert_eq!(turn(&mut attempt, 2_501), does(["Reap", "LookAround"], Ask::Heat));
    attempt.on(Event::Felt { hot: false }, ms(2_501));
    attempt.on(progress(Phase::Finishing), ms(2_600));
    assert_eq!(turn(&mut attempt, 3_501), does(["Reap"], Ask::Host), "what is over is not ended by heat");
}

#[test]
fn heat_ends_the_loads_before_the_loops_and_once() {
    let mut attempt = listening(ms(0));
    attempt.on(Event::Turn, ms(1_000));
    assert_eq!(told(attempt.on(Event::Felt { hot: true }, ms(1_000))), does(["Cool", "Stop"], Ask::Host));
    assert_eq!(told(attempt.on(Event::Turn, ms(2_000))), does(["Reap"], Ask::Host), "it is not felt again");
    // If the host already requested the end, latido does not request it again.
    let mut ending = listening(ms(0));
    ending.on(Event::Host { wish: Wish::End, gone: false }, ms(0));
    ending.on(Event::Turn, ms(1_000));
    assert_eq!(told(ending.on(Event::Felt { hot: true }, ms(1_000))), does(["Cool"], Ask::Host));
}

/// An answer to a question that was not asked must lead to the undoing.
#[test]
fn an_answer_that_fits_nothing_undoes() {
    for event in [Event::Done, Event::Turn, Event::Ended, Event::Silence, Event::Loaded(ms(1))] {
        assert_eq!(told(Attempt::default().on(event, ms(0))), asks(Ask::Undo));
    }
    assert_eq!(told(listening(ms(0)).on(Event::Loaded(ms(1)), ms(0))), does(["LetGo"], Ask::Undo));
}
