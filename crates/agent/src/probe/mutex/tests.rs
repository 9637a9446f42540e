use super::*;
use crate::catalogue::Installed;
use latido_model::{
    cell::Scheduling,
    plan::{expand::expand, parse::parse},
};

fn probe(options: &str) -> Result<Box<dyn Probe>> {
    (DEF.new)(options.parse().unwrap())
}

/// The cell of a plan around this probe.
fn cell(scheduling: Scheduling, cpus: Option<&str>) -> Cell {
    let plan = parse("t.toml", "schema = 1\nname = \"t\"\n[[group]]\nprobe = [\"mutex\"]\n", &Installed).unwrap();
    let mut cell = expand(&plan).remove(0);
    cell.scheduling = scheduling;
    cell.conditions.cpus = cpus.map(|cpus| cpus.parse().unwrap());
    cell
}

const FIFO: Scheduling = Scheduling::Fifo { prio: 50 };

#[test]
fn an_option_of_the_other_form_is_refused() {
    for (options, message) in [
        ("form = \"inversion\"\ncalls = 5", "`calls` belongs to form=calls"),
        ("rounds = 5", "`rounds` belongs to form=inversion"),
        ("form = \"inversion\"\ntiming = \"batch\"", "timing=batch is for form=calls"),
        ("form = \"inversion\"\nkind = \"ceiling\"", "the kinds normal, inherit"),
        ("batch = 0", "1 to 1000000"),
        ("ceiling = 100", "1 to 99"),
        ("busy = \"2s\"", "at most 1s"),
        ("interval = \"1us\"", "10us or more"),
    ] {
        let error = probe(options).err().unwrap().to_string();
        assert!(error.contains(message), "{options}: {error}");
    }
}

#[test]
fn quantities_and_labels_are_those_of_the_form() {
    let names =
        |probe: &dyn Probe| probe.measurand().quantities.iter().map(|one| one.name.to_string()).collect::<Vec<_>>();
    let labels = |kinds: &[&str], shared: &[&str]| {
        let values = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        vec![("kind".to_string(), values(kinds)), ("shared".to_string(), values(shared))]
    };
    let all = probe("").unwrap();
    assert_eq!(names(&*all), ["lock", "unlock", "trylock", "empty"]);
    assert_eq!(all.measurand().labels, labels(&["normal", "inherit", "ceiling"], &["no", "yes"]));
    let batch = probe("timing = \"batch\"\nkind = \"shared\"").unwrap();
    assert_eq!(names(&*batch), ["lock_batch", "unlock_batch", "trylock_batch", "pair_batch"]);
    assert_eq!(batch.measurand().labels, labels(&["normal"], &["yes"]));
    let inversion = probe("form = \"inversion\"").unwrap();
    assert_eq!(names(&*inversion), ["inversion"]);
    assert_eq!(inversion.measurand().labels, labels(&["normal", "inherit"], &["no"]));
}

#[test]
fn a_cell_that_cannot_be_measured_is_refused_with_the_remedy() {
    let stopping = || {
        let mut cell = cell(FIFO, None);
        cell.conditions.stop_on = Some(Ns(5));
        cell
    };
    let (low, rr) = (Scheduling::Fifo { prio: 2 }, Scheduling::Rr { prio: 3 });
    for (options, cell, message) in [
        ("form = \"inversion\"", cell(Scheduling::OTHER, None), Some("use fifo or rr")),
        ("form = \"inversion\"", cell(low, None), Some("choose a priority of 3 to 99")),
        ("form = \"inversion\"", cell(FIFO, Some("0,1")), Some("name one with -c, not 0,1")),
        ("form = \"inversion\"", cell(rr, Some("1")), None),
        ("kind = \"ceiling\"", cell(Scheduling::OTHER, None), Some("use fifo or rr")),
        ("kind = \"all\"", cell(Scheduling::OTHER, None), None),
        ("ceiling = 49", cell(FIFO, None), Some("must be 50 to 99")),
        ("ceiling = 50", cell(FIFO, Some("0,1")), None),
        ("timing = \"batch\"", stopping(), Some("use timing=each")),
        ("", stopping(), None),
    ] {
        let answer = probe(options).unwrap().check(&cell).err().map(|error| error.to_string());
        assert_eq!(answer.is_some(), message.is_some(), "{options}: {answer:?}");
        assert!(answer.unwrap_or_default().contains(message.unwrap_or_default()), "{options}");
    }
}

#[test]
fn it_takes_one_cpu_and_never_the_only_one_unasked() {
    let two: CpuSet = "0,1".parse().unwrap();
    let one: CpuSet = "0".parse().unwrap();
    assert_eq!(probe("").unwrap().default_cpus(&two).to_string(), "1");
    assert!(probe("").unwrap().default_cpus(&one).is_empty());
    assert_eq!(probe("form = \"inversion\"").unwrap().default_cpus(&one), one, "it sleeps between the rounds");
}
