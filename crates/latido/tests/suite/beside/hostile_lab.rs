//! The laboratory behind sudo: each program that it starts reads the person's files, and so must run as the person.

use crate::common::{self, attacker, behind};

use behind::{Behind, mode};
use common::{World, installed, root, stderr};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

/// A person behind sudo with their own cache, and root's programs that are first in PATH: each notes as which user it ran.
struct Lab {
    behind: Behind,
}

impl Lab {
    fn new(what: &str) -> Option<Self> {
        let lab = Self { behind: Behind::new(what)? };
        fs::create_dir(lab.bin()).unwrap();
        mode(&lab.bin(), 0o755);
        lab.behind.script("mkdir -p $HOME/lab; : >$HOME/who; chmod 666 $HOME/who");
        Some(lab)
    }

    fn bin(&self) -> PathBuf {
        self.behind.world.path("bin")
    }

    /// A program that notes its name, its user and whether it may read a file of root's, and then does this.
    fn program(&self, name: &str, then: &str) {
        let who = self.behind.home().join("who");
        let text = format!(
            "#!/bin/sh\necho \"{name} $(id -u)$(head -c1 /etc/shadow 2>/dev/null | wc -c)\" >>{}\n{then}\n",
            who.display()
        );
        let path = self.bin().join(name);
        fs::write(&path, text).unwrap();
        mode(&path, 0o755);
    }

    /// A command that the person gives through sudo and that finds those programs.
    fn latido<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.behind.latido(words);
        let path = format!("{}:{}", self.bin().display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("LATIDO_LAB", self.behind.home().join("lab"));
        command
    }

    /// Checks that each program that ran was the person and could not read root's file, and that the expected programs ran.
    fn all_were_the_person(&self, expected: &[&str]) {
        let said = fs::read_to_string(self.behind.home().join("who")).unwrap();
        for line in said.lines() {
            let (name, user) = line.split_once(' ').unwrap();
            assert_eq!(user, format!("{}0", attacker::UID), "{name} was not the person: {said}");
        }
        for name in expected {
            assert!(said.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} did not run: {said}");
        }
    }
}

/// A kernel of the person, valid as far as latido looks at it.
fn kernel(dir: &Path) -> PathBuf {
    let mut bytes = vec![b'k'; 4096];
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    let path = dir.join("vmlinuz");
    fs::write(&path, bytes).unwrap();
    mode(&path, 0o644);
    path
}

/// A build behind sudo runs `make` on a Makefile in the person's cache: `make` runs as the person, and so do the other programs.
#[test]
fn a_build_is_the_persons() {
    let what = "a build of the laboratory behind sudo";
    if !installed("make", what) || !cfg!(target_arch = "x86_64") {
        return;
    }
    let Some(lab) = Lab::new(what) else { return };
    lab.program(
        "apt-cache",
        "for word; do case $word in pkgnames) echo linux-source-6.12;; policy) echo '  Candidate: 6.12-1';; esac; done",
    );
    for name in ["gcc", "ld", "flex", "bison", "bc", "tar", "xz", "dpkg-deb", "apt-get"] {
        lab.program(name, "");
    }
    // The trap is where an earlier build would have left the source.
    lab.behind.script(
        "mkdir -p $HOME/lab/sources/linux-source-6.12_6.12-1; cd $HOME/lab/sources/linux-source-6.12_6.12-1
         printf '%s\\n' '%:' '\t@echo make $$(id -u)$$(head -c1 /etc/shadow 2>/dev/null | wc -c) >>'$HOME/who >Makefile",
    );
    let told = lab.latido(["lab", "build", "built-rt"]).output().unwrap();
    assert_ne!(told.status.code(), Some(0), "that Makefile builds no kernel");
    lab.all_were_the_person(&["apt-cache", "gcc", "make"]);
}

/// A fetch unpacks files that somebody may have put into the person's cache meanwhile.
#[test]
fn a_fetch_is_the_persons() {
    let Some(lab) = Lab::new("a fetch of the laboratory behind sudo") else { return };
    lab.program(
        "apt-cache",
        "for word; do case $word in pkgnames) echo linux-image-6.1.0-9-rt-amd64-unsigned;; policy) echo '  Candidate: 6.1-9';; esac; done",
    );
    lab.program("apt-get", "for word; do case $word in download) : >kernel.deb;; esac; done");
    lab.program("dpkg-deb", "mkdir -p $3/boot; echo kernel >$3/boot/vmlinuz-6.1");
    let told = lab.latido(["lab", "fetch", "6.1-rt"]).output().unwrap();
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    lab.all_were_the_person(&["apt-cache", "apt-get", "dpkg-deb"]);
}

