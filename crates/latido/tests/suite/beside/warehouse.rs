//! The tests carry out docs/warehouse.md: they pack exports of real runs, and DuckDB answers each statement of the page over a small farm;
//! DuckDB and pandas both read both tables exactly.

use crate::common::{self, Need};
#[path = "../../../../report/examples/warehouse/generator.rs"]
mod generator;

use common::{World, reader, skip};
use generator::{Farm, Written};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Runs a Python program in a directory and returns its output.
fn python(python: &Path, dir: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(python).arg("-c").arg(program).args(words).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn export(world: &World, words: &[&str]) -> String {
    let output = world.run(["export", "parquet"].iter().chain(words).copied());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A Python that reads what this latido exports; `None` if latido was built without Parquet.
fn warehouse(modules: &str, what: &str) -> Option<PathBuf> {
    if !cfg!(feature = "parquet") {
        skip(what, Need::Build, "it was built without `parquet`");
        return None;
    }
    reader(modules, what)
}

/// Makes two runs of known samples.
fn measured(world: &World) {
    for seed in ["1", "2"] {
        let output = world.run(["run", "null", "-d", "200ms", "--limit", "100us", "-q", "--no-report", "--seed", seed]);
        assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Compares the .hdr files next to the records bucket by bucket, and the figures of the records, with what DuckDB and pandas read.
const ROUND_TRIP: &str = r#"
import duckdb, glob, json, pandas, pathlib, sys
store, dir = sys.argv[1:]
connection = duckdb.connect()
series = connection.execute(f"select * from '{dir}/series.parquet'").fetchdf()
buckets = connection.execute(f"select * from '{dir}/buckets.parquet'").fetchdf()
for name, table in ("series", series), ("buckets", buckets):
    by_pandas = pandas.read_parquet(f"{dir}/{name}.parquet", dtype_backend="pyarrow")
    assert list(by_pandas.columns) == list(table.columns) and len(by_pandas) == len(table)
    for column in table.columns:
        ours, others = table[column], by_pandas[column]
        assert (ours.isna() == others.isna()).all(), column
        assert (ours.dropna().astype(str).tolist() == others.dropna().astype(str).tolist()) or \
            (ours.dropna().astype("float64").tolist() == others.dropna().astype("float64").tolist()), column
seen = 0
for path in sorted(glob.glob(f"{store}/runs/*/cells/*/record.json")):
    run = pathlib.Path(path).parts[-4]
    for place, one in enumerate(json.load(open(path))["series"]):
        row = series[(series.run_id == run) & (series.series == place)].iloc[0]
        figures = one["corrected"] or one
        assert (row.n, row.min_v, row.max_v, row["mean"]) == tuple(figures[k] for k in ("count", "min", "max", "mean"))
        assert row.p99 == figures["quantiles"]["0.99"]
        own = buckets[(buckets.run_id == run) & (buckets.series == place)]
        assert own.n.sum() == row.n and own.low.is_monotonic_increasing and (own.low <= own.high).all()
        with open(f"{pathlib.Path(path).parent}/{one['files']['histogram']}", "rb") as file:
            import base64
            from hdrh.histogram import HdrHistogram
            decoded = HdrHistogram.decode(base64.b64encode(file.read()))
        held = [(decoded.get_lowest_equivalent_value(i.value_iterated_to), i.count_added_in_this_iter_step)
                for i in decoded.get_recorded_iterator()]
        assert held == list(zip(own.low, own.n)), run
        seen += 1
quantiles = """
    with b as (select s.load, b.low, b.high, sum(b.n) n from 'DIR/buckets.parquet' b join 'DIR/series.parquet' s using (run_id, cell, series) where s.probe = 'null' group by all),
         c as (select *, sum(n) over (partition by load order by high) cum, sum(n) over (partition by load) tot from b)
    select load, min(low) filter (cum >= ceil(0.999 * tot)) low, min(high) filter (cum >= ceil(0.999 * tot)) high from c group by load
""".replace("DIR", dir)
[(load, low, high)] = connection.execute(quantiles).fetchall()
assert low <= high and load == series.load[0]
print(seen)
"#;

/// The tables contain exactly what is stored, as two independent readers see it.
#[test]
fn tables_come_back_exactly() {
    let Some(with) = warehouse("duckdb, pandas, hdrh.histogram", "the export parquet") else { return };
    let world = World::new();
    measured(&world);
    let runs: Vec<String> = world.runs().iter().map(|run| run.display().to_string()).collect();
    let names: Vec<&str> = runs.iter().map(String::as_str).chain(["-o", "two"]).collect();
    assert_eq!(export(&world, &names), "two\n");
    let seen = python(&with, world.dir.path(), ROUND_TRIP, &[&world.store().display().to_string(), "two"]);
    assert!(seen.trim().parse::<u32>().unwrap() >= 2, "{seen}");
}

/// Bins that another tool counted are exported unchanged. Those above the last are open, and the table states the width.
#[test]
fn bins_of_an_import_come_back_exactly() {
    let Some(with) = warehouse("duckdb", "the export parquet of an import") else { return };
    let world = World::new();
    let text = "# Histogram\n000018 000006\n000020 000011\n# Min Latencies: 00018\n# Avg Latencies: 00040\n\
                # Max Latencies: 00256\n# Histogram Overflows: 00003\n";
    world.file("hist.txt", text);
    let output = world.run(["import", "hist.txt"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    export(&world, &["last", "-o", "two"]);
    let program = r#"
import duckdb
connection = duckdb.connect()
print(connection.execute("select list((low, high, n) order by low) from 'two/buckets.parquet'").fetchone()[0])
print(connection.execute("select n, quantized_width, unit, max_v from 'two/series.parquet'").fetchone())
"#;
    let found = python(&with, world.dir.path(), program, &[]);
    let mut lines = found.lines();
    assert!(lines.next().unwrap().starts_with("[(18000, 18999, 6), (20000, 20999, 11), ("), "{found}");
    assert!(lines.next().unwrap().starts_with("(20, 1000, 'ns', "), "{found}");
}

/// Runs each statement of the page, and prints the first row of each.
const PAGE: &str = r#"
import duckdb, sys
connection = duckdb.connect()
for statement in sys.stdin.read().split(";\n"):
    if statement.strip():
        found = connection.execute(statement).fetchall()
        print("|".join(str(value) for value in found[0]) if found else "no row")
"#;

fn statements() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/warehouse.md");
    let text = fs::read_to_string(page).unwrap();
    let blocks = text.split("\n```sql\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    blocks.map(|block| format!("{block}\n")).collect()
}

/// The page's statements over a farm of twenty machines and ten days, and one day of this machine's own runs, packed as the page says.
#[test]
fn the_page_s_statements_answer() {
    let Some(with) = warehouse("duckdb", "docs/warehouse.md") else { return };
    let world = World::new();
    let farm = Farm { machines: 20, days: 10, runs: 2, samples: 2_000, whole: 2 };
    let Written { series, buckets } = farm.write(&world.path("packed")).unwrap();
    assert!(series == 400 && buckets > 10_000, "{series} {buckets}");
    measured(&world);
    for (run, host) in world.runs().iter().zip(["a", "b"]) {
        let into = format!("lake/day=2026-10-31/host={host}");
        export(&world, &[&run.display().to_string(), "-o", &into]);
    }
    fs::create_dir_all(world.path("packed/day=2026-10-31")).unwrap();
    let output = {
        use std::{io::Write, process::Stdio};
        let mut child = Command::new(&with)
            .args(["-c", PAGE])
            .current_dir(world.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(statements().as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    println!("{out}");
    let rows: Vec<&str> = out.lines().collect();
    // Two copies, two views, and then the questions.
    let [_, _, _, _, quantiles, worst, untrusted, updated, sizes] = rows[..] else { panic!("{out}") };
    let quantiles: Vec<&str> = quantiles.split('|').collect();
    let [load, samples, low, high] = quantiles[..] else { panic!("{out}") };
    assert_eq!((load, samples), ("idle", "40000"));
    let [low, high] = [low, high].map(|end| end.parse::<i64>().unwrap());
    // The largest 40 of the 40,000 samples are those of machine 7 from its p98 on: 4.2 us * exp(0.6 * 2.05) is about 14 us.
    assert!(12_000 < low && low <= high && high < 18_000, "{out}");
    assert!(worst.starts_with("bench-0007|14|"), "{worst}");
    assert_eq!(untrusted, "bench-0013|contaminated|10", "one of two runs a day under load");
    let ratio: f64 = updated.rsplit('|').next().unwrap().parse().unwrap();
    assert!(updated.starts_with("bench-0010|") && (1.4..1.6).contains(&ratio), "{updated}");
    assert!(sizes.starts_with("series|11|"), "{sizes}");
}

/// latido requires a directory before it measures anything, and reports a path that is not one.
#[test]
fn a_directory_is_asked_for() {
    let world = World::new();
    let told = |words: &[&str]| {
        let output = world.run(words.iter().copied());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, error) = told(&["run", "null", "--export", "parquet=-"]);
    assert!(status == Some(64) && error.contains("name a directory"), "{error}");
    let (status, error) = told(&["export", "parquet", "last"]);
    assert!(status == Some(64) && error.contains("name a directory"), "{error}");
    world.file("taken", "");
    measured(&world);
    let (status, error) = told(&["export", "parquet", "last", "-o", "taken"]);
    assert!(status == Some(1) && error.contains("cannot make the directory taken"), "{error}");
    let (status, error) =
        told(&["run", "null", "-d", "50ms", "-q", "--no-report", "--export", "parquet=night,junit=x.xml"]);
    assert!(matches!(status, Some(0 | 3)), "{error}");
    assert!(world.path("night/series.parquet").exists() && world.path("night/buckets.parquet").exists());
    if !cfg!(feature = "parquet") {
        skip("the export parquet", Need::Build, "this build has no feature parquet");
    }
}
