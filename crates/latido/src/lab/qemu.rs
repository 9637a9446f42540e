//! One boot of a guest: QEMU in plain emulation, with its clock counted in instructions.

use super::{
    arch::Arch,
    child,
    console::{last, log},
    image::Image,
    kernel::Kernel,
    life::Life,
    sealed::Sealed,
};
use anyhow::{Context, Result, anyhow, bail, ensure};
use flate2::read::GzDecoder;
use latido_agent::guest::MARK;
use latido_model::protocol::hex;
use latido_sys::process;
use sha2::{Digest, Sha256};
use signal_hook::consts::SIGKILL;
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

/// The boot parameters of every guest's kernel. Random addresses and random numbers would make another guest of each boot. A panic ends the
/// guest. A kernel's self-tests of its ciphers go on for a second of emulated time after the boot, and would be measured too. The kernel's
/// jitter random number generator times readings of the clock, finds no jitter in a guest, and takes an eighth of the boot to do so.
const APPEND: &str =
    "quiet nokaslr norandmaps random.trust_cpu=off cryptomgr.notests initcall_blacklist=jent_mod_init panic=-1";

/// For a PC, latido also switches off the kernel's test whether the timer interrupts. The timer does, and the test takes a tenth of the
/// host's time for a boot.
const APPEND_PC: &str = "no_timer_check";

/// For a PC with a real-time core. Without these parameters the agent in a guest with EVL hung: it took 37 s of processor time and gave no
/// answer. Nobody has examined the cause. A thread of a core reads the clock without a system call only where the clock source is `tsc`, and
/// a system call takes the thread out of the core.
const APPEND_PC_CORE: &str = "tsc=reliable clocksource=tsc";

/// The least memory of a guest, MiB.
const LEAST_MEMORY: u64 = 512;

/// Returns a guest's memory, MiB, for an image of this many bytes. The kernel needs the image and its unpacked contents at the same time,
/// and the unpacked file system takes at most half the memory. The kernel silently drops what does not fit, possibly even the first
/// program.
pub fn memory(image: u64) -> u64 {
    (image >> 20).saturating_mul(4).max(LEAST_MEMORY).next_power_of_two()
}

/// The time per instruction in the guest, ns: two to the power of `shift`.
pub const INSTRUCTION_NS: u32 = 1;

/// How often latido checks whether the guest has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The largest answers that latido accepts, in bytes.
const MOST: u64 = 256 << 20;

/// The most bytes that a guest may write to one of its ports. Its answers are compressed, and so smaller than unpacked. SIGXFSZ ends QEMU
/// if it writes more (setrlimit(2)).
const MOST_FILE: u64 = MOST + (1 << 20);

/// Returns the name of QEMU's program.
pub fn program(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "qemu-system-x86_64",
        Arch::Aarch64 => "qemu-system-aarch64",
        Arch::Armv7 => "qemu-system-arm",
    }
}

/// Returns QEMU's version, as QEMU prints it.
///
/// # Errors
/// It is not installed, with the remedy.
pub fn version(arch: Arch) -> Result<String> {
    let output = child::command(program(arch)).arg("--version").output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let package = if arch == Arch::X86_64 { "qemu-system-x86" } else { "qemu-system-arm" };
            anyhow::anyhow!("there is no {}: install QEMU (Debian: apt-get install {package})", program(arch))
        }
        _ => error.into(),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_owned).context("QEMU does not report its version")
}

/// One nanosecond per instruction; the clock of an idle guest jumps to its next timer. Recording is on for its lock: without it QEMU's main
/// loop, which makes the clock jump, may see that a guest has halted before its last instructions are counted (`icount_process_data`), and
/// makes the clock jump too far. Without the lock, one guest in twenty under a flood of packets on a busy host gave other bytes. QEMU
/// writes the recording to /dev/null.
const COUNTED: &str = "shift=0,sleep=off,rr=record,rrfile=/dev/null";

