use super::*;
use latido_model::needs::{Need, skip};
use rustix::fs::flock;
use std::{
    cell::{Cell, RefCell},
    thread,
    time::{Duration, Instant},
};

fn claim(file: &Path) -> Claim {
    Claim::at(file)
}

/// Takes the same lock as another holder.
fn held(path: &Path, how: FlockOperation) -> File {
    let file = File::open(path).unwrap();
    flock(&file, how).unwrap();
    file
}

#[test]
fn many_measure_and_one_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("machine");
    let [mut one, mut two] = [claim(&path), claim(&path)];
    let hold =
        |claim: &mut Claim, wanted| claim.hold(wanted, "a test", &mut Patience::none()).map_err(|e| e.to_string());
    assert!(hold(&mut one, Use::Measure).is_ok() && hold(&mut two, Use::Measure).is_ok());
    let refused = hold(&mut one, Use::Change).unwrap_err();
    assert!(refused.contains(&format!("pid {}, a test", std::process::id())), "{refused}");
    // After the refusal it holds nothing: the other one may change settings.
    assert!(hold(&mut two, Use::Change).is_ok());
    assert!(hold(&mut one, Use::Measure).is_err());
    assert!(hold(&mut two, Use::Measure).is_ok() && hold(&mut one, Use::Measure).is_ok());
    two.release();
    assert!(hold(&mut one, Use::Change).is_ok());
}

#[test]
fn who_waits_is_told_for_whom_and_has_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("machine");
    drop(claim(&path));
    fs::write(&path, format!("pid {}, running `ramp`", std::process::id())).unwrap();
    let other = RefCell::new(Some(held(&path, FlockOperation::LockExclusive)));
    let told = RefCell::new(Vec::new());
    let mut tell = |holder: &Holder| told.borrow_mut().push(holder.words.clone());
    // latido calls it at each failed try. The holder releases the lock at the third try after it was reported.
    let tries = Cell::new(0);
    let stop = || {
        tries.set(tries.get() + u32::from(!told.borrow().is_empty()));
        if tries.get() == 3 {
            other.take();
        }
        false
    };
    let mut patience = Patience::of(Duration::MAX, &stop, Some(&mut tell));
    claim(&path).hold(Use::Change, "a test", &mut patience).unwrap();
    assert_eq!(*told.borrow(), [format!("pid {}, running `ramp`", std::process::id())], "each holder once");
}

#[test]
fn patience_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("machine");
    drop(claim(&path));
    let _other = held(&path, FlockOperation::LockShared);
    let begun = Instant::now();
    let mut short = Patience::of(Duration::from_millis(200), &|| false, None);
    let error = claim(&path).hold(Use::Change, "a test", &mut short).unwrap_err();
    let busy = error.downcast_ref::<Busy>().unwrap();
    assert!(busy.path == path && busy.holder.as_ref().is_some_and(|holder| !holder.is_latido), "{busy:?}");
    assert!(begun.elapsed() >= Duration::from_millis(200));
    let mut stopped = Patience::of(Duration::MAX, &|| true, None);
    assert!(claim(&path).hold(Use::Change, "a test", &mut stopped).is_err());
    assert!(claim(&path).hold(Use::Measure, "a test", &mut Patience::none()).is_ok(), "others measure as well");
}

/// Measuring processes that overlap cannot overtake a process that waits to change settings.
#[test]
fn who_waits_to_change_settings_is_not_overtaken() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("machine");
    let wait = Duration::from_secs(60);
    let (waits, waiting) = std::sync::mpsc::channel();
    let mut inside = claim(&path);
    inside.hold(Use::Measure, "measuring", &mut Patience::none()).unwrap();
    thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut tell = |_: &Holder| waits.send(()).unwrap();
            let mut patience = Patience::of(wait, &|| false, Some(&mut tell));
            let mut changer = claim(&path);
            changer.hold(Use::Change, "changing settings", &mut patience).unwrap();
            assert!(claim(&path).hold(Use::Measure, "a test", &mut Patience::none()).is_err(), "alone");
        });
        waiting.recv_timeout(wait).unwrap();
        let mut overtook = 0;
        let refused = loop {
            let mut next = claim(&path);
            match next.hold(Use::Measure, "measuring", &mut Patience::none()) {
                Ok(()) if overtook < 3 => (inside, overtook) = (next, overtook + 1),
                Ok(()) => break None,
                Err(error) => break Some(error),
            }
        };
        inside.release();
        changer.join().unwrap();
        let refused = refused.expect("they come and come, and it would wait for ever").to_string();
        assert!(overtook == 0 && refused.contains("waits for this machine"), "{overtook}: {refused}");
        assert!(refused.contains(&format!("pid {}, changing settings", std::process::id())), "{refused}");
    });
    assert!(claim(&path).hold(Use::Measure, "a test", &mut Patience::none()).is_ok(), "the gate is open again");
}

