use super::*;

/// This machine, or the kernel of CI, has no core.
#[test]
fn an_ordinary_kernel_has_no_core() {
    let found = Installed::find().map(|installed| installed.map(|installed| installed.core()));
    assert_eq!(found, Ok(None));
}

/// The root directory of the devices is another one in tests.
#[test]
fn devices_are_looked_for_below_a_root() {
    let root = std::env::temp_dir().join(format!("latido-dual-{}", std::process::id()));
    std::fs::create_dir_all(root.join("dev/evl")).unwrap();
    std::fs::write(root.join("dev/evl/control"), "").unwrap();
    let found = Installed::find_under(&root).map(|installed| installed.is_some());
    let _gone = std::fs::remove_dir_all(&root);
    assert_eq!(found, Err(Refused::Other(Core::Evl, Errno::from_raw(libc::ENOTTY))));
}

/// Threads share the core and its objects, but a member stays on its thread.
#[test]
fn what_threads_share_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Installed>();
    shared::<Semaphore>();
    shared::<Mutex>();
}

#[test]
fn a_core_has_its_name() {
    assert_eq!([Core::Evl, Core::Cobalt].map(Core::name), ["evl", "cobalt"]);
}
