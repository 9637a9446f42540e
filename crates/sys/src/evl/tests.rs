use super::{clock, monitor, thread, *};
use crate::cokernel::Core;

/// The numbers of the requests, computed by hand from the C headers: direction, size, letter, number.
const _: () = {
    assert!(GET_INFO == 0x8018_4300);
    assert!(CLONE == 0xc028_6600);
    assert!(thread::SET_SCHEDULING == 0x4018_5401);
    assert!(thread::GET_STATE == 0x8038_5404);
    assert!(thread::GO_OUT_OF_BAND == 0x5405);
    assert!(thread::DETACH == 0x5407);
    assert!(thread::SET_MODE == 0xc004_5408);
    assert!(thread::CLEAR_MODE == 0xc004_5409);
    assert!(clock::SLEEP == 0x4010_6300);
    assert!(clock::NEW_TIMER == 0x6305);
    assert!(clock::SET_TIMER == 0xc010_7400);
    assert!(monitor::ENTER == 0x4010_6d00);
    assert!(monitor::EXIT == 0x6d02);
    assert!(monitor::WAIT == 0xc018_6d03);
    assert!(monitor::SIGNAL == 0x4004_6d06);
};

#[test]
fn an_abi_that_both_speak_is_spoken() {
    let speaks = |abi, form| Ok(Spoken { abi, form });
    assert_eq!(spoken((36, 36)), speaks(36, Form::Named));
    assert_eq!(spoken((23, 34)), speaks(34, Form::Marked), "a kernel that also speaks older ABIs");
    assert_eq!(spoken((27, 27)), speaks(27, Form::Marked));
    assert_eq!(spoken((35, 35)), speaks(35, Form::Marked));
    assert_eq!(spoken((30, 40)), speaks(36, Form::Named), "the last one that latido knows");
}

#[test]
fn another_abi_is_refused() {
    for kernel in [(0, 0), (19, 19), (23, 26), (36, 35)] {
        assert_eq!(spoken(kernel), Err(KNOWN), "{kernel:?}");
    }
    for kernel in [(37, 37), (39, 40), (43, 43), (u32::MAX, u32::MAX)] {
        assert_eq!(spoken(kernel), Err(KNOWN_EARLIER), "{kernel:?}");
    }
}

#[test]
fn each_form_has_its_arguments() {
    assert_eq!(carried(Form::Marked, IOCTL, [7, 8, 9]), [0x1000_0002, 7, 8, 9, 0]);
    assert_eq!(carried(Form::Named, IOCTL, [7, 8, 9]), [0x4f4f_4243, 2, 7, 8, 9]);
    assert_eq!(carried(Form::Named, READ, [7, 8, 9]), [0x4f4f_4243, 0, 7, 8, 9]);
    let prctl = if cfg!(target_arch = "x86_64") { 157 } else { 167 };
    assert_eq!(libc::SYS_prctl, prctl);
}

/// An ordinary kernel refuses a call of the core, in either form.
#[test]
fn an_ordinary_kernel_refuses_the_call() {
    let null = cokernel::open(Path::new("/dev/null")).unwrap();
    for form in [Form::Marked, Form::Named] {
        let refused = ask(form, &null, clock::SLEEP, &mut cokernel::Time::of(1));
        assert!(refused.is_err(), "{form:?}");
    }
}

/// A new directory with files in the place of devices.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[&str]) -> Self {
        let root = std::env::temp_dir().join(format!("latido-evl-{name}-{}", std::process::id()));
        for file in files {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "stopped\n").unwrap();
        }
        Self(root)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_kernel_without_the_device_has_no_core() {
    let tree = Tree::new("none", &["dev/null"]);
    assert!(matches!(Evl::find(&tree.0), Ok(None)));
}

/// A file that answers no request of the core is not taken for the core.
#[test]
fn a_device_that_does_not_answer_is_told() {
    let tree = Tree::new("silent", &["dev/evl/control"]);
    assert_eq!(Evl::find(&tree.0).err(), Some(Refused::Other(Core::Evl, Errno::from_raw(libc::ENOTTY))));
}

#[test]
fn the_state_file_tells_whether_the_core_runs() {
    let tree = Tree::new("state", &["sys/devices/virtual/evl/control/state"]);
    assert!(!runs(&tree.0));
    std::fs::write(tree.0.join("sys/devices/virtual/evl/control/state"), "running\n").unwrap();
    assert!(runs(&tree.0));
    assert!(runs(Path::new("/no/such/directory")), "an unknown state is no stopped core");
}

/// The core's offsets are checked before latido reads there.
#[test]
fn an_offset_outside_the_shared_memory_is_refused() {
    let tree = Tree::new("shared", &["memory"]);
    let file = cokernel::open(&tree.0.join("memory")).unwrap();
    file.set_len(4096).unwrap();
    let shared = Shared::map(&file, 4096).unwrap();
    assert!(shared.word(4092).is_ok());
    for offset in [4096, 4093, 2, u32::MAX - 3] {
        assert_eq!(shared.word(offset).err(), Some(Errno::EINVAL), "{offset}");
    }
    assert_eq!(Shared::map(&file, 0).err(), Some(Errno::EINVAL), "a core without shared memory");
}
