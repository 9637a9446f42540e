use super::*;
use crate::{machine::Root, step::Form};
use latido_model::protocol::Phase;
use std::{cell::Cell, rc::Rc};

/// A directory with a place for the journal, and with fake machines `a` and `b`, each with a knob whose value is 2.
struct Scene(tempfile::TempDir, &'static str);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap(), "");
        for machine in ["a", "b"] {
            fs::create_dir(scene.0.path().join(machine)).unwrap();
            fs::write(scene.knob(machine), "2\n").unwrap();
        }
        scene
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join(self.1).join("journal.jsonl")
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

    /// Returns the change of a machine's knob from 1 to 2.
    fn setting(&self, machine: &str) -> Borrowed {
        let change = Step::Value { path: "knob".into(), original: "1".into(), new: "2".into(), form: Form::Plain };
        Borrowed::Setting { tuning: "t".into(), root: Some(Root::new(self.place(machine)).path("")), change }
    }

    fn line(&self, owner: Custody, machine: &str) -> String {
        let entry = Entry { boot: boot_id(), owner, what: self.setting(machine) };
        serde_json::to_string(&entry).unwrap() + "\n"
    }

    fn files(&self) -> Files {
        Files { journal: self.journal(), second: Some(self.0.path().join("second/applied.jsonl")) }
    }

    fn open(&self, place: Option<&str>) -> Result<(Journal, Vec<String>)> {
        // A setting names its machine as `Root::path` does.
        let place = place.map(|machine| Root::new(self.place(machine)).path(""));
        let mut journal = Journal::at(self.files(), place, Pulse::none())?;
        let news = journal.news();
        Ok((journal, news))
    }
}

/// latido must not drop the line: the original that it names would be lost, and the change never undone.
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
    entries::hand_over(&scene.journal(), &|_, entry| entry.owner == Custody::Manual, Custody::Unsettled).unwrap();
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

/// A latido that is interrupted while it writes a line has not changed anything yet.
#[test]
fn half_a_line_at_the_end_is_dropped_and_a_whole_one_without_its_end_is_not() {
    let scene = Scene::new();
    let whole = scene.line(Custody::Run, "a");
    fs::write(scene.journal(), whole.clone() + &whole[..40]).unwrap();
    let (_, told) = scene.open(None).unwrap();
    assert!(told.len() == 1 && told[0].contains("an incomplete line"), "{told:?}");
    assert_eq!((scene.says("a").as_str(), scene.text().as_str()), ("1", ""));
    fs::write(scene.journal(), scene.line(Custody::Run, "b").trim_end()).unwrap();
    assert_eq!(scene.open(None).unwrap().1, Vec::<String>::new());
    assert_eq!(scene.says("b"), "1");
}

/// If it became the user's, no run would ever undo it.
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

/// Returns one change of each kind that latido applies to the running machine. The compiler refuses a new kind that this function lacks.
fn one_of_each_kind() -> impl Iterator<Item = Borrowed> {
    let load = Borrowed::Load { mark: "1-2".into(), argv: vec!["busy".into()], group: None };
    std::iter::successors(Some(load), |one| match one {
        Borrowed::Load { .. } => Some(Borrowed::Trace { instance: Instance::planned() }),
        Borrowed::Trace { instance } => Some(Borrowed::Hook { hook: Hook::planned(instance, By::Kprobe) }),
        Borrowed::Hook { .. } => {
            let change = Step::Value { path: "knob".into(), original: "1".into(), new: "2".into(), form: Form::Plain };
            Some(Borrowed::Setting { tuning: "t".into(), root: None, change })
        }
        Borrowed::Setting { .. } => None,
    })
}

/// The next latido undoes every kind of change that a killed run or a half-done `tune` left, and nothing that a user applied.
#[test]
fn every_kind_that_a_crash_left_is_undone() {
    let after = |owner: &Custody| match owner {
        Custody::Run => Some(Custody::Unsettled),
        Custody::Unsettled => Some(Custody::Manual),
        Custody::Manual => None,
    };
    for owner in std::iter::successors(Some(Custody::Run), after) {
        for what in one_of_each_kind() {
            let entry = Entry { boot: boot_id(), owner, what };
            assert_eq!(left_behind(&entry, None), owner != Custody::Manual, "{entry:?}");
            assert!(!left_behind(&entry, Some(&PathBuf::from("/fake"))), "it is of the running machine: {entry:?}");
        }
    }
}

/// Needs the whole machine.
mod alone {
    use super::*;

    /// A user who names a fake machine does not expect a change of the running one.
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
        // A latido for the running machine undoes it. It needs the machine's lock, which a parallel test may hold.
        let mut opened = scene.open(None);
        while opened.as_ref().is_err_and(|error| error.is::<lock::Busy>()) {
            std::thread::sleep(std::time::Duration::from_millis(100));
            opened = scene.open(None);
        }
        opened.unwrap();
        assert_eq!(scene.says("b"), "1");
    }
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

