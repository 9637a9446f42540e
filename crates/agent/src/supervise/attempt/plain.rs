//! A world of plain values. A tape contains the answers and how long each takes, and the clock runs by the tape.

use super::{
    tests::{name, record},
    *,
};
use anyhow::{Error, Result, anyhow, bail};
use proptest::prelude::*;

/// The world's answer to one question, whichever question it is.
#[derive(Clone, Debug)]
pub struct Beat {
    /// How long the answer takes, ms.
    pub ms: u64,
    pub fails: bool,
    pub wish: Wish,
    pub gone: bool,
    pub word: Word,
    pub stands: bool,
    pub hot: bool,
}

/// A message from the measuring process.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    Nothing,
    Phase(Phase),
    Armed,
    Checkpoint,
    Record,
    Watched,
    Raise,
    Error,
    End,
}

pub fn beats() -> impl Strategy<Value = Vec<Beat>> {
    let word = prop_oneof![
        8 => Just(Word::Nothing),
        2 => Just(Word::Armed),
        6 => prop_oneof![Just(Phase::WarmUp), Just(Phase::Measuring), Just(Phase::Finishing)].prop_map(Word::Phase),
        2 => Just(Word::Checkpoint),
        1 => Just(Word::Record),
        1 => prop_oneof![Just(Word::Watched), Just(Word::Raise), Just(Word::Error)],
        1 => Just(Word::End),
    ];
    let ms = prop_oneof![6 => 0u64..30, 6 => 30u64..400, 1 => 900u64..12_000];
    let wish = prop_oneof![60 => Just(Wish::GoOn), 4 => Just(Wish::End), 1 => Just(Wish::EndNow)];
    let of = (ms, prop::bool::weighted(0.01), wish, any::<bool>(), word, any::<bool>(), prop::bool::weighted(0.1));
    let beat =
        of.prop_map(|(ms, fails, wish, gone, word, stands, hot)| Beat { ms, fails, wish, gone, word, stands, hot });
    prop::collection::vec(beat, 0..100)
}

/// The life of a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    pub begun: u32,
    pub counted: u32,
    pub ended: u32,
}

/// A machine of plain values.
#[derive(Debug, Default)]
pub struct Machine {
    pub tape: Vec<Beat>,
    pub now: Duration,
    pub planned: usize,
    pub tuned: u32,
    pub loads: Vec<Load>,
    /// Whether the measuring process lives, and how often it was started.
    pub measuring: bool,
    pub started: u32,
    pub watched: bool,
    /// The places of the records that were reported, sent and kept.
    pub said: Vec<String>,
    pub checkpoints: Vec<String>,
    pub kept: Vec<String>,
    pub collected: bool,
    pub error: Option<String>,
    pub undone: u32,
    pub closed: Option<Close>,
    /// Every deed and question, with its time.
    pub log: Vec<(Duration, String)>,
}

impl Machine {
    fn beat(&mut self) -> Option<Beat> {
        let beat = self.tape.pop()?;
        self.now += ms(beat.ms);
        Some(beat)
    }

    fn note(&mut self, what: &str) {
        assert!(self.closed.is_none(), "{what} behind the close");
        assert!(self.undone == 0 || what == "Close", "{what} behind the undoing");
        self.log.push((self.now, what.into()));
    }

    fn end_loads(&mut self) {
        self.loads.iter_mut().filter(|load| load.ended == 0).for_each(|load| load.ended += 1);
    }

    fn undo(&mut self) -> Event {
        assert!(!self.measuring, "the measuring process is still there");
        self.undone += 1;
        self.tuned = 0;
        self.end_loads();
        Event::Done
    }

