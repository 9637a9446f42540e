//! Chapters: everything that one probe measured, as rows of calls and columns of systems.

use super::section::{Curve, PAGE, Section};
use latido_judge::{configuration::Configuration, differing::Differing, label};
use latido_model::cell::Cell;

/// All sections of a probe.
#[derive(Debug)]
pub struct Chapter<'s, 'a> {
    /// The probe's name.
    pub probe: &'a str,
    /// Its sections.
    pub sections: &'s [Section<'a>],
    /// The number in the report of the first of them.
    pub first: usize,
    /// The measured systems: a name for each combination of all axes except the probe.
    pub systems: Vec<String>,
    /// The measured calls.
    pub rows: Vec<CallRow<'s, 'a>>,
}

/// A quantity with its labels and the options that distinguish it from others.
#[derive(Debug)]
pub struct CallRow<'s, 'a> {
    /// `lock, inherit`.
    pub name: String,
    /// The index, in the chapter, of the section that contains it.
    pub section: usize,
    /// Its series for each system, if one was measured.
    pub series: Vec<Option<&'s Curve<'a>>>,
}

/// Returns the chapters of these sections, which are ordered by probe.
pub fn chapters<'s, 'a>(sections: &'s [Section<'a>]) -> Vec<Chapter<'s, 'a>> {
    let mut first = 0;
    let mut chapters = Vec::new();
    for sections in sections.chunk_by(|a, b| a.probe == b.probe) {
        let Some(probe) = sections.first().map(|s| s.probe) else { continue };
        let (systems, rows) = placed(sections);
        chapters.push(Chapter { probe, sections, first, systems, rows });
        first += sections.len();
    }
    chapters
}

impl<'s, 'a> Chapter<'s, 'a> {
    /// Returns the heading.
    pub fn title(&self) -> String {
        let declared =
            self.sections.iter().flat_map(|section| &section.series).map(|s| &s.configuration.measurand.title);
        declared.into_iter().find(|title| !title.is_empty()).map_or_else(|| self.probe.to_owned(), ToString::to_string)
    }

    /// Returns whether there are several calls to compare: then a table opens the chapter.
    pub fn is_many(&self) -> bool {
        self.rows.len() > 1
    }

    /// Returns whether it has so many sections that their details are folded below the table.
    pub fn is_folded(&self) -> bool {
        self.sections.len() > 2
    }

    /// Returns the width of its figures, in pixels.
    pub fn width(&self) -> f64 {
        self.sections.first().map_or(PAGE, |section| section.width)
    }

    /// Returns the section of a row.
    pub fn section(&self, row: &CallRow) -> Option<&'s Section<'a>> {
        self.sections.get(row.section)
    }
}

/// How rows and columns are distinguished. latido tries the variants from the simplest on, and takes the first that puts no two series into
/// one place.
#[derive(Clone, Copy)]
struct Telling {
    /// CPUs and limit belong to the system.
    fine: bool,
    /// Options are part of a row's name even if a label has the same name.
    all_options: bool,
    /// Series for the same place have separate rows.
    forced: bool,
}

fn placed<'s, 'a>(sections: &'s [Section<'a>]) -> (Vec<String>, Vec<CallRow<'s, 'a>>) {
    let way = |fine, all_options, forced| Telling { fine, all_options, forced };
    [way(false, false, false), way(true, false, false), way(true, true, false), way(true, true, true)]
        .into_iter()
        .find_map(|way| place(sections, way))
        .unwrap_or_default()
}

