//! Makes a run of files from other tools: one cell per file, with the file itself next to its record.

mod files;
mod record;

use crate::{
    durable,
    host::outcome,
    output::tell,
    store::{Contents, Draft, New},
};
use anyhow::{Context, Result, anyhow, bail, ensure};
use files::Found;
use latido_import::{Asked, Format, IMPORTS, Imported, text::decoded};
use latido_model::{
    cell::IMPORT as PLAN,
    clean,
    plan::{Order, Plan},
    record::{HostFacts, Source},
    run::cell_dir,
    units::{Ns, many},
};
use latido_report::judged::JudgedRun;
use latido_sys::writeback;
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

/// Files larger than this, in bytes, are not stored next to their record.
const KEPT: usize = 64 << 20;

/// How many files are open at once, and how many threads write them. One at a time, each file would need a disk flush; a thread per file
/// costs more than it waits.
const AT_ONCE: usize = 256;
const WRITING: usize = 8;

/// The most distributions in all files of a run together, besides one per file. A quantity with its labels makes a distribution. Each takes
/// about 25 KB of memory when the run is judged, while a file needs only a few bytes for another one.
const MOST_DISTRIBUTIONS: usize = 4096;

/// The request for an import.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Files and directories.
    pub paths: Vec<PathBuf>,
    /// The format, where the content of the files does not decide it.
    pub format: Option<String>,
    /// What the user states about the files.
    pub asked: Asked,
    /// The user's labels: names and values.
    pub labels: BTreeMap<String, String>,
    /// The limit of every cell.
    pub limit: Option<Ns>,
    /// The command line, for the report.
    pub command: Vec<String>,
}

/// The result of an import.
pub struct Came {
    /// The judged run.
    pub run: JudgedRun,
    /// How many files failed to import.
    pub failed: usize,
}

/// Makes a run of files in the store. Reports each file that cannot be read and imports the others.
///
/// # Errors
/// No file could be imported, or the store cannot be written.
pub fn run(root: &Path, wanted: &Wanted) -> Result<Came> {
    let found = files::all(&wanted.paths);
    let several = found.len() > 1;
    let (mut draft, mut failed, mut passed) = (None, 0, 0);
    let (mut machines, mut distributions) = (BTreeSet::new(), 0);
    for Found { path, named } in found {
        let told = match one(&path, wanted).and_then(|read| bounded(read, &mut distributions)) {
            Ok(Some(read)) => {
                let draft = match &mut draft {
                    Some(draft) => draft,
                    none => none.insert(begin(root, wanted)?),
                };
                store(draft, read, wanted, several).map(|machine| machines.insert(machine)).map(|_| ())
            }
            // Other files in a directory are no failure.
            Ok(None) if !named => {
                passed += 1;
                continue;
            }
            Ok(None) => Err(anyhow!("{}", unrecognised())),
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            failed += 1;
            tell(&format!("error: {}", clean::line(&format!("{}: {error:#}", path.display()))));
        }
    }
    if passed > 0 {
        let passed = many(passed, "file");
        tell(&format!("note: latido skipped {passed} of the directories, whose format it does not know"));
    }
    // If no file could be stored, no run is left.
    if let Some(empty) = draft.take_if(|draft| draft.meta.cells == 0) {
        empty.discard()?;
    }
    let Some(mut draft) = draft else { bail!("nothing was imported") };
    draft.meta.machine = machines.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
    draft.put_manifest()?;
    let mut run = outcome::judged_here(&draft)?;
    run.run.meta = draft.finish(run.judgement.verdict, false, &run.judgement.headline.sentence())?;
    Ok(Came { run, failed })
}

