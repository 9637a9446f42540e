//! Tests that may run next to any other test.

mod accounts;
mod check;
mod command;
mod command_examples;
mod command_line;
mod crash;
mod docs;
mod documents;
mod extremes;
mod factorial;
mod goldens;
mod hardship;
mod hostile_agent;
mod hostile_boards;
mod hostile_lab;
mod hostile_locks;
mod hostile_namespaces;
mod hostile_path;
mod hostile_places;
mod hostile_records;
mod hostile_store;
mod import;
mod import_tools;
mod links;
mod load_course;
mod load_end;
mod loads;
mod means;
mod names;
mod numbers;
mod provenance;
mod reach;
mod readme;
mod recipes;
mod sessions;
mod stations;
mod studies;
mod studies_by_name;
mod systems;
mod trace_analyze;
mod trace_memory;
mod tune;
mod tune_signals;
mod verdicts;
mod waiting;
#[cfg(feature = "parquet")]
mod warehouse;

/// Without the feature there is no generator of a farm.
#[cfg(not(feature = "parquet"))]
#[test]
fn the_warehouse_answers() {
    crate::common::skip("the warehouse", crate::common::Need::Build, "built without the feature `parquet`");
}