    fn words(&mut self, word: Word) -> Event {
        let place = self.said.len().to_string();
        let mut measured = |outcome| {
            self.said.push(place.clone());
            record(outcome, &place)
        };
        Event::Told(match word {
            Word::Nothing => return Event::Silence,
            Word::End => return Event::Ended,
            Word::Phase(phase) => Told::Progress(Progress::of(phase)),
            Word::Armed => Told::Progress(Progress { armed_at_ns: 1, ..Progress::of(Phase::WarmUp) }),
            Word::Checkpoint => measured(Outcome::Checkpoint),
            Word::Record => measured(Outcome::Complete),
            Word::Watched => Told::Watched,
            Word::Raise => Told::IrqPriority { line: "eth0".into(), prio: 50 },
            Word::Error => Told::Error { message: "no".into() },
        })
    }
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl World for Machine {
    fn now(&self) -> Duration {
        self.now
    }

    fn perform(&mut self, deed: Deed) -> Result<()> {
        self.note(&name(&deed));
        if !matches!(deed, Deed::LetGo) {
            assert!(self.measuring || matches!(deed, Deed::StopLoads), "{deed:?} without a measuring process");
        }
        match deed {
            Deed::LoadsBegin => self.loads.iter_mut().for_each(|load| load.counted += 1),
            Deed::WatchBegins => self.watched = true,
            Deed::WatchEnds => self.watched = false,
            Deed::LookAround => assert!(self.watched, "nothing is watched"),
            Deed::Checkpoint(measured) => self.checkpoints.push(measured.place),
            Deed::Keep(measured) => self.kept.push(measured.place),
            Deed::Cool | Deed::StopLoads => self.end_loads(),
            Deed::Kill | Deed::LetGo => (self.measuring, self.watched) = (false, false),
            Deed::HandOver | Deed::Raise { .. } if self.tape.last().is_some_and(|beat| beat.fails) => bail!("refused"),
            _ => {}
        }
        Ok(())
    }

    fn answer(&mut self, ask: Ask) -> Result<Event> {
        let name: String = format!("{ask:?}").chars().take_while(char::is_ascii_alphanumeric).collect();
        self.note(&name);
        if let Ask::Pause(span) = ask {
            self.now += span;
            return Ok(Event::Turn);
        }
        let beat = self.beat();
        let fails = beat.as_ref().is_some_and(|beat| beat.fails);
        match ask {
            Ask::Undo => return Ok(self.undo()),
            // Some loads were started before the next one was refused.
            Ask::Load => {
                let count = if fails { self.planned / 2 } else { self.planned };
                self.loads = vec![Load { begun: 1, ..Load::default() }; count];
            }
            Ask::Tune => self.tuned = 1,
            _ => {}
        }
        if fails {
            bail!("{name} failed");
        }
        Ok(match ask {
            Ask::Load => Event::Loaded(ms(beat.map_or(0, |beat| beat.ms))),
            Ask::Loads => Event::Loads { stops: beat.is_some_and(|beat| beat.wish > Wish::GoOn) },
            Ask::Start => {
                (self.measuring, self.started) = (true, self.started + 1);
                Event::Done
            }
            Ask::Host => beat.map_or(Event::Host { wish: Wish::GoOn, gone: false }, |beat| Event::Host {
                wish: beat.wish,
                gone: beat.gone,
            }),
            Ask::Hear(patience) => {
                assert!([CLOSE_LOOK, LOOK].contains(&patience), "{patience:?}");
                // The tape has ended, and so has the stream.
                beat.map_or(Event::Ended, |beat| self.words(beat.word))
            }
            Ask::Glance => {
                assert!(self.watched, "nothing is watched");
                Event::Glanced { stands: beat.is_some_and(|beat| beat.stands) }
            }
            Ask::Heat => Event::Felt { hot: beat.is_some_and(|beat| beat.hot) },
            Ask::Collect => {
                // The watch ends with the process.
                (self.measuring, self.watched) = (false, false);
                if self.kept.is_empty() {
                    bail!("no record");
                }
                self.collected = true;
                Event::Done
            }
            Ask::Tune | Ask::Undo | Ask::Pause(_) => Event::Done,
        })
    }

    fn failed(&mut self, error: Error) {
        assert!(self.error.is_none(), "{error} after {:?}", self.error);
        self.error = Some(error.to_string());
    }

    fn close(&mut self, close: Close) -> Result<()> {
        self.note("Close");
        self.closed = Some(close);
        if close == Close::Send { Ok(()) } else { Err(anyhow!("none")) }
    }
}

/// Runs an attempt, and returns the world after it.
pub fn attempted(mut tape: Vec<Beat>, loads: usize, begin_ms: u64) -> Machine {
    tape.reverse();
    let mut machine = Machine { tape, planned: loads, now: ms(begin_ms), ..Machine::default() };
    let _ = carry_out(&mut machine);
    machine
}