/// /dev/full accepts no data, and nothing can be removed from it.
#[test]
fn after_half_a_line_nothing_more_is_written() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open(None).unwrap();
    journal.fill();
    let mut refused = || format!("{:#}", journal.write(scene.setting("a")).unwrap_err());
    let first = refused();
    assert!(first.contains("nothing was changed") && first.contains("No space left"), "{first}");
    assert!(refused().contains("last line is incomplete"));
}

/// Whatever happens to the file while latido needs it, latido undoes all changes and reports the loss.
#[test]
fn a_journal_that_is_lost_is_noticed_and_all_is_put_back_from_memory() {
    type Loss = fn(&Scene);
    let losses: [(&str, Loss); 4] = [
        ("was deleted", |scene| fs::remove_file(scene.journal()).unwrap()),
        ("was cut", |scene| fs::write(scene.journal(), "").unwrap()),
        ("was replaced", |scene| {
            let other = scene.0.path().join("other");
            fs::write(&other, scene.line(Custody::Run, "b").replace("knob", "another")).unwrap();
            fs::rename(other, scene.journal()).unwrap();
        }),
        ("was deleted", |scene| fs::remove_dir_all(scene.journal().parent().unwrap()).unwrap()),
    ];
    for (index, (what, lose)) in losses.into_iter().enumerate() {
        for writes_again in [false, true] {
            let mut scene = Scene::new();
            // A directory that a test can remove while the machines stay.
            scene.1 = "state";
            fs::create_dir(scene.journal().parent().unwrap()).unwrap();
            let (mut journal, _) = scene.open(None).unwrap();
            journal.write(scene.setting("a")).unwrap();
            lose(&scene);
            if writes_again {
                journal.write(scene.setting("b")).unwrap();
                let text = scene.text();
                assert!(
                    text.matches("\"knob\"").count() == 2,
                    "{what}: what is changed is in the journal again: {text}"
                );
            }
            assert_eq!(journal.settle().unwrap(), Vec::<String>::new(), "{what}");
            let news = journal.news();
            assert!(news.len() == 1 && news[0].contains(what), "{news:?}");
            assert_eq!((scene.says("a").as_str(), scene.says("b") == "1"), ("1", writes_again), "{what}");
            // latido must neither undo nor remove what another program put there.
            assert_eq!(scene.text().contains("another"), index == 2, "{what}: {}", scene.text());
        }
    }
}

/// The second record is outside of the journal's directory, and never contains more than was applied.
#[test]
fn what_a_person_applied_outlives_the_journal() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open(None).unwrap();
    for machine in ["a", "b"] {
        journal.write_for(Custody::Unsettled, scene.setting(machine)).unwrap();
    }
    assert_eq!(journal.keep().unwrap(), Vec::<String>::new());
    let (whole, boot) = (scene.text(), boot_id());
    assert_eq!(fs::read_to_string(scene.files().second.unwrap()).unwrap(), whole);
    assert!(scene.files().whole(&boot).unwrap().lost.is_none());
    // The whole journal is lost, then half of it.
    for left in ["", whole.lines().next_back().unwrap()] {
        fs::write(scene.journal(), left).unwrap();
        assert!(scene.files().whole(&boot).unwrap().lost.is_some());
        assert_eq!(scene.text(), left, "looking changes nothing");
        let (journal, news) = scene.open(None).unwrap();
        assert!(news.len() == 1 && news[0].contains("was lost"), "{news:?}");
        assert_eq!(scene.text(), whole, "in its order");
        drop(journal);
    }
    // After a reboot it is void.
    assert!(scene.files().whole("another boot").unwrap().lost.is_none());
    // An undone change leaves both files.
    entries::hand_over(&scene.journal(), &|_, _| true, Custody::Unsettled).unwrap();
    scene.open(None).unwrap();
    assert_eq!((scene.says("a"), scene.says("b"), scene.text()), ("1".into(), "1".into(), String::new()));
    assert!(!scene.0.path().join("second").exists());
}

/// This holds where no second place belongs to this user only.
#[test]
fn without_a_second_place_the_journal_alone_keeps_it_and_says_so() {
    let scene = Scene::new();
    let second = scene.0.path().join("second");
    fs::create_dir(&second).unwrap();
    fs::set_permissions(&second, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    // latido does not believe a line in it that another user could have written.
    fs::write(second.join("applied.jsonl"), scene.line(Custody::Manual, "b")).unwrap();
    let (mut journal, news) = scene.open(None).unwrap();
    assert_eq!(news, Vec::<String>::new());
    journal.write_for(Custody::Unsettled, scene.setting("a")).unwrap();
    let news = journal.keep().unwrap();
    assert!(news.len() == 1 && news[0].contains("only the journal") && news[0].contains("trusted"), "{news:?}");
    assert_eq!(scene.text(), scene.line(Custody::Manual, "a"));
}