/// A process that would not wait, and was refused, blocks no other. A process that already measures is past the gate.
#[test]
fn the_gate_holds_up_only_for_who_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("machine");
    let [mut one, mut two] = [claim(&path), claim(&path)];
    one.hold(Use::Measure, "a test", &mut Patience::none()).unwrap();
    let gate = dir.path().join("gate");
    {
        let _passing = held(&gate, FlockOperation::LockShared);
        let refused = two.hold(Use::Change, "a test", &mut Patience::none()).unwrap_err().to_string();
        assert!(refused.contains("is using"), "{refused}");
    }
    let _waits = held(&gate, FlockOperation::LockExclusive);
    assert!(two.hold(Use::Measure, "a test", &mut Patience::none()).is_err());
    assert!(one.hold(Use::Change, "a test", &mut Patience::none()).is_ok());
    assert!(one.hold(Use::Measure, "a test", &mut Patience::none()).is_ok());
}

/// The first lock arrives when the patience is over. latido then tries the second once, and does not wait as long again.
#[test]
fn patience_is_one_time_for_all_locks() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["run", "machine"].map(|name| dir.path().join(name));
    let [first, second] = paths.each_ref().map(|path| {
        fs::write(path, format!("pid {}, {}", std::process::id(), path.display())).unwrap();
        File::open(path).unwrap()
    });
    let _other = held(&paths[1], FlockOperation::LockExclusive);
    let (tries, told) = (Cell::new(0), Cell::new(0));
    let stop = || {
        tries.set(tries.get() + 1);
        false
    };
    let mut tell = |_: &Holder| told.set(told.get() + 1);
    let limit = Duration::from_millis(100);
    let mut patience = Patience::of(limit, &stop, Some(&mut tell));
    let comes_late = || {
        thread::sleep(limit);
        Ok(true)
    };
    patience.hold_unless(&first, &paths[0], Binds::Always, "is using", comes_late).unwrap();
    assert!(patience.hold(&second, &paths[1], Binds::Always, FlockOperation::NonBlockingLockShared).is_err());
    assert_eq!((tries.get(), told.get()), (1, 0), "tries of the second, and who was told that it is waited for");
}

/// A user came before root's lock existed. A later process, of root or another user, sees that user's lock.
#[test]
fn a_lock_that_was_there_before_roots_counts() {
    if !rustix::process::geteuid().is_root() {
        return skip("locks of other users", Need::Root, "only root can make them");
    }
    let dir = tempfile::tempdir().unwrap();
    let (roots, others) = (dir.path().join("run"), dir.path().join("tmp"));
    fs::create_dir(&others).unwrap();
    let open_in = |uid| Claim::open_in(&roots, &others, Account { uid, is_root: uid == 0 }).unwrap();
    let mut user = open_in(4711);
    // The owner that the files would have if that user had made them.
    for path in ["latido-machine-4711", "latido-machine-4711/machine", "latido-machine-4711/gate"] {
        std::os::unix::fs::chown(others.join(path), Some(4711), Some(4711)).unwrap();
    }
    user.hold(Use::Measure, "a test", &mut Patience::none()).unwrap();
    for uid in [0, 4712] {
        let mut other = open_in(uid);
        assert!(other.hold(Use::Change, "a test", &mut Patience::none()).is_err(), "{uid}");
        assert!(other.hold(Use::Measure, "a test", &mut Patience::none()).is_ok(), "{uid}");
        other.release();
        // A process that waits for that user's lock also holds its gate.
        let gate = others.join("latido-machine-4711/gate");
        fs::write(&gate, format!("pid {}, changing settings", std::process::id())).unwrap();
        let changer = held(&gate, FlockOperation::LockExclusive);
        assert!(other.hold(Use::Measure, "a test", &mut Patience::none()).is_err(), "{uid}");
        drop(changer);
    }
    // A file of another user in that user's name blocks no process.
    fs::create_dir(others.join("latido-machine-4713")).unwrap();
    let foreign = open(&others.join("latido-machine-4713/machine"), EVERYBODYS).unwrap();
    flock(&foreign, FlockOperation::LockExclusive).unwrap();
    user.release();
    assert!(open_in(0).hold(Use::Change, "a test", &mut Patience::none()).is_ok());
}

