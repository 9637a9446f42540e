//! What a trace lost and what latido could not pair: how many, and the source of each number.

use super::{Lost, Stated};
use crate::words;
use latido_trace::{accounts::Source, pairing::Met};

/// The most CPUs that the text names one by one.
const NAMED: usize = 8;

impl Lost {
    pub(super) fn of(met: &Met) -> Self {
        let said = &met.said;
        let stated = said.said().map(|(source, cpu, said)| Stated {
            by: source.key(),
            cpu,
            times: said.times,
            events: said.events,
            uncounted: said.uncounted,
            source,
        });
        Self {
            gaps: said.gaps(),
            events: said.events(),
            uncounted: said.uncounted(),
            stated: stated.collect(),
            none_by: said.none_by().map(Source::key),
            unplaced: said.unplaced(),
            // Lines without a time, such as those of a graph, have no order in time, so there is no end of certainty.
            over_ns: met.over.filter(|_| met.events > 0).map(|over| over.saturating_sub(met.first)),
            over_cpu: met.over_cpu.filter(|_| met.events > 0),
            none: said.none_by(),
            placed: said.placed(),
            backwards: met.backwards,
            voided: met.unpaired.voided,
            unbegun: met.unpaired.unbegun,
            unended: met.unpaired.unended,
            unseen: met.unpaired.unseen,
            running: met.unpaired.running,
            refused: met.refused,
        }
    }

    /// Returns a sentence on what was lost.
    pub fn sentence(&self) -> String {
        let mut parts = self.counts();
        if self.voided > 0 {
            let many = words::many(self.voided, "pair");
            parts.push(format!("{many} left out, because these losses may have broken them"));
        }
        parts.extend(self.over());
        if self.backwards > 0 {
            parts.push(format!("time went back {}", words::many(self.backwards, "time")));
        }
        if self.refused > 0 {
            parts.push(format!("{} not followed, there were too many tasks", words::many(self.refused, "event")));
        }
        if parts.is_empty() {
            parts.push(match self.none {
                Some(source) => format!("no event, by {}", source.name()),
                None => "not stated: the trace does not say whether events were lost".into(),
            });
        }
        if self.unseen > 0 {
            let many = words::many(self.unseen, "wait");
            parts.push(format!(
                "{many} without an end: the kernel recorded no switch to a task that left its CPU later"
            ));
        }
        if self.unbegun + self.unended > 0 {
            let edges = format!("{} started before the trace, {} with no end in it", self.unbegun, self.unended);
            parts.push(edges);
        }
        parts.join("; ")
    }

    /// Returns the numbers of lost events, and their sources.
    fn counts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.gaps > 0 {
            let gaps = words::many(self.gaps, "gap");
            parts.push(match self.placed {
                (0, _) => format!("an unknown number of events in {gaps}"),
                (events, 0) => format!("{} in {gaps}", words::many(events, "event")),
                (events, _) => format!("at least {} in {gaps}", words::many(events, "event")),
            });
        }
        parts.extend([Source::Lines, Source::Pages, Source::Statistics, Source::Dropped].into_iter().filter_map(
            |of| {
                let cpus = self.by_cpu(of);
                (!cpus.is_empty()).then(|| format!("by {}: {cpus}", of.name()))
            },
        ));
        for one in self.stated.iter().filter(|one| matches!(one.source, Source::Header | Source::Histogram)) {
            parts.push(match (one.source, one.cpu) {
                (Source::Histogram, _) => {
                    format!("{} for which the histogram had no row, by its total", words::many(one.events, "hit"))
                }
                (_, Some(cpu)) => {
                    format!("an unknown number of the first events of CPU {cpu}, by a line of the header")
                }
                (_, None) if one.events == 0 => "an unknown number of events, by the header".into(),
                (_, None) => {
                    format!("{} overwritten before the text begins, by the header", words::many(one.events, "event"))
                }
            });
        }
        if let Some(first) = self.unplaced.first() {
            let more = self.unplaced.len() - 1;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            parts
                .push(format!("the place of those of CPU {first}{more} is unknown, so latido reports no wait or call"));
        }
        parts
    }

    /// Returns what a source states about each CPU.
    fn by_cpu(&self, source: Source) -> String {
        let of: Vec<&Stated> = self.stated.iter().filter(|one| one.source == source).collect();
        let one = |one: &&Stated| {
            let cpu = one.cpu.map_or_else(|| "other CPUs".to_owned(), |cpu| format!("CPU {cpu}"));
            match (one.events, one.uncounted) {
                (0, _) => format!("{cpu} not counted"),
                (events, 0) => format!("{cpu} {}", words::count(events)),
                (events, _) => format!("{cpu} at least {}", words::count(events)),
            }
        };
        let more = of.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("and {more} more"));
        of.iter().take(NAMED).map(one).chain(more).collect::<Vec<_>>().join(", ")
    }

    /// Returns a phrase on the time from which on latido reports nothing.
    fn over(&self) -> Option<String> {
        let over = self.over_ns?;
        let cpu = self.over_cpu.map_or_else(|| "a CPU".to_owned(), |cpu| format!("CPU {cpu}"));
        if over == 0 {
            return Some(format!(
                "{cpu} has no later events, so latido does not know where tasks were and reports no wait or call"
            ));
        }
        let from = words::value(over as f64, "ns");
        Some(format!("from {from} on, latido reports no wait or call, because {cpu} has no later events"))
    }
}