/// Returns the arguments for a guest with this memory, MiB. Files have the names that they have in the guest's directory.
pub fn arguments(kernel: &Kernel, memory: u64) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| all.extend(words.iter().map(|word| (*word).to_owned()));
    let (machine, cpu, console) = match kernel.arch {
        Arch::X86_64 => ("pc,hpet=off", "qemu64", "ttyS0"),
        Arch::Aarch64 => ("virt,gic-version=3", "cortex-a53", "ttyAMA0"),
        Arch::Armv7 => ("virt,highmem=off", "cortex-a15", "ttyAMA0"),
    };
    add(&["-machine", kernel.board.machine.as_deref().unwrap_or(machine), "-cpu", cpu]);
    // With instruction counting, several CPUs would take turns and show waits of milliseconds that no real kernel has.
    match kernel.board.cpus() {
        1 => add(&["-accel", "tcg", "-icount", COUNTED, "-smp", "1"]),
        cpus => add(&["-accel", "tcg,thread=multi", "-smp", &cpus.to_string()]),
    }
    add(&["-m", &memory.to_string(), "-seed", "1"]);
    add(&["-rtc", "clock=vm,base=2020-01-01", "-nodefaults", "-display", "none", "-monitor", "none", "-nic", "none"]);
    add(&["-no-reboot", "-serial", "file:console.log"]);
    match kernel.arch {
        Arch::X86_64 => add(&["-serial", "file:answers"]),
        // QEMU's machine has one serial port, so the answers go through a PCI card.
        Arch::Aarch64 | Arch::Armv7 => {
            add(&["-chardev", "file,id=answers,path=answers", "-device", "pci-serial,chardev=answers"]);
        }
    }
    let board = &kernel.board;
    for (option, values) in [("-netdev", &board.netdevs), ("-chardev", &board.chardevs), ("-device", &board.devices)] {
        values.iter().for_each(|value| add(&[option, value]));
    }
    add(&["-kernel", "vmlinuz", "-initrd", "image", "-append"]);
    let (machines, cores) = match (kernel.arch, kernel.core) {
        (Arch::X86_64, Some(_)) => (APPEND_PC, APPEND_PC_CORE),
        (Arch::X86_64, None) => (APPEND_PC, ""),
        (Arch::Aarch64 | Arch::Armv7, _) => ("", ""),
    };
    // The kernel's own parameters come last: of two equal ones the kernel takes the last.
    let words = [&format!("console={console}"), APPEND, machines, cores, kernel.append.trim()];
    all.push(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
    all
}

/// A running guest. It ends when this is dropped, and with the thread that started it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the arguments with the open files in place of their names. Each file is identified by the option before it.
fn opened<'a>(arguments: &'a [String], files: &'a [(&str, String)]) -> Vec<&'a str> {
    let behind = |number: usize| number.checked_sub(1).and_then(|before| arguments.get(before));
    let path = |option: &String| files.iter().find(|(known, _)| known == option).map(|(_, path)| path.as_str());
    let all = arguments.iter().enumerate();
    all.map(|(number, word)| behind(number).and_then(path).unwrap_or(word)).collect()
}

/// Boots a guest in a directory, waits for its end and returns its answers.
///
/// # Errors
/// It panicked, hung (`within` is the processor time that it may take), or ended early: the end of its log. Or `stopped` reports that the
/// session no longer wants it.
pub fn boot(
    dir: &Path,
    kernel: &Kernel,
    arguments: &[String],
    vmlinuz: &Sealed,
    image: &Image,
    within: Duration,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<u8>> {
    // The host decides about Ctrl-C, so the guest gets its own process group. Its nice value stays the host's: when it runs does not change
    // its answers.
    let manners = process::Child { own_group: true, death_signal: Some(SIGKILL), reset_scheduling: false, nice: None };
    let mut command = child::prepared(program(kernel.arch), manners);
    let image = Sealed::of(|mut to| image.write(&mut to))?;
    let files = [("-kernel", vmlinuz.give(&mut command)), ("-initrd", image.give(&mut command))];
    // The kernel may come from any user, and may write to its ports without end.
    process::limit_files(&mut command, MOST_FILE);
    let complaints = File::create(dir.join("complaints"))?;
    command.args(opened(arguments, &files)).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints);
    let child = command.spawn().with_context(|| format!("cannot start {}", program(kernel.arch)))?;
    drop(image);
    let mut running = Running(child);
    let mut life = Life::new(&running.0, kernel.board.cpus() > 1);
    let status = loop {
        if let Some(status) = running.0.try_wait()? {
            break status;
        }
        if stopped() {
            bail!("stopped while its guest was running; nothing of it was kept");
        }
        if let Some(over) = life.over(within) {
            bail!("{over}{}{}", kernel.why_it_may_hang(), log(dir));
        }
        thread::sleep(LOOK);
    };
    let complaints = Some(last(&dir.join("complaints"), 3)).filter(|text| !text.is_empty());
    let complaints = complaints.map_or_else(String::new, |text| format!(", and wrote: {text}"));
    ensure!(status.success(), "QEMU ended with {status}{complaints}{}", log(dir));
    let mut answers = Vec::new();
    // If the file was cut here, its length no longer matches.
    let _ = File::open(dir.join("answers")).and_then(|file| file.take(MOST_FILE).read_to_end(&mut answers));
    unpack(&answers).map_err(|error| anyhow!("the guest gave no answer: {error:#}{}", log(dir)))
}

