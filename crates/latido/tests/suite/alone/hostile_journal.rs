//! Somebody deletes, cuts or replaces a journal: no setting stays changed, and latido reports it.

use crate::common::{self, Need};

use common::{World, ended, json, meanwhile, stderr, text};
use std::{
    fs,
    process::{Output, Stdio},
};

const KNOB: &str = "/proc/sys/vm/stat_interval";

/// The original value of this machine's knob, restored on drop.
struct Knob(String);

impl Drop for Knob {
    fn drop(&mut self) {
        let _ = fs::write(KNOB, &self.0);
    }
}

/// Somebody removes the journal in the middle of a tuned run: the run ends well, the knob has its old value, and latido reports the loss.
#[test]
fn a_tuned_run_that_loses_its_journal_puts_back_and_says_so() {
    let what = "a journal that is lost in a run";
    if !common::root(what) {
        return;
    }
    if fs::OpenOptions::new().write(true).open(KNOB).is_err() {
        return common::skip(what, Need::Kernel, "the knob may not be written here");
    }
    let _machine = common::machine();
    let before = Knob(fs::read_to_string(KNOB).unwrap());
    type Loss = fn(&World);
    let losses: [(&str, Loss); 4] = [
        ("was deleted", |world| fs::remove_file(world.state().join("journal.jsonl")).unwrap()),
        ("was deleted", |world| fs::remove_dir_all(world.state()).unwrap()),
        ("was cut", |world| fs::write(world.state().join("journal.jsonl"), "").unwrap()),
        ("was replaced by another file", |world| {
            fs::write(world.path("other"), "").unwrap();
            fs::rename(world.path("other"), world.state().join("journal.jsonl")).unwrap();
        }),
    ];
    for (said, lose) in losses {
        let world = World::new();
        // The program ends the measurement when the journal is gone.
        let script = "printf 'value_us\\n1\\n'; while [ ! -e gone ]; do sleep 0.05; done";
        let words = ["run", "command", "format=csv", "-d5m", "--tune", "vm-stat:77s", "--json", "--no-report", "--"];
        let mut run = world
            .latido(words.into_iter().chain(["sh", "-c", script]))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let in_force = || (fs::read_to_string(KNOB).unwrap() == "77\n").then_some(());
        meanwhile(&mut run, "a tuning in force", in_force);
        lose(&world);
        world.file("gone", "");
        let output = ended(run, "a run without its journal");
        assert_eq!(fs::read_to_string(KNOB).unwrap(), before.0, "{said}");
        // The program ended before its time: the measurement decides nothing.
        json(&output, 3);
        let told = stderr(&output);
        assert!(told.contains("warning") && told.contains(said), "{said}: {told}");
        assert!(!world.state().join("journal.jsonl").exists(), "{said}");
    }
}

/// A fake machine with one knob.
struct Fake(World);

impl Fake {
    fn new() -> Self {
        let fake = Self(World::new());
        fs::create_dir_all(fake.0.path("root/proc/sys/vm")).unwrap();
        fs::write(fake.0.path("root/proc/sys/vm/stat_interval"), "1\n").unwrap();
        fake
    }

    fn tune(&self, words: &[&str]) -> Output {
        let root = self.0.path("root").display().to_string();
        self.0.latido(["tune", "--sysroot", &root]).args(words).output().unwrap()
    }

    fn says(&self) -> String {
        fs::read_to_string(self.0.path("root/proc/sys/vm/stat_interval")).unwrap()
    }
}

/// Somebody removes the whole state directory after `tune apply`: the second record keeps the changes, `status` compares with it, and
/// `undo` restores from it.
#[test]
fn what_was_applied_by_hand_outlives_the_state_directory() {
    let fake = Fake::new();
    for word in ["vm-stat:60s", "vm-stat:30s"] {
        text(&fake.tune(&["apply", word]));
    }
    assert_eq!(fake.says(), "30\n");
    let status = json(&fake.tune(&["status", "--json"]), 0);
    assert!(status["lost"].is_null(), "{status:#}");
    fs::remove_dir_all(fake.0.state()).unwrap();
    let status = json(&fake.tune(&["status", "--json"]), 0);
    let kept = fake.0.path("state-kept/applied.jsonl");
    assert_eq!(status["lost"], kept.display().to_string(), "{status:#}");
    assert_eq!(status["applied"].as_array().unwrap().len(), 2, "{status:#}");
    let said = text(&fake.tune(&["status"]));
    assert!(said.contains("was lost: `latido tune undo` puts back from"), "{said}");
    let undone = fake.tune(&["undo"]);
    assert_eq!((undone.status.code(), fake.says().as_str()), (Some(0), "1\n"), "{}", stderr(&undone));
    assert!(stderr(&undone).contains("was lost"), "{}", stderr(&undone));
    assert!(!kept.exists() && text(&fake.tune(&["status"])).contains("nothing is applied"));
}

/// If the second record cannot be written, latido notes it and still applies the tuning.
#[test]
fn without_a_second_place_apply_says_so() {
    let fake = Fake::new();
    fs::write(fake.0.path("state-kept"), "").unwrap();
    let applied = fake.tune(&["apply", "vm-stat:60s"]);
    text(&applied);
    assert!(stderr(&applied).contains("only the journal"), "{}", stderr(&applied));
    text(&fake.tune(&["undo"]));
    assert_eq!(fake.says(), "1\n");
}