/// A user has one lock, though a number can be written in many ways, and latido opens the locks of at most 64 users.
#[test]
fn nobody_multiplies_the_locks_of_others() {
    if !rustix::process::geteuid().is_root() {
        return skip("locks of other users", Need::Root, "only root can make them");
    }
    let dir = tempfile::tempdir().unwrap();
    let (roots, others) = (dir.path().join("run"), dir.path().join("tmp"));
    let made = |name: &str, uid: u32| {
        let place = others.join(name);
        fs::create_dir_all(&place).unwrap();
        drop(open(&place.join("machine"), EVERYBODYS).unwrap());
        for path in [&place, &place.join("machine")] {
            std::os::unix::fs::chown(path, Some(uid), Some(uid)).unwrap();
        }
    };
    let count = || Claim::open_in(&roots, &others, Account { uid: 0, is_root: true }).unwrap().count();
    for name in ["04711", "+4711", "0004711"] {
        made(&format!("latido-machine-{name}"), 4711);
    }
    let alone = count();
    made("latido-machine-4711", 4711);
    assert_eq!(count(), alone + 1);
    (5000..5200).for_each(|uid| made(&format!("latido-machine-{uid}"), uid));
    assert_eq!(count(), alone + 64);
}

/// latido restores settings after it has waited for all locks of others together no longer than for four of them.
#[test]
fn courtesy_ends_however_many_locks_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let tries = Cell::new(0);
    let stop = || {
        tries.set(tries.get() + 1);
        false
    };
    let mut patience = Patience::of(Duration::ZERO, &stop, None);
    patience.undoing();
    let begun = Instant::now();
    for lock in 0..7 {
        let path = dir.path().join(format!("lock{lock}"));
        fs::write(&path, format!("pid {}, measuring", std::process::id())).unwrap();
        let _held = held(&path, FlockOperation::LockExclusive);
        let file = File::open(&path).unwrap();
        patience.hold(&file, &path, Binds::Latidos, FlockOperation::NonBlockingLockExclusive).unwrap();
    }
    // It sleeps 50 ms between tries. A second for each of seven locks would be 140 tries.
    assert!(tries.get() <= 4 * 20 + 7, "{}", tries.get());
    assert!(begun.elapsed() >= Duration::from_secs(4), "it waits for four of them");
    assert_eq!(patience.passed().len(), 7);
}

/// The user of a program is the one who started it, even if it runs with root's rights.
#[test]
fn a_holder_is_of_its_real_user() {
    if !rustix::process::geteuid().is_root() || !std::path::Path::new("/usr/bin/setpriv").exists() {
        return skip("a program with root's rights for a user", Need::Root, "only root can begin one, by setpriv");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir.path().join("lock"), OURS).unwrap();
    let mut child = std::process::Command::new("setpriv").args(["--ruid", "61234", "sleep", "60"]).spawn().unwrap();
    let pid = child.id();
    // Until `sleep` runs, the command line is that of setpriv, or empty while the kernel replaces one program by the other.
    let line = || fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    while !line().starts_with("sleep") {
        assert!(child.try_wait().unwrap().is_none(), "setpriv could not start it");
        std::thread::yield_now();
    }
    let plain = holder::of(&file, pid);
    fs::write(dir.path().join("lock"), format!("pid {pid}, nightly run of root, user 0")).unwrap();
    let signed = holder::of(&file, pid);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((plain.uid, plain.is_latido), (Some(61234), false), "{plain:?}");
    assert_eq!(signed.words, format!("pid {pid}, nightly run of root, user 0 (of user 61234)"));
}

