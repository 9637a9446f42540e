use super::*;

#[test]
fn each_call_has_its_number() {
    assert_eq!(carried(number::BIND), 0x1000_0000);
    assert_eq!(carried(number::SLEEP), 0x1000_0069);
    assert_eq!(carried(number::TIMER_SET_64), 0x1000_0076);
    assert_eq!(carried(u8::MAX), 0x1000_00ff);
}

#[test]
fn exactly_two_abis_are_spoken_on_each_architecture() {
    for (known, v3_2, v3_3) in [(&X86, 18, 19), (&ARM64, 2, 20)] {
        let spoken: Vec<u32> = (0..100).filter(|&abi| known.spoken(abi).is_ok()).collect();
        assert_eq!(spoken, [v3_2, v3_3]);
        // In 3.3 the number of 3.2 takes other times, so that a wait for such a timer never ends.
        assert_eq!(known.spoken(v3_2).unwrap().set_timer, 58);
        assert_eq!(known.spoken(v3_3).unwrap().set_timer, 118);
        // Only a kernel of 3.2 can be based on the I-pipe.
        assert!(known.spoken(v3_2).unwrap().has_doubtful_clock);
        assert!(!known.spoken(v3_3).unwrap().has_doubtful_clock);
    }
}

#[test]
fn another_abi_is_refused_with_its_reason() {
    for (known, v3_1, unknown) in [(&X86, 17, [0, 16, 20, 2]), (&ARM64, 1, [0, 3, 18, 21])] {
        assert_eq!(known.spoken(v3_1), Err(known.another_clock), "Xenomai 3.1");
        for abi in unknown {
            assert_eq!(known.spoken(abi), Err(known.spoken), "{abi}");
        }
    }
}

#[test]
fn an_answer_without_an_abi_is_no_cobalt() {
    for error in [Errno::ENOSYS, Errno::EPERM, Errno::EACCES] {
        assert_eq!(answered(Err(error), 0), Ok(None), "{error}");
    }
    assert_eq!(answered(Ok(()), 0), Ok(None));
    assert_eq!(answered(Err(Errno::EINVAL), 0), Err(Refused::Other(Core::Cobalt, Errno::EINVAL)));
}

#[test]
fn a_core_that_refuses_still_tells_its_abi() {
    let refusal = Errno::from_raw(libc::ENOEXEC);
    assert_eq!(answered(Err(refusal), 19), Ok(Some(19)));
    assert_eq!(answered(Err(Errno::EAGAIN), 0), Err(Refused::Stopped(Core::Cobalt)));
}

/// An ordinary kernel knows no call of the core.
#[test]
fn an_ordinary_kernel_has_no_cobalt() {
    assert!(matches!(Cobalt::find(Path::new("/")), Ok(None)));
}

#[test]
fn the_attributes_of_a_mutex_are_bits() {
    assert_eq!(objects::INHERITING, 0b1000);
}
