//! What becomes a factor, and what does not.

use super::*;

/// Columns with their levels, and a block.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a str);

fn valued(rows: &[Row]) -> Vec<Valued> {
    let column = |(name, level): &(&str, &str)| ((*name).to_owned(), (*level).to_owned());
    let value = |(at, (columns, block)): (usize, &Row)| Valued {
        columns: columns.iter().map(column).collect(),
        block: (*block).to_owned(),
        value: 1.0 + at as f64,
    };
    rows.iter().enumerate().map(value).collect()
}

fn levels(found: &Factors) -> Vec<String> {
    found.observations.iter().map(|one| one.levels.join("/")).collect()
}

/// If every combination of parts exists, each part becomes a factor; if one is missing, the axis stays one factor.
#[test]
fn combinations_of_parts_are_factors() {
    let all = valued(&[
        (&[("kernel", "stock"), ("load", "x")], "1"),
        (&[("kernel", "rt"), ("load", "x")], "1"),
        (&[("kernel", "rt+rcu"), ("load", "x")], "1"),
        (&[("kernel", "rcu"), ("load", "x")], "1"),
    ]);
    let found = of(&all);
    assert_eq!(found.names, ["rt", "rcu"], "what is everywhere the same is no factor");
    assert_eq!(levels(&found), ["off/off", "on/off", "off/on", "on/on"], "that without any comes first");
    assert!(found.is_factorial() && found.observations.iter().all(|one| one.block.is_none()));
    let found = of(&all[..3]);
    assert_eq!((found.names, found.cells), (vec!["kernel".to_owned()], (3, 3)));
    let words = ["stock", "a+b", "a+c", "b+c"];
    let rows: Vec<[(&str, &str); 1]> = words.iter().map(|word| [("system", *word)]).collect();
    let rows: Vec<Row> = rows.iter().map(|row| (row.as_slice(), "1")).collect();
    assert_eq!(of(&valued(&rows)).names, ["system"], "as many levels as combinations, but not these");
}

/// Columns that change together are one factor, and the order of repeats is the block.
#[test]
fn what_changes_together_is_one_factor() {
    let row = |load, prio, tuning, block| ([("load", load), ("policy", prio), ("tuning", tuning)], block);
    let rows: Vec<_> = ["1", "2"]
        .into_iter()
        .flat_map(|block| {
            ["plain", "isolated"].into_iter().flat_map(move |tuning| {
                [row("idle", "90", tuning, block), row("busy", "50", tuning, block)].into_iter()
            })
        })
        .collect();
    let rows: Vec<Row> = rows.iter().map(|(columns, block)| (columns.as_slice(), *block)).collect();
    let found = of(&valued(&rows));
    assert_eq!(found.names, ["load, policy", "tuning"]);
    assert_eq!(found.observations[1].levels, ["busy, 50", "plain"]);
    assert_eq!(found.observations.iter().filter_map(|one| one.block.as_deref()).collect::<Vec<_>>().len(), 8);
    assert_eq!(found.cells, (4, 4));
    let holes = of(&valued(&rows[..3]));
    assert!(holes.is_factorial() && holes.cells == (4, 3), "a factorial with a hole is one, and latido names its hole");
}