/// Unpacks the answers from the bytes of the port.
///
/// # Errors
/// They are truncated, changed, or missing.
pub fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    let end = bytes.iter().position(|byte| *byte == b'\n').context("it sent nothing")?;
    let (head, packed) = bytes.split_at(end + 1);
    let head = String::from_utf8_lossy(head);
    let mut words = head.split_whitespace();
    ensure!(words.next() == Some(MARK), "what it sent is not an answer");
    let length: usize = words.next().and_then(|word| word.parse().ok()).context("its length is missing")?;
    ensure!(packed.len() == length, "it sent {} of {length} bytes", packed.len());
    ensure!(words.next() == Some(hex(&Sha256::digest(packed)).as_str()), "its checksum is wrong");
    let mut answers = Vec::new();
    GzDecoder::new(packed).take(MOST + 1).read_to_end(&mut answers).context("it cannot be unpacked")?;
    ensure!(answers.len() as u64 <= MOST, "it holds more than {} MiB", MOST >> 20);
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::kernel::shipped;
    use latido_model::machine::CoreKind;
    use std::io::Write;

    /// Half of the memory is enough for the image's files, and the other half for the image and the kernel.
    #[test]
    fn an_image_fits_the_memory_twice() {
        assert_eq!(memory(20 << 20), 512);
        for mib in [1_u64, 127, 128, 129, 240, 700] {
            assert!(memory(mib << 20) / 2 >= 2 * mib, "{mib}");
        }
    }

    /// A kernel with a real-time core gets the parameters that its guest needs on a PC, before those of its file. Any other kernel gets what
    /// it got before.
    #[test]
    fn a_core_adds_its_boot_parameters() {
        let appended = |core, arch| {
            let kernel = shipped().unwrap().remove(0);
            let kernel = Kernel { core, arch, append: "quiet clocksource=hpet".into(), ..kernel };
            arguments(&kernel, 512).pop().unwrap()
        };
        let plain = appended(None, Arch::X86_64);
        assert!(plain.ends_with("panic=-1 no_timer_check quiet clocksource=hpet"), "{plain}");
        for kind in CoreKind::ALL {
            let with = appended(Some(kind), Arch::X86_64);
            assert!(with.ends_with(" tsc=reliable clocksource=tsc quiet clocksource=hpet"), "{with}");
            assert_eq!(with.replace(" tsc=reliable clocksource=tsc", ""), plain);
            assert_eq!(appended(Some(kind), Arch::Aarch64), appended(None, Arch::Aarch64));
        }
    }

    /// Only the two files are replaced, each after its option. Words of the kernel's own parameters stay.
    #[test]
    fn open_files_take_the_place_of_names() {
        let words =
            ["-m", "512", "-kernel", "vmlinuz", "-initrd", "image", "-append", "image vmlinuz"].map(String::from);
        let files = [("-kernel", "/k".to_owned()), ("-initrd", "/i".to_owned())];
        assert_eq!(opened(&words, &files), ["-m", "512", "-kernel", "/k", "-initrd", "/i", "-append", "image vmlinuz"]);
    }

    /// Returns the bytes as a guest writes them.
    fn handed_out(packed: &[u8]) -> Vec<u8> {
        let head = format!("{MARK} {} {}\n", packed.len(), hex(&Sha256::digest(packed)));
        [head.as_bytes(), packed].concat()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        use flate2::{Compression, write::GzEncoder};
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    /// A guest with a user's own kernel may write anything to its port, even with a matching checksum.
    #[test]
    fn hostile_answers_are_an_error() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        };
        let sound = packed(b"words that are packed");
        for round in 0..2_000 {
            let noise: Vec<u8> = (0..round % 9).flat_map(|_| next()).collect();
            assert!(unpack(&noise).is_err());
            assert!(unpack(&handed_out(&noise)).is_err(), "{noise:?}");
            let mut changed = sound.clone();
            let [at, bit, ..] = next();
            let at = usize::from(at) % changed.len();
            changed[at] ^= 1 << (bit % 8);
            // Some bytes of the format have no effect: the text then stays the same.
            let _ = unpack(&handed_out(&changed)).map(|words| assert_eq!(words, b"words that are packed"));
        }
        for head in ["latido-lab 5", "latido-lab 99999999999999999999999 00", "latido-lab -1 00", "latido-lab"] {
            assert!(unpack(format!("{head}\nwords").as_bytes()).is_err(), "{head}");
        }
    }

    /// Truncated, forged or empty answers are refused. Complete ones come back.
    #[test]
    fn answers_are_whole_or_none() {
        let mut bytes = handed_out(&packed(b"words"));
        assert_eq!(unpack(&bytes).unwrap(), b"words");
        for cut in 0..bytes.len() {
            assert!(unpack(&bytes[..cut]).is_err(), "{cut}");
        }
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert!(unpack(&bytes).unwrap_err().to_string().contains("checksum"));
    }
}