/// The emulator runs as the person. Kernel and image are the bytes that latido hashed, whatever happens meanwhile to the files that the
/// person can reach.
#[test]
fn what_was_hashed_is_booted() {
    let Some(lab) = Lab::new("an emulator behind sudo") else { return };
    let home = lab.behind.home();
    let exchange = "for f in \"$LATIDO_LAB\"/own/* image vmlinuz; do
        [ -e \"$f\" ] || [ -L \"$f\" ] && { rm -f \"$f\"; echo exchanged >\"$f\"; }
        done";
    let boot = format!(
        "[ \"$1\" = --version ] && {{ echo QEMU emulator version 7.2; exit; }}
         while [ $# -gt 0 ]; do
           case $1 in -kernel) kernel=$2;; -initrd) image=$2;; esac; shift
         done
         sum() {{ cat \"$kernel\" | sha256sum; cat \"$image\" | sha256sum; }}
         before=$(sum)
         {exchange}
         echo changed 2>/dev/null >\"$image\"
         [ \"$before\" = \"$(sum)\" ] && echo same >>{0} || echo other >>{0}
         cat \"$kernel\" >{1}",
        home.join("booted").display(),
        home.join("kernel").display()
    );
    lab.program("qemu-system-x86_64", &boot);
    let vmlinuz = kernel(&home);
    let words = ["run", "wakeup", "-d", "100ms", "--on", "lab", "--kernel", vmlinuz.to_str().unwrap()];
    let told = lab.latido(words).output().unwrap();
    assert_eq!(told.status.code(), Some(1), "that guest answers nothing: {}", stderr(&told));
    lab.all_were_the_person(&["qemu-system-x86_64"]);
    assert_eq!(fs::read_to_string(home.join("booted")).unwrap_or_default().trim(), "same", "{}", stderr(&told));
    assert!(fs::read(home.join("kernel")).unwrap() == fs::read(vmlinuz).unwrap(), "another kernel was booted");
}

/// A person's program names an audit library: a process that asks the program's loader for its libraries would run that library.
#[test]
fn a_programs_libraries_are_found_without_its_loader() {
    let what = "the libraries of a program behind sudo";
    if !installed("gcc", what) {
        return;
    }
    let Some(lab) = Lab::new(what) else { return };
    let home = lab.behind.home();
    fs::write(
        home.join("audit.c"),
        "#include <fcntl.h>\n#include <unistd.h>\nunsigned la_version(unsigned v) {\n\
         int f = open(AT, O_WRONLY | O_CREAT, 0666); if (f >= 0) close(f); return v; }\n",
    )
    .unwrap();
    fs::write(home.join("load.c"), "int main(void) { return 0; }\n").unwrap();
    let [ran, library, program] = ["ran", "audit.so", "load"].map(|name| home.join(name));
    let at = format!("-DAT=\"{}\"", ran.display());
    let gcc = |words: &[&str]| {
        let told = Command::new("gcc").args(words).current_dir(&home).output().unwrap();
        assert!(told.status.success(), "{}", stderr(&told));
    };
    gcc(&["-shared", "-fPIC", &at, "-o", "audit.so", "audit.c"]);
    gcc(&["-o", "load", "load.c", &format!("-Wl,--audit={}", library.display())]);
    chown(&program, Some(attacker::UID), Some(attacker::UID)).unwrap();
    assert!(fs::metadata(&program).unwrap().permissions().mode() & 0o111 != 0);
    // The trap works: a process that starts the program runs the library.
    Command::new(&program).status().unwrap();
    assert!(ran.exists(), "the trap does not work");
    fs::remove_file(&ran).unwrap();
    lab.program("qemu-system-x86_64", "if [ \"$1\" = --version ]; then echo QEMU emulator version 7.2; fi");
    let vmlinuz = kernel(&home);
    let load = format!("command:{}", program.display());
    let words = ["run", "wakeup", "-d", "100ms", "--on", "lab", "--kernel", vmlinuz.to_str().unwrap(), "--load", &load];
    let told = lab.latido(words).output().unwrap();
    assert!(stderr(&told).contains("gave no answer"), "its guest was booted: {}", stderr(&told));
    assert!(!ran.exists(), "the person's library ran: {}", stderr(&told));
}

/// `$HOME` may be root's behind sudo. If nothing else names the person's cache, latido says what to type.
#[test]
fn a_home_of_roots_is_no_place_for_the_cache() {
    let Some(lab) = Lab::new("the laboratory's cache behind sudo") else { return };
    let mut command = lab.latido(["lab", "fetch", "6.1-rt"]);
    let told = command.env_remove("LATIDO_LAB").env_remove("XDG_CACHE_HOME").env("HOME", "/root").output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    assert!(stderr(&told).contains("LATIDO_LAB"), "{}", stderr(&told));
    let mut command = lab.latido(["lab", "fetch", "6.1-rt"]);
    let told = command.env("LATIDO_LAB", "/root/.cache/latido/lab").output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    let user = format!("user {}", attacker::UID);
    for word in ["Permission denied", "LATIDO_LAB=DIR", user.as_str()] {
        assert!(stderr(&told).contains(word), "no {word}: {}", stderr(&told));
    }
}

/// Root without sudo runs the files in the cache as root: latido refuses a cache that somebody else may change.
#[test]
fn roots_own_cache_is_out_of_reach_of_others() {
    if !root("root's own cache of the laboratory") {
        return;
    }
    let world = World::new();
    let theirs = world.path("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(attacker::UID), None).unwrap();
    let told = world.latido(["lab", "fetch", "6.1-rt"]).env("LATIDO_LAB", theirs.join("lab")).output().unwrap();
    assert_eq!(told.status.code(), Some(1), "{}", stderr(&told));
    assert!(stderr(&told).contains("root builds and boots nothing in"), "{}", stderr(&told));
}