/// Refuses a file with which the run would exceed the most distributions.
fn bounded(read: Option<Read>, distributions: &mut usize) -> Result<Option<Read>> {
    let series = read.iter().flat_map(|read| &read.imported.series);
    let apart = series.map(|one| (&one.quantity, &one.labels)).collect::<BTreeSet<_>>().len();
    let all = *distributions + apart.saturating_sub(1);
    ensure!(
        all <= MOST_DISTRIBUTIONS,
        "the file has {apart} series that differ in quantity or labels, and with them the run would have more than \
         {MOST_DISTRIBUTIONS}: import the rest of the files into another run"
    );
    *distributions = all;
    Ok(read)
}

/// A file after reading.
struct Read {
    imported: Imported,
    format: &'static Format,
    path: PathBuf,
    bytes: Vec<u8>,
    sha256: String,
}

/// Reads a file; `None` if no format recognises it.
fn one(path: &Path, wanted: &Wanted) -> Result<Option<Read>> {
    let bytes = files::bytes(path)?;
    // latido stores and hashes the file itself, and parses its text.
    let text = decoded(&bytes);
    let Some(format) = format(&text, wanted)? else { return Ok(None) };
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let asked = Asked { file, ..wanted.asked.clone() };
    // A second CPU would otherwise be idle, so it hashes the file.
    let (imported, sha256) = std::thread::scope(|scope| {
        let hash = scope.spawn(|| Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect());
        let read = || {
            let imported = format.import(&text, &asked)?;
            latido_import::cost::bounded(&imported, bytes.len())?;
            anyhow::Ok(imported)
        };
        let imported = read().with_context(|| format!("as {}", format.name));
        let hash = hash.join().map_err(|_| anyhow!("the thread that hashes the file died"));
        imported.and_then(|imported| Ok((imported, hash?)))
    })?;
    ensure!(!imported.series.is_empty(), "as {}: the file has no samples of any thread", format.name);
    let threads = imported.series.iter().map(|series| series.thread).collect::<BTreeSet<_>>().len();
    let cpus = asked.cpus.len();
    ensure!(
        cpus == 0 || cpus == threads,
        "--cpus names {}, and the file has {}: name one CPU per thread",
        many(cpus, "CPU"),
        many(threads, "thread")
    );
    drop(text);
    Ok(Some(Read { imported, format, path: path.to_owned(), bytes, sha256 }))
}

/// Returns the format of a file: as the user states it, else by its content.
fn format(bytes: &[u8], wanted: &Wanted) -> Result<Option<&'static Format>> {
    let recognised = latido_import::recognised(bytes);
    if let Some(name) = &wanted.format {
        // `cyclictest` also stands for `cyclictest-json`, where the content decides between them.
        let family = |format: &&Format| {
            let rest = format.name.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let mut by_content = recognised.iter().copied().filter(family);
        let exact = IMPORTS.iter().find(|format| format.name == name);
        return match (by_content.next(), by_content.next()) {
            (Some(only), None) => Ok(Some(only)),
            _ => exact.map(Some).with_context(|| format!("no format is called `{name}`")),
        };
    }
    match recognised[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        ref several => {
            let names: Vec<&str> = several.iter().map(|format| format.name).collect();
            let tool = wanted.asked.args.as_deref().and_then(|args| args.split_whitespace().next());
            let tool = tool.map(|word| word.rsplit('/').next().unwrap_or(word));
            let said = several.iter().copied().find(|format| Some(format.name) == tool);
            let joined = names.join(" or ");
            said.map(Some).with_context(|| format!("the format may be {joined}: name it with --format"))
        }
    }
}

/// The error for a file that no format recognises.
fn unrecognised() -> String {
    let names: Vec<&str> = IMPORTS.iter().map(|format| format.name).collect();
    format!("the content shows none of the known formats ({}); name the format with --format", names.join(", "))
}

