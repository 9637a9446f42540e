//! One measurement by a program: ready, go, its lines, stop, its end.

use super::{
    CommandProbe,
    account::{Account, Taking},
    pipe::{Brought, Samples},
    program::{Program, name_of},
};
use crate::measure::{Interval, Stage};
use anyhow::{Result, bail};
use latido_import::source::{Form, HEADER, Reader, Unit};
use latido_model::{
    protocol::{Phase, Progress},
    record::{Outcome, Reported},
    units::many,
};
use latido_sys::clock::Clock::Monotonic;
use rustix::process::Signal;
use std::{
    collections::BTreeMap,
    io::Write,
    time::{Duration, Instant},
};

/// The interval at which latido reports progress.
const LOOK: Duration = Duration::from_millis(200);
/// How long the program may be silent after `stop`, or after a signal, before latido sends a signal.
const QUIET: Duration = Duration::from_secs(2);
/// How long the program may continue to send lines after `stop`.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long latido waits for the end of a pipe that other processes may keep open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The most bytes per read.
const PIECE: usize = 1 << 18;

struct Conversation<'a, 'b, 'c> {
    probe: &'a CommandProbe,
    stage: &'a mut Stage<'b>,
    program: &'c mut Program,
    samples: Samples,
    reader: Reader,
    account: Account,
    piece: Vec<u8>,
    /// Whether latido has not sent `stop` yet.
    measuring: bool,
    by: String,
}

/// Runs the whole measurement, and delivers the samples.
///
/// # Errors
/// The program cannot be started, is not ready in time, sends no header, or ends with a status other than 0.
pub(super) fn hold(probe: &CommandProbe, stage: &mut Stage<'_>) -> Result<()> {
    // This value is about this process, which does not measure.
    stage.evidence.timer_slack_ns = None;
    let by = name_of(&probe.argv);
    let (mut program, pipe) = Program::start(probe, stage)?;
    let started = Instant::now();
    stage.evidence.policy_refused = program.refused.take();
    let mut talk = Conversation {
        probe,
        stage,
        samples: Samples::of(pipe)?,
        reader: Reader::new(probe.form(), probe.unit.as_deref().and_then(Unit::named)),
        account: Account::new(),
        piece: vec![0; PIECE],
        program: &mut program,
        measuring: true,
        by,
    };
    talk.until_ready(started)?;
    let ready_ns = (probe.form() == Form::Latido).then(|| started.elapsed().as_nanos() as u64);
    let interval = talk.measured()?;
    talk.until_over()?;
    talk.delivered(interval, ready_ns)
}