/// A child of the process that holds the machine exclusively may use it too. A shared holder lends nothing.
#[test]
fn who_holds_the_machine_alone_lends_it_to_its_children() {
    const PLACE: &str = "LATIDO_TEST_LENT";
    const NAME: &str = "journal::lock::tests::who_holds_the_machine_alone_lends_it_to_its_children";
    if let Some(path) = std::env::var_os(PLACE) {
        // This is the child.
        claim(Path::new(&path)).hold(Use::Change, "a test", &mut Patience::none()).unwrap();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("machine");
    let mut own = claim(&path);
    for (wanted, lent) in [(Use::Change, true), (Use::Measure, false)] {
        own.hold(wanted, "a test", &mut Patience::none()).unwrap();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let output = child.args(["--exact", NAME]).env(PLACE, &path).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(said.contains("running 1 test"), "{said}");
        assert_eq!(output.status.success(), lent, "{wanted:?}: {said}");
        assert!(lent || said.contains("is using this machine"), "{said}");
    }
    assert!(!holder::is_ancestor(std::process::id()), "not to itself");
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    assert!(!holder::is_ancestor(child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_lock_is_signed_from_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir.path().join("lock"), OURS).unwrap();
    for purpose in ["something long", "short"] {
        sign(&file, purpose).unwrap();
    }
    let text = fs::read_to_string(dir.path().join("lock")).unwrap();
    assert_eq!(text, format!("pid {}, short", std::process::id()));
}

/// Any user can lock a file that everybody may open: root ignores such a lock unless a latido holds it, and no measurement keeps root from
/// restoring settings.
#[test]
fn root_passes_by_who_is_no_latido_and_puts_back_in_spite_of_one() {
    if !rustix::process::geteuid().is_root() {
        return skip("root's locks beside a user's", Need::Root, "only root has them");
    }
    let dir = tempfile::tempdir().unwrap();
    let root = || Claim::open_in(dir.path(), &dir.path().join("none"), Account { uid: 0, is_root: true }).unwrap();
    drop(root());
    let [machine, gate] = ["machine", "gate"].map(|name| dir.path().join(name));
    // A program takes the lock and ends: the holder is then unknown.
    let hold = |path: &PathBuf| {
        let file = File::open(path).unwrap();
        let mut command = std::process::Command::new("flock");
        assert!(command.args(["-x", "0"]).stdin(file.try_clone().unwrap()).status().unwrap().success());
        file
    };
    let holds = [&machine, &gate].map(hold);
    let mut patience = Patience::none();
    let mut one = root();
    one.hold(Use::Change, "a test", &mut patience).unwrap();
    let passed = patience.passed();
    assert!(passed.len() == 2 && passed.iter().all(|told| told.contains("left the lock to a child")), "{passed:?}");
    // Root's private lock still works between root's latidos.
    let mut undoing = Patience::none();
    let refused = root().hold(Use::Change, "a test", undoing.undoing()).unwrap_err();
    assert_eq!(refused.downcast_ref::<Busy>().unwrap().path, dir.path().join("root/machine"));
    one.release();
    drop(holds);
    // A holder of root's counts whatever its name, and so does a holder with the name of a latido.
    let _roots = held(&machine, FlockOperation::LockExclusive);
    assert!(root().hold(Use::Change, "a test", &mut Patience::none()).is_err());
    fs::write(&machine, format!("pid {}, running `ramp`", std::process::id())).unwrap();
    assert!(root().hold(Use::Change, "a test", &mut Patience::none()).is_err());
    let mut undoing = Patience::none();
    root().hold(Use::Change, "a test", undoing.undoing()).unwrap();
    assert!(undoing.passed().iter().any(|told| told.contains("running `ramp`")), "it names the run");
    let roots = fs::metadata(dir.path().join("root/machine")).unwrap();
    assert_eq!(roots.mode() & 0o777, 0o600, "nobody else can open it");
}