/// Creates a run without cells.
fn begin(root: &Path, wanted: &Wanted) -> Result<Draft> {
    let about = "files of other tools, imported".to_owned();
    let plan = Plan { name: PLAN.into(), about: Some(about), order: Order::AsWritten, ..Plan::default() };
    let toml = "# Imported: there is no plan. run.json has the cells, and each cell's folder `source` the file itself.\n\
                name = \"import\"\n";
    let contents = Contents { plan, measurands: Vec::new(), cells: Vec::new() };
    let machine = String::new();
    Draft::create(root, New { plan: PLAN, toml, contents, command: wanted.command.clone(), machine, label: None })
}

/// Writes the cell of a file. Returns the name of its machine.
fn store(draft: &mut Draft, read: Read, wanted: &Wanted, several: bool) -> Result<String> {
    let Read { imported, format, path, bytes, sha256 } = read;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kept = (bytes.len() <= KEPT).then(|| files::plain_name(&file));
    let source = Source {
        format: format.name.into(),
        tool: imported.tool.clone(),
        version: imported.version.clone(),
        file: file.clone(),
        sha256,
        bytes: bytes.len() as u64,
        kept: kept.as_ref().map(|name| format!("source/{name}")),
        labels: wanted.labels.clone(),
        ..Source::default()
    };
    let about = record::About { source, limit: wanted.limit, file: several.then_some(file) };
    let record::Made { record, files, measurand } = record::of(imported, about)?;
    let number = draft.add(record.cell.clone(), measurand)?;
    let kept = kept.as_deref().map(|name| (name, bytes.as_slice()));
    if let Err(error) = fill(draft, number, kept, &record, &files) {
        // A full disk may refuse this as well. The first error says more.
        let _ = draft.withdraw();
        return Err(error);
    }
    Ok(record.machine.hostname)
}

/// Writes the parts of a cell: the file itself, the data read from it, and the record.
fn fill(
    draft: &Draft,
    number: usize,
    kept: Option<(&str, &[u8])>,
    record: &latido_model::record::Record,
    files: &[(String, Vec<u8>)],
) -> Result<()> {
    draft.start_cell(number)?;
    let dir = cell_dir(&draft.dir, number);
    let mut all: Vec<(PathBuf, &[u8])> = Vec::new();
    // The largest file comes first, so that the kernel writes it to disk while latido writes the others.
    if let Some((name, bytes)) = kept {
        let beside = dir.join("source");
        durable::make_dir(&beside)?;
        all.push((beside.join(name), bytes));
    }
    all.extend(files.iter().map(|(name, bytes)| (dir.join(name), bytes.as_slice())));
    put(&all)?;
    if kept.is_some() {
        durable::sync_dir(&dir.join("source"))?;
    }
    let now = jiff::Timestamp::now().to_string();
    let host = HostFacts { started: now.clone(), stored: now, run: draft.meta.id.clone(), ..HostFacts::default() };
    draft.finish_cell(number, record, &host)
}

/// Writes new files and syncs them before the record that names them is written. Several threads work: each starts the write-back of all
/// its files before it waits for the first.
fn put(files: &[(PathBuf, &[u8])]) -> Result<()> {
    let write = |(path, bytes): &(PathBuf, &[u8])| -> Result<(File, PathBuf)> {
        let mut file = durable::create(path)?;
        file.write_all(bytes).or_else(|error| durable::failed(error, "writing", path))?;
        let _ = writeback::begin(&file);
        Ok((file, path.clone()))
    };
    let put = |some: &[(PathBuf, &[u8])]| -> Result<()> {
        let written = some.iter().map(write).collect::<Result<Vec<_>>>()?;
        let mut all = written.iter();
        all.try_for_each(|(file, path)| file.sync_all().or_else(|error| durable::failed(error, "writing", path)))
    };
    for some in files.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let each: Vec<_> =
                some.chunks(some.len().div_ceil(WRITING).max(1)).map(|some| scope.spawn(move || put(some))).collect();
            each.into_iter()
                .try_for_each(|one| one.join().unwrap_or_else(|_| Err(anyhow!("a thread that writes died"))))
        })?;
    }
    Ok(())
}
