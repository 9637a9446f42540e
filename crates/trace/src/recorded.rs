//! Events of the system `ftrace` that tracers write into a trace file (kernel/trace/trace_entries.h): latencies of timerlat, periods of
//! osnoise, gaps of hwlat.

use crate::{
    bytes::Endian,
    file::Described,
    format::{Field, Format, Number},
    text::{Body, Context, Hwlat, NOISES, Noise, Osnoise, Timerlat},
};

/// The resolved formats of such events in a trace.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    timerlat: Option<Fields<3>>,
    osnoise: Option<Fields<8>>,
    hwlat: Option<Fields<8>>,
    /// The events of what interrupted CPUs.
    noises: Vec<OfNoise>,
}

/// An event of the system `osnoise` with a duration: its kind, its name and its number.
#[derive(Clone, Debug)]
struct OfNoise {
    kind: &'static str,
    time: Fields<1>,
    name: Option<Field>,
    number: Option<Number>,
}

impl OfNoise {
    fn of(format: &Format, endian: Endian) -> Option<Self> {
        let (_, kind) = NOISES.into_iter().find(|(name, _)| *name == format.name)?;
        let field = |names: [&str; 2]| names.into_iter().find_map(|name| format.field(name)).cloned();
        let number = ["vector", "pid"].into_iter().find_map(|name| format.number(name, endian));
        Some(Self { kind, time: Fields::of(format, endian, ["duration"])?, name: field(["desc", "comm"]), number })
    }
}

const TIMERLAT: [&str; 3] = ["seqnum", "context", "timer_latency"];
const OSNOISE: [&str; 8] =
    ["noise", "runtime", "max_sample", "hw_count", "nmi_count", "irq_count", "softirq_count", "thread_count"];
const HWLAT: [&str; 8] =
    ["seqnum", "duration", "outer_duration", "tv_sec", "tv_nsec", "count", "nmi_total_ts", "nmi_count"];

/// One kind of event, and the places of its fields.
#[derive(Clone, Debug)]
struct Fields<const N: usize> {
    endian: Endian,
    id: u16,
    fields: [Number; N],
}

impl<const N: usize> Fields<N> {
    /// Finds the fields; returns `None` if the format lacks one.
    fn of(format: &Format, endian: Endian, names: [&str; N]) -> Option<Self> {
        let mut fields = [format.number(names.first()?, endian)?; N];
        for (field, name) in fields.iter_mut().zip(names) {
            *field = format.number(name, endian)?;
        }
        Some(Self { endian, id: format.id, fields })
    }

    /// Returns the values of the fields in a record of this kind.
    fn read(&self, record: &[u8]) -> Option<[u64; N]> {
        if self.endian.u16(record, 0)? != self.id {
            return None;
        }
        let mut values = [0; N];
        for (value, field) in values.iter_mut().zip(self.fields) {
            *value = field.of(record)?.cast_unsigned();
        }
        Some(values)
    }
}

impl Recorded {
    /// Finds the tracers' events whose formats a trace has.
    pub fn of(formats: &[Described], endian: Endian) -> Self {
        let mut all = Self::default();
        let of_noise = formats.iter().filter(|one| one.system == "osnoise");
        all.noises = of_noise.filter_map(|one| OfNoise::of(&one.format, endian)).collect();
        for one in formats.iter().filter(|one| one.system == "ftrace") {
            match one.format.name.as_str() {
                "timerlat" => all.timerlat = Fields::of(&one.format, endian, TIMERLAT),
                "osnoise" => all.osnoise = Fields::of(&one.format, endian, OSNOISE),
                "hwlat" => all.hwlat = Fields::of(&one.format, endian, HWLAT),
                _ => {}
            }
        }
        all
    }

