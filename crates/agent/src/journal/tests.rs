use super::*;
use crate::{machine::Root, step::Form};
use latido_model::protocol::Phase;
use std::{cell::Cell, rc::Rc};

/// A directory with the journal's place and fake machines `a` and `b`, each with a knob that says 2.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        for machine in ["a", "b"] {
            fs::create_dir(scene.0.path().join(machine)).unwrap();
            fs::write(scene.knob(machine), "2\n").unwrap();
        }
        scene
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("journal.jsonl")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.journal()).unwrap_or_default()
    }

    fn place(&self, machine: &str) -> PathBuf {
        self.0.path().join(machine)
    }

    fn knob(&self, machine: &str) -> PathBuf {
        self.place(machine).join("knob")
    }

    fn says(&self, machine: &str) -> String {
        fs::read_to_string(self.knob(machine)).unwrap().trim().into()
    }

    /// The change of a machine's knob from 1 to 2.
    fn setting(&self, machine: &str) -> Borrowed {
        let change = Step::Value { path: "knob".into(), original: "1".into(), new: "2".into(), form: Form::Plain };
        Borrowed::Setting { tuning: "t".into(), root: Some(Root::new(self.place(machine)).path("")), change }
    }

    fn line(&self, owner: Custody, machine: &str) -> String {
        let entry = Entry { boot: boot_id(), owner, what: self.setting(machine) };
        serde_json::to_string(&entry).unwrap() + "\n"
    }

    fn open(&self, place: Option<&str>) -> Result<(Journal, Vec<String>)> {
        // A setting names its machine as `Root::path` does.
        let place = place.map(|machine| Root::new(self.place(machine)).path(""));
        Journal::at(&self.journal(), place, Pulse::none())
    }
}

/// The original that it names would be lost, and the change never put back.
#[test]
fn a_line_of_another_latido_stays_as_it_is_and_nothing_is_built_upon_it() {
    let scene = Scene::new();
    let strange = format!("{{\"boot\":\"{}\", \"owner\":\"run\",  \"what\":{{\"kind\":\"spell\"}}}}\n", boot_id());
    fs::write(scene.journal(), scene.line(Custody::Run, "a") + &strange + &scene.line(Custody::Manual, "b")).unwrap();
    let error = format!("{:#}", scene.open(None).unwrap_err());
    assert!(error.contains("spell") && error.contains("remove these lines"), "{error}");
    assert_eq!(scene.says("a"), "1", "what can be read is put back all the same");
    let left = strange + &scene.line(Custody::Manual, "b");
    assert_eq!(scene.text(), left, "every byte stays, in its order");
    hand_over(&scene.journal(), &|_, entry| entry.owner == Custody::Manual, Custody::Unsettled).unwrap();
    assert_eq!(scene.text(), left.replace("manual", "unsettled"));
}

#[test]
fn a_line_of_another_latido_is_void_after_a_reboot() {
    let scene = Scene::new();
    fs::write(scene.journal(), "{\"boot\":\"another\",\"what\":\"spell\"}\n").unwrap();
    let (_, told) = scene.open(None).unwrap();
    assert!(told.len() == 1 && told[0].contains("spell") && told[0].contains("void"), "{told:?}");
    assert_eq!(scene.text(), "");
}

/// Whoever is cut off while writing has not changed anything yet.
#[test]
fn half_a_line_at_the_end_is_dropped_and_a_whole_one_without_its_end_is_not() {
    let scene = Scene::new();
    let whole = scene.line(Custody::Run, "a");
    fs::write(scene.journal(), whole.clone() + &whole[..40]).unwrap();
    let (_, told) = scene.open(None).unwrap();
    assert!(told.len() == 1 && told[0].contains("a cut line"), "{told:?}");
    assert_eq!((scene.says("a").as_str(), scene.text().as_str()), ("1", ""));
    fs::write(scene.journal(), scene.line(Custody::Run, "b").trim_end()).unwrap();
    assert_eq!(scene.open(None).unwrap().1, Vec::<String>::new());
    assert_eq!(scene.says("b"), "1");
}

/// As somebody's own it would never be put back by a run.
#[test]
fn what_an_earlier_undoing_left_is_not_made_over_to_the_person() {
    let scene = Scene::new();
    fs::remove_file(scene.knob("a")).unwrap();
    fs::create_dir(scene.knob("a")).unwrap();
    fs::write(scene.journal(), scene.line(Custody::Unsettled, "a")).unwrap();
    let (mut journal, told) = scene.open(None).unwrap();
    assert!(told.len() == 1 && told[0].contains("could not be undone"), "{told:?}");
    journal.write_for(Custody::Unsettled, scene.setting("b")).unwrap();
    journal.keep().unwrap();
    assert_eq!(scene.text(), scene.line(Custody::Unsettled, "a") + &scene.line(Custody::Manual, "b"));
}

/// Who names a fake machine does not expect that the running one is changed.
#[test]
fn for_a_fake_machine_nothing_of_another_is_undone() {
    let scene = Scene::new();
    let live = Borrowed::Setting {
        tuning: "t".into(),
        root: None,
        change: Step::Value {
            path: scene.knob("b").display().to_string(),
            original: "1".into(),
            new: "2".into(),
            form: Form::Plain,
        },
    };
    let live = serde_json::to_string(&Entry { boot: boot_id(), owner: Custody::Run, what: live }).unwrap() + "\n";
    fs::write(scene.journal(), live.clone() + &scene.line(Custody::Run, "a")).unwrap();
    let (mut journal, _) = scene.open(Some("a")).unwrap();
    assert_eq!((scene.says("a").as_str(), scene.says("b").as_str()), ("1", "2"));
    assert_eq!(scene.text(), live);
    journal.settle().unwrap();
    assert_eq!(scene.text(), live, "nor at the end");
    // The running machine's own latido puts it back: that needs the machine, which a test beside this one may have.
    let mut opened = scene.open(None);
    while opened.as_ref().is_err_and(|error| error.is::<lock::Busy>()) {
        std::thread::sleep(std::time::Duration::from_millis(100));
        opened = scene.open(None);
    }
    opened.unwrap();
    assert_eq!(scene.says("b"), "1");
}

#[test]
fn every_undoing_is_a_sign_of_life_and_is_never_stopped() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open(None).unwrap();
    let heard = Rc::new(Cell::new(0));
    let hears = Rc::clone(&heard);
    let tell = move |phase: Phase| hears.set(hears.get() + u32::from(phase == Phase::Undoing));
    journal.pulse = Pulse::new(|| true, tell).always();
    for machine in ["a", "b"] {
        journal.write(scene.setting(machine)).unwrap();
    }
    assert_eq!(journal.settle().unwrap(), Vec::<String>::new());
    assert_eq!((heard.get(), scene.says("a"), scene.says("b")), (2, "1".into(), "1".into()));
}

/// /dev/full takes nothing, and nothing can be taken back from it.
#[test]
fn after_half_a_line_nothing_more_is_written() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open(None).unwrap();
    journal.fill();
    let mut refused = || format!("{:#}", journal.write(scene.setting("a")).unwrap_err());
    let first = refused();
    assert!(first.contains("nothing was changed") && first.contains("No space left"), "{first}");
    assert!(refused().contains("half a line"));
}
