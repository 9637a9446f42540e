//! What other tools wrote, made a run: a cell for each file, with the file itself beside its record.

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
    plan::{Order, Plan},
    record::{HostFacts, Source},
    run::cell_dir,
    units::Ns,
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

/// Files above this are not kept beside their record.
const KEPT: usize = 64 << 20;

/// So many files are open at once, and so many threads write them: one by one each would be a flush of the disk, and a thread
/// for each costs more than it waits.
const AT_ONCE: usize = 256;
const WRITING: usize = 8;

/// Distributions of all files of a run together, told apart by quantity and labels, besides one for each file: each takes some 25 KB of
/// memory where the run is judged, and a file tells them apart by a few bytes.
const MOST_DISTRIBUTIONS: usize = 4096;

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Files and directories.
    pub paths: Vec<PathBuf>,
    /// The format, where the files' content is not to tell.
    pub format: Option<String>,
    /// What a person says of the files.
    pub asked: Asked,
    /// Names and values of what they are of.
    pub labels: BTreeMap<String, String>,
    /// The limit of every cell.
    pub limit: Option<Ns>,
    /// The command line, for the report.
    pub command: Vec<String>,
}

/// What became of it.
pub struct Came {
    /// The run, judged.
    pub run: JudgedRun,
    /// How many of the files that were named could not be imported.
    pub failed: usize,
}

/// Makes a run of files in the store; what cannot be read is told, and the others are imported all the same.
///
/// # Errors
/// None of them could be imported, or the store cannot be written.
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
            // What else lies in a directory is nobody's failure.
            Ok(None) if !named => {
                passed += 1;
                continue;
            }
            Ok(None) => Err(anyhow!("{}", unrecognised())),
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            failed += 1;
            tell(&format!("error: {}: {error:#}", path.display()));
        }
    }
    if passed > 0 {
        tell(&format!("note: {passed} files of the directories are in no format that is known, and were passed over"));
    }
    // Of files that cannot be stored no run is left.
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

/// Refuses a file with which a run has more distributions than one takes.
fn bounded(read: Option<Read>, distributions: &mut usize) -> Result<Option<Read>> {
    let series = read.iter().flat_map(|read| &read.imported.series);
    let apart = series.map(|one| (&one.quantity, &one.labels)).collect::<BTreeSet<_>>().len();
    let all = *distributions + apart.saturating_sub(1);
    ensure!(
        all <= MOST_DISTRIBUTIONS,
        "the file has {apart} series that differ in quantity or labels, and with them the run has more than {MOST_DISTRIBUTIONS}: import \
         the rest of the files into another run"
    );
    *distributions = all;
    Ok(read)
}

/// A file that was read.
struct Read {
    imported: Imported,
    format: &'static Format,
    path: PathBuf,
    bytes: Vec<u8>,
    sha256: String,
}

/// Reads a file; `None` where no format knows it.
fn one(path: &Path, wanted: &Wanted) -> Result<Option<Read>> {
    let bytes = files::bytes(path)?;
    // The file itself is kept and hashed; what is read is its text.
    let text = decoded(&bytes);
    let Some(format) = format(&text, wanted)? else { return Ok(None) };
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let asked = Asked { file, ..wanted.asked.clone() };
    // A second CPU has nothing else to do meanwhile.
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
    ensure!(!imported.series.is_empty(), "as {}: it has no samples of any thread", format.name);
    let threads = imported.series.iter().map(|series| series.thread).collect::<BTreeSet<_>>().len();
    let cpus = asked.cpus.len();
    ensure!(cpus == 0 || cpus == threads, "--cpus names {cpus} CPUs, and it has {threads} threads: name one for each");
    drop(text);
    Ok(Some(Read { imported, format, path: path.to_owned(), bytes, sha256 }))
}

/// The format of a file: as a person says, else as its content does.
fn format(bytes: &[u8], wanted: &Wanted) -> Result<Option<&'static Format>> {
    let recognised = latido_import::recognised(bytes);
    if let Some(name) = &wanted.format {
        // `cyclictest` stands for `cyclictest-json` too, where the content tells which it is.
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
            said.map(Some).with_context(|| format!("it may be {joined}: say which by --format"))
        }
    }
}

/// What is told of a file that no format knows.
fn unrecognised() -> String {
    let names: Vec<&str> = IMPORTS.iter().map(|format| format.name).collect();
    format!("in no format that is known by its content ({}); --format names one", names.join(", "))
}

/// A run without cells.
fn begin(root: &Path, wanted: &Wanted) -> Result<Draft> {
    let about = "files of other tools, imported".to_owned();
    let plan = Plan { name: PLAN.into(), about: Some(about), order: Order::AsWritten, ..Plan::default() };
    let toml = "# Imported: there is no plan. run.json has the cells, and each cell's folder `source` the file itself.\n\
                name = \"import\"\n";
    let contents = Contents { plan, measurands: Vec::new(), cells: Vec::new() };
    let machine = String::new();
    Draft::create(root, New { plan: PLAN, toml, contents, command: wanted.command.clone(), machine, label: None })
}

/// Writes the cell of a file; the name of the machine that it is of.
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
        // A disk without space may refuse that too; the first error says more.
        let _ = draft.withdraw();
        return Err(error);
    }
    Ok(record.machine.hostname)
}

/// Writes what a cell consists of: the file itself, what was read of it, and the record.
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
    // The largest first: it is on its way to the disk while the others are written.
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

/// New files, all on the disk before the record that names them: several threads, and of each all are on their way before it
/// waits for the first.
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