    /// Returns the content of such a record; `None` for a record of another event.
    pub fn read(&self, record: &[u8]) -> Option<Body<'static>> {
        self.timerlat(record).or_else(|| self.osnoise(record)).or_else(|| self.hwlat(record))
    }

    /// Passes what interrupted a CPU to `take`, if the record is such an event.
    pub fn noise(&self, record: &[u8], take: impl FnOnce(Noise<'_>)) {
        let Some((of, [ns])) = self.noises.iter().find_map(|of| Some((of, of.time.read(record)?))) else { return };
        let name = of.name.as_ref().and_then(|field| field.text(record, of.time.endian)).unwrap_or_default();
        let number = of.number.and_then(|number| number.of(record));
        let named = number.map_or_else(|| name.to_string(), |number| format!("{name}:{number}"));
        take(Noise { kind: of.kind, of: named.trim_start_matches(':'), ns });
    }

    fn timerlat(&self, record: &[u8]) -> Option<Body<'static>> {
        let [activation, context, latency_ns] = self.timerlat.as_ref()?.read(record)?;
        Some(Body::Timerlat(Timerlat { activation, context: Context::of(context)?, latency_ns }))
    }

    fn osnoise(&self, record: &[u8]) -> Option<Body<'static>> {
        let [noise_us, runtime, longest_us, hardware, nmi, irq, softirq, thread] =
            self.osnoise.as_ref()?.read(record)?;
        let left = runtime.checked_sub(noise_us);
        let available_e5 = left.and_then(|left| left.checked_mul(10_000_000)?.checked_div(runtime));
        let runtime_us = Some(runtime);
        let noise = Osnoise { runtime_us, noise_us, available_e5, longest_us, hardware, nmi, irq, softirq, thread };
        Some(Body::Osnoise(noise))
    }

    fn hwlat(&self, record: &[u8]) -> Option<Body<'static>> {
        let [sample, inner_us, outer_us, seconds, ns, count, nmi, nmis] = self.hwlat.as_ref()?.read(record)?;
        let at_ns = seconds.checked_mul(1_000_000_000)?.checked_add(ns)?;
        let (count, nmi_us, nmi_count) = (Some(count), Some(nmi), Some(nmis));
        Some(Body::Hwlat(Hwlat { sample, inner_us, outer_us, at_ns, count, nmi_us, nmi_count }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a format as in Linux 6.18 on x86-64. Each field has a name, an offset, a size and a sign.
    fn format(name: &str, id: u16, fields: &[(&str, usize, usize, u8)]) -> Described {
        let mut text = format!(
            "name: {name}\nID: {id}\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
        );
        for (field, offset, size, signed) in fields {
            text += &format!("\tfield:x {field};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
        }
        text += "\nprint fmt: \"\"\n";
        Described { system: "ftrace".into(), format: Format::parse(&text).unwrap() }
    }

    fn formats() -> Vec<Described> {
        let timerlat = [("seqnum", 8, 4, 0), ("context", 12, 4, 1), ("timer_latency", 16, 8, 0)];
        let counts = OSNOISE.iter().skip(3).enumerate().map(|(at, name)| (*name, 32 + 4 * at, 4, 0));
        let long = OSNOISE.iter().take(3).zip([8, 16, 24]).map(|(name, at)| (*name, at, 8, 0));
        let osnoise: Vec<_> = long.chain(counts).collect();
        let hwlat = [
            ("duration", 8, 8, 0),
            ("outer_duration", 16, 8, 0),
            ("nmi_total_ts", 24, 8, 0),
            ("tv_sec", 32, 8, 1),
            ("tv_nsec", 40, 8, 1),
            ("nmi_count", 48, 4, 0),
            ("seqnum", 52, 4, 0),
            ("count", 56, 4, 0),
        ];
        vec![format("timerlat", 17, &timerlat), format("osnoise", 16, &osnoise), format("hwlat", 14, &hwlat)]
    }

    /// Builds a record: its kind, eight bytes that all records have, and the rest.
    fn record(id: u16, words: &[u64], halves: &[u32]) -> Vec<u8> {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.resize(8, 0);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
        bytes
    }

    #[test]
    fn each_tracers_records_are_read() {
        let all = Recorded::of(&formats(), Endian::Little);
        let timerlat = record(17, &[5 | 1 << 32, 12_345], &[]);
        let wanted = Timerlat { activation: 5, context: Context::Thread, latency_ns: 12_345 };
        assert_eq!(all.read(&timerlat), Some(Body::Timerlat(wanted)));

        let Some(Body::Osnoise(noise)) = all.read(&record(16, &[656, 1_000_000, 74], &[23, 1, 1006, 16, 3])) else {
            panic!("no period")
        };
        assert_eq!((noise.runtime_us, noise.noise_us, noise.available_e5), (Some(1_000_000), 656, Some(9_993_440)));
        assert_eq!((noise.longest_us, noise.hardware, noise.nmi, noise.irq), (74, 23, 1, 1006));
        assert_eq!((noise.softirq, noise.thread), (16, 3));

        let gap = record(14, &[11, 12, 4, 1_581_527_483, 343_962_693], &[1, 7, 6]);
        let wanted = Hwlat {
            sample: 7,
            inner_us: 11,
            outer_us: 12,
            at_ns: 1_581_527_483_343_962_693,
            count: Some(6),
            nmi_us: Some(4),
            nmi_count: Some(1),
        };
        assert_eq!(all.read(&gap), Some(Body::Hwlat(wanted)));
    }

    /// A record of another event, a record that is cut, and a context that no kernel has must give nothing.
    #[test]
    fn what_is_no_such_record_says_nothing() {
        let all = Recorded::of(&formats(), Endian::Little);
        assert_eq!(all.read(&record(99, &[1, 2, 3], &[])), None);
        assert_eq!(all.read(&record(17, &[1], &[])), None);
        assert_eq!(all.read(&record(17, &[5 | 7 << 32, 1], &[])), None);
        assert_eq!(
            all.read(&record(16, &[1, 0, 1], &[0; 5]))
                .map(|body| matches!(body, Body::Osnoise(noise) if noise.available_e5.is_none())),
            Some(true)
        );
        assert_eq!(Recorded::of(&[], Endian::Little).read(&record(17, &[1, 2], &[])), None);
    }

    /// What interrupted a CPU must be read with its name and number.
    #[test]
    fn noises_are_read() {
        let text = "name: irq_noise\nID: 300\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:u64 start;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:u64 duration;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:__data_loc char[] desc;\toffset:24;\tsize:4;\tsigned:0;\n\
            \tfield:int vector;\toffset:28;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
        let format = Format::parse(text).unwrap();
        let known = Recorded::of(&[Described { system: "osnoise".into(), format }], Endian::Little);
        let mut record = vec![0; 44];
        record[..2].copy_from_slice(&300_u16.to_le_bytes());
        record[16..24].copy_from_slice(&1845_u64.to_le_bytes());
        record[24..28].copy_from_slice(&(32_u32 | 12 << 16).to_le_bytes());
        record[28..32].copy_from_slice(&236_u32.to_le_bytes());
        record[32..44].copy_from_slice(b"local_timer\0");
        let mut taken = Vec::new();
        known.noise(&record, |noise| taken.push((noise.kind, noise.of.to_owned(), noise.ns)));
        assert_eq!(taken, [("interrupt", "local_timer:236".to_owned(), 1845)]);
        record[0] = 1;
        known.noise(&record, |_| panic!("another event"));
    }
}
