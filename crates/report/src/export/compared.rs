//! What `latido compare` and `latido history` found, as tests of JUnit: one per verdict that decides.

use super::{
    case::Case,
    junit::{self, Suite},
    state::State,
};
use crate::{
    compare::{self, name},
    history,
    numbers::{
        compare::{estimate, word},
        p_text,
    },
};
use latido_judge::{
    compare as of_runs,
    history::Histories,
    numbers::{compare as of_values, history::Outcome},
};
use latido_statistics::two::{Scale, Verdict};

/// Returns the tests of compared runs. Their names contain no run and no date, so a CI system can follow them.
pub fn runs(compared: &of_runs::Compared) -> String {
    let sides = compared.arms.iter().map(|side| (format!("latido.side.{}", side.arm), side.runs.join(", ")));
    let metric = ("latido.metric".to_owned(), compared.metric.to_string());
    let cases = of_rows(compared);
    junit::document(&[Suite {
        name: "comparison",
        class: "latido.compare".into(),
        properties: std::iter::once(metric).chain(sides).collect(),
        cases: &cases,
        ..Suite::default()
    }])
}

/// Returns the tests of compared values, which come from `name`.
pub fn values(compared: &of_values::Compared, name: &str) -> String {
    let cases: Vec<Case> = compared
        .comparisons
        .iter()
        .map(|one| Case {
            name: format!("{} against {}", one.arm, one.base),
            state: state(of_values::outcome_of(&one.verdict, true)),
            why: why(&one.verdict, &format!("{}, p {}", estimate(one, compared.unit), p_text(one.p_holm))),
        })
        .collect();
    junit::document(&[Suite {
        name: "comparison",
        class: "latido.compare".into(),
        properties: vec![("latido.values".into(), name.to_owned())],
        cases: &cases,
        ..Suite::default()
    }])
}

/// Returns the tests of a history: one per series that decides.
pub fn histories(found: &Histories) -> String {
    let series = found.series.iter().filter(|one| one.decides);
    let mut cases: Vec<Case> = series
        .map(|one| Case {
            name: format!("{}: {}", history::name(one), found.metric),
            state: match one.outcome() {
                Outcome::Worse => State::Fail,
                Outcome::Undecided => State::Undecided,
                Outcome::NotWorse => State::Pass,
            },
            why: history::newest(one),
        })
        .collect();
    // The newest run of a series that does not decide so may be left out, and may be worse.
    if found.outcome == Outcome::Undecided && !cases.iter().any(|case| case.state == State::Undecided) {
        let why = found.left_out.join("; ");
        cases.push(Case { name: "the newest run counts".into(), state: State::Undecided, why });
    }
    let newest = ("latido.run".to_owned(), found.runs.last().cloned().unwrap_or_default());
    junit::document(&[Suite {
        name: "history",
        class: "latido.history".into(),
        properties: vec![("latido.metric".into(), found.metric.to_string()), newest],
        cases: &cases,
        ..Suite::default()
    }])
}

/// Returns the tests of the rows that decide. What latido left out may be worse: no file with such a place looks like a pass.
fn of_rows(compared: &of_runs::Compared) -> Vec<Case> {
    let rows = compared.rows.iter().filter(|row| row.decides);
    let mut cases: Vec<Case> = rows
        .map(|row| Case {
            name: format!("{}: {} of {} against {}", name(row), compared.metric, row.arm, row.base),
            state: state(compared.outcome_of(row)),
            why: why(&row.verdict, &figures(row)),
        })
        .collect();
    let left_out: Vec<&str> = compared.left_out.iter().map(|one| one.detail.as_str()).collect();
    if cases.is_empty() || !left_out.is_empty() {
        let why = if cases.is_empty() { "latido made no deciding comparison".into() } else { left_out.join("; ") };
        cases.push(Case { name: "every place is compared".into(), state: State::Undecided, why });
    }
    cases
}

/// `ratio 2.10 (1.60 to 2.70), p .001`.
fn figures(row: &of_runs::Row) -> String {
    let scale = row.comparison.as_ref().map(|found| match found.question.scale {
        Scale::Ratio => "ratio",
        Scale::Difference => "difference",
    });
    let interval = compare::interval(row).map(|interval| format!(" ({interval})")).unwrap_or_default();
    let estimate = scale.zip(compare::estimate(row)).map(|(scale, estimate)| format!("{scale} {estimate}{interval}"));
    let p = row.p_holm.map(|p| format!("p {}", p_text(p)));
    estimate.into_iter().chain(p).collect::<Vec<_>>().join(", ")
}

/// `higher; ratio 2.10 (1.60 to 2.70), p .001`.
fn why(verdict: &Verdict, figures: &str) -> String {
    let reason = if let Verdict::Undecided { reason } = verdict { format!(": {reason}") } else { String::new() };
    let figures = if figures.is_empty() { String::new() } else { format!("; {figures}") };
    format!("{}{reason}{figures}", word(verdict).0)
}

fn state(outcome: of_values::Outcome) -> State {
    match outcome {
        of_values::Outcome::Worse => State::Fail,
        of_values::Outcome::Undecided => State::Undecided,
        of_values::Outcome::NotWorse => State::Pass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::numbers::Kind;
    use latido_statistics::two::Question;

    fn compared(of_b: [f64; 6]) -> of_values::Compared {
        let arms = [("a", vec![10.0, 11.0, 12.0, 13.0, 14.0, 15.0]), ("b", of_b.into())];
        let arms = arms.map(|(name, values)| of_values::Arm { name: name.into(), values });
        of_values::of(&arms, Question::RATIO, Kind::AsGiven).unwrap()
    }

    #[test]
    fn a_higher_side_fails_and_an_undecided_one_is_an_error() {
        let worse = values(&compared([30.0, 31.0, 32.0, 33.0, 34.0, 35.0]), "maxima.csv");
        assert!(worse.contains("failures=\"1\" errors=\"0\""), "{worse}");
        assert!(
            worse.contains("name=\"comparison: b against a\"") && worse.contains("<failure type=\"fail\""),
            "{worse}"
        );
        assert!(worse.contains("message=\"higher; b is ") && worse.contains("value=\"maxima.csv\""), "{worse}");
        let alike = values(&compared([10.5, 11.5, 12.5, 13.5, 14.5, 9.5]), "maxima.csv");
        assert!(alike.contains("failures=\"0\" errors=\"1\"") && alike.contains("message=\"undecided: "), "{alike}");
        let better = values(&compared([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), "maxima.csv");
        assert!(better.contains("failures=\"0\" errors=\"0\""), "{better}");
        assert!(better.contains("<system-out>lower; b is "), "{better}");
    }
}