/// Returns the rows and columns for this variant; nothing if two series would have the same place.
fn place<'s, 'a>(sections: &'s [Section<'a>], way: Telling) -> Option<(Vec<String>, Vec<CallRow<'s, 'a>>)> {
    let mut configurations: Vec<&Configuration> = Vec::new();
    for series in sections.iter().flat_map(|s| &s.series) {
        if !configurations.iter().any(|known| std::ptr::eq(*known, series.configuration)) {
            configurations.push(series.configuration);
        }
    }
    let systems = label::systems(&configurations, way.fine);
    let mut rows: Vec<CallRow> = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        let alike = sections.iter().filter(|other| other.quantity == section.quantity);
        let others: Vec<&Cell> = alike.flat_map(|s| &s.series).map(|s| &s.configuration.cell).collect();
        let differing = Differing::of(&others);
        let start = rows.len();
        let mut seen: Vec<String> = Vec::new();
        for series in &section.series {
            let at = configurations.iter().position(|one| std::ptr::eq(*one, series.configuration))?;
            let system = *systems.of.get(at)?;
            let labelled = |key: &str| !way.all_options && section.labels.contains_key(key);
            let options = differing.options(&series.configuration.cell, &labelled);
            let parts = std::iter::once(section.short_title()).chain(options);
            let name = parts.collect::<Vec<_>>().join(", ");
            let free = |row: &CallRow| row.series.get(system).is_some_and(Option::is_none);
            let known = seen.iter().position(|other| *other == name).map(|i| start + i);
            let at = match known {
                Some(at) if rows.get(at).is_some_and(free) => at,
                Some(_) if !way.forced => return None,
                _ => {
                    let twin = known.is_some();
                    seen.push(if twin { format!("{name} #{}", seen.len() + 1) } else { name });
                    let name = seen.last()?.clone();
                    rows.push(CallRow { name, section: number, series: vec![None; systems.labels.len()] });
                    rows.len() - 1
                }
            };
            *rows.get_mut(at)?.series.get_mut(system)? = Some(series).filter(|s| s.pooled.summary.count > 0);
        }
    }
    Some((systems.labels, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample::calls, tree::sections};

    fn names<'c>(chapter: &'c Chapter) -> Vec<&'c str> {
        chapter.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn calls_are_rows_and_systems_are_columns() {
        let all = calls::mutex(&["idle", "busy"]);
        let sections = sections(&all);
        let chapters = chapters(&sections);
        let [mutex] = &chapters[..] else { panic!("{chapters:?}") };
        assert_eq!(mutex.systems, ["idle", "busy"]);
        assert_eq!(mutex.rows.len(), 13, "three calls of four kinds and the empty pair: {:?}", names(mutex));
        assert_eq!(names(mutex)[..4], ["lock, normal", "lock, inherit", "lock, ceiling", "lock, normal, shared"]);
        assert!(mutex.rows.iter().all(|row| row.series.iter().all(Option::is_some)));
    }

    #[test]
    fn options_are_rows_and_what_was_not_measured_is_a_gap() {
        let mut all = calls::switch(&["idle", "busy"], &["semaphore", "futex"]);
        all.retain(|one| one.cell.load.id == "idle" || one.cell.probe.options["by"].as_str() == Some("futex"));
        let sections = sections(&all);
        let chapters = chapters(&sections);
        assert_eq!(names(&chapters[0]), ["switch, by=semaphore", "switch, by=futex"]);
        let there: Vec<Vec<bool>> =
            chapters[0].rows.iter().map(|row| row.series.iter().map(Option::is_some).collect()).collect();
        assert_eq!(there, [[true, false], [true, true]]);
    }

    /// An option may determine the CPUs. Different CPUs are different systems only if nothing else distinguishes two series.
    #[test]
    fn cpus_are_columns_only_where_nothing_else_differs() {
        let mut all = calls::switch(&["idle"], &["semaphore", "futex"]);
        all[1].cell.conditions.cpus = Some([7].into_iter().collect());
        let systems = |all: &[Configuration]| chapters(&sections(all))[0].systems.clone();
        assert_eq!(systems(&all), ["idle"]);
        all[1].cell.probe = all[0].cell.probe.clone();
        assert_eq!(systems(&all), ["CPUs 2,3", "CPUs 7"]);
    }
}
