//! The units of each format. latido divides values and never multiplies them by a fraction: the quotient is then the nearest representable
//! number, and prints as people would write it.

/// A unit that a format writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// `s`, `us`.
    pub name: String,
    /// How many of the stored unit make one.
    pub per: f64,
}

impl Unit {
    /// Converts a value from the stored unit to this one.
    pub fn of(&self, value: f64) -> f64 {
        value / self.per
    }
}

/// Returns how many of the stored unit make a nanosecond, if the stored unit is one of time.
fn per_ns(stored: &str) -> Option<f64> {
    match stored {
        "ns" => Some(1.0),
        "ps" => Some(1e3),
        _ => None,
    }
}

/// Returns whether a stored unit is one of time.
pub fn is_time(stored: &str) -> bool {
    per_ns(stored).is_some()
}

/// Returns the SI base unit: seconds or radians. Other units stay as they are.
pub fn base(stored: &str) -> Unit {
    match (per_ns(stored), stored) {
        (Some(ns), _) => Unit { name: "s".into(), per: 1e9 * ns },
        (None, "urad") => Unit { name: "rad".into(), per: 1e6 },
        _ => Unit { name: stored.into(), per: 1.0 },
    }
}

/// Returns microseconds, the usual unit for latencies. Units other than time stay as they are.
pub fn micro(stored: &str) -> Unit {
    match per_ns(stored) {
        Some(ns) => Unit { name: "us".into(), per: 1e3 * ns },
        None => Unit { name: stored.into(), per: 1.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_print_as_people_write_them() {
        assert_eq!(base("ns").of(420_181.0).to_string(), "0.000420181");
        assert_eq!(base("ns").of(1_000.0).to_string(), "0.000001");
        assert_eq!(micro("ps").of(6_340.0).to_string(), "0.00634");
        assert_eq!(micro("ns").of(24_800.0).to_string(), "24.8");
        assert_eq!((base("urad").of(12_300.0), base("urad").name.as_str()), (0.0123, "rad"));
        assert_eq!((base("widgets").of(3.0), micro("urad").of(3.0)), (3.0, 3.0));
    }
}