impl Conversation<'_, '_, '_> {
    /// Reads the available bytes; `None` at the end of the pipe.
    fn hear(&mut self) -> Result<Option<usize>> {
        let brought = self.samples.read(&mut self.piece)?;
        let Brought::Bytes(length, full) = brought else {
            return Ok((brought == Brought::Nothing).then_some(0));
        };
        self.account.now = Monotonic.now();
        if full {
            self.account.pipe_was_full(self.measuring);
        }
        let bytes = self.piece.get(..length).unwrap_or_default();
        let mut taking = Taking { account: &mut self.account, stage: &*self.stage };
        self.reader.take(bytes, &mut taking);
        self.account.sound()?;
        if self.reader.header() == Some(false) {
            let (expected, by) = (String::from_utf8_lossy(HEADER), &self.by);
            let came = self.reader.kept().first().map_or("", String::as_str);
            let what = format!(
                "the first line of `{by}` is not `{expected}` but `{came}` (see format=; a program that prints other text \
                 needs channel=fd)"
            );
            return Err(self.program.blame(&what));
        }
        Ok(Some(length))
    }

    fn until_ready(&mut self, started: Instant) -> Result<()> {
        if self.probe.form() != Form::Latido {
            return Ok(());
        }
        let patience = self.probe.ready.as_duration();
        let mut told = Instant::now();
        self.stage.tell(&Progress::of(Phase::WarmUp))?;
        while !self.account.ready {
            if self.hear()?.is_none() {
                let by = self.by.clone();
                self.program.await_end(QUIET);
                // A status other than 0 explains more than a missing line.
                self.program.finish(&by)?;
                return Err(self.program.blame(&format!("`{by}` ended before it was ready")));
            }
            if self.stage.interrupted() {
                bail!("stopped before `{}` was ready", self.by);
            }
            if started.elapsed() > patience {
                let heard = match self.reader.lines() {
                    0 => "it printed nothing".to_owned(),
                    lines => format!("{} without `ready`", many(lines, "line")),
                };
                let what = format!("`{}` was not ready within {} ({heard}; see ready=)", self.by, self.probe.ready);
                return Err(self.program.blame(&what));
            }
            if told.elapsed() > LOOK {
                told = Instant::now();
                self.stage.tell(&Progress::of(Phase::WarmUp))?;
            }
            self.samples.wait(Duration::from_millis(20));
        }
        if !self.account.has_series() {
            let bad = self.reader.kept().first().map(|line| format!("; its first bad line is `{line}`"));
            bail!("`{}` is ready but has declared no series{}", self.by, bad.unwrap_or_default());
        }
        Ok(())
    }

    /// Measures from `go` to `stop`. The warm-up comes first, and its samples do not count.
    fn measured(&mut self) -> Result<Interval> {
        let missing = self.account.missing();
        self.stage.skipped.extend(missing);
        let conditions = self.stage.cell.conditions.clone();
        // If a thread's policy is unknown, latido cannot tell which tasks outrank it.
        let priority = self.account.threads.priority();
        if self.probe.asked(&self.stage.cell).is_none() {
            self.stage.ranks(priority)?;
        }
        let armed_at_ns = Monotonic.now();
        let first_slot_ns = armed_at_ns.saturating_add(conditions.warmup.0);
        let until = first_slot_ns.saturating_add(conditions.duration.0);
        self.account.begin(self.stage, Interval { first_slot_ns, ended_ns: until })?;
        self.account.now = armed_at_ns;
        self.program.tell("go");
        let mut progress = Progress { total_ns: conditions.duration.0, armed_at_ns, ..Progress::of(Phase::WarmUp) };
        let (mut next_look, mut begun) = (armed_at_ns, false);
        loop {
            let now = Monotonic.now();
            if !begun && now >= first_slot_ns {
                begun = true;
                self.account.threads.begin();
                next_look = now;
            }
            if now >= next_look {
                next_look = now.saturating_add(LOOK.as_nanos() as u64);
                progress.elapsed_ns = now.saturating_sub(first_slot_ns);
                progress.phase = if begun { Phase::Measuring } else { Phase::WarmUp };
                progress.threads = self.account.progress();
                self.stage.tell(&progress)?;
                self.account.threads.look();
            }
            if now >= until || self.stage.interrupted() {
                break;
            }
            match self.hear()? {
                // The program has ended, even if children that it started keep the pipe open.
                Some(0) if self.program.has_ended() => break,
                Some(0) => {
                    let next = next_look.min(until).min(if begun { u64::MAX } else { first_slot_ns });
                    self.samples.wait(Duration::from_nanos(next.saturating_sub(now)).max(Duration::from_micros(100)));
                }
                Some(_) => {}
                None => break,
            }
        }
        self.account.threads.look();
        let ended_ns = Monotonic.now().clamp(first_slot_ns, until);
        self.account.until(ended_ns);
        self.stage.tell(&Progress::of(Phase::Finishing))?;
        // A requested trace ends here, not when the program ends.
        if conditions.trace.is_some() {
            self.stage.end_recording()?;
        }
        Ok(Interval { first_slot_ns, ended_ns })
    }

    /// Sends `stop` and reads the rest. Then it sends signals, each after a silence.
    fn until_over(&mut self) -> Result<()> {
        let latest = self.samples.seen.latest;
        self.measuring = false;
        self.program.tell("stop");
        // A program of another format knows no `stop`: latido does not wait after it.
        let mut signals = [Signal::TERM, Signal::KILL].into_iter();
        let began = Instant::now();
        let mut last = Instant::now();
        let mut patience = if self.probe.form() == Form::Latido { QUIET } else { Duration::ZERO };
        loop {
            match self.hear()? {
                None => break,
                Some(0) => {
                    self.samples.wait(Duration::from_millis(5));
                    if self.program.has_ended() && last.elapsed() > LAST_WORDS {
                        break;
                    }
                }
                Some(_) => last = Instant::now(),
            }
            let done = self.account.has_ended() && !self.program.has_ended() && last.elapsed() > LAST_WORDS;
            if done || last.elapsed() > patience || began.elapsed() > PATIENCE {
                let Some(signal) = signals.next() else { break };
                self.program.urge(signal);
                (last, patience) = (Instant::now(), QUIET);
            }
        }
        // A program that closed its pipe may still be running.
        if !self.program.await_end(QUIET) {
            self.program.urge(Signal::TERM);
            self.program.await_end(QUIET);
        }
        self.samples.seen.latest = latest;
        self.reader.finish();
        Ok(())
    }

    fn delivered(self, interval: Interval, ready_ns: Option<u64>) -> Result<()> {
        let Self { probe, stage, program, samples, reader, mut account, by, .. } = self;
        let exit = program.finish(&by)?;
        let ended = account.has_ended();
        let mut reported = Reported {
            by,
            program: program.found.take(),
            format: probe.format.clone(),
            channel: probe.channel.name().into(),
            ready_ns,
            policy_asked: probe.asked(&stage.cell).is_some(),
            lines: reader.lines(),
            bad: reader.bad().map(|(kind, count)| (kind.name().to_owned(), count)).collect::<BTreeMap<_, _>>(),
            examples: reader.kept().to_vec(),
            ended,
            pipe: samples.seen,
            exit,
            ..Reported::default()
        };
        reported.pipe.blocked = account.blocked;
        account.until(interval.ended_ns);
        let (gathered, threads) = account.close(&mut reported);
        let Some(gathered) = gathered else { bail!("latido never sent `go` to `{}`", reported.by) };
        let said = program.said();
        if !said.is_empty() {
            stage.attach("program.txt")?.write_all(&said)?;
        }
        let whole = ended || probe.form() != Form::Latido;
        let outcome = if stage.interrupted() || !whole { Outcome::Interrupted } else { Outcome::Complete };
        stage.evidence.threads = threads.evidence();
        stage.evidence.reported = Some(reported);
        stage.deliver_as(outcome, gathered)
    }
}
