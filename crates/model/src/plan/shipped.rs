//! The plans in the binary: one file each and one line in [`PLANS`].

/// Name and text of every shipped plan.
pub const PLANS: &[(&str, &str)] = &[
    ("quick", include_str!("../../../../plans/quick.toml")),
    ("three-kernels", include_str!("../../../../plans/three-kernels.toml")),
    ("lab-embedded-properties", include_str!("../../../../plans/lab-embedded-properties.toml")),
    ("lab-execution-times", include_str!("../../../../plans/lab-execution-times.toml")),
    ("lab-ftrace-latencies", include_str!("../../../../plans/lab-ftrace-latencies.toml")),
    ("lab-interrupt-determinism", include_str!("../../../../plans/lab-interrupt-determinism.toml")),
    ("lab-scheduling-latency", include_str!("../../../../plans/lab-scheduling-latency.toml")),
    ("lab-preemption-rcu", include_str!("../../../../plans/lab-preemption-rcu.toml")),
    ("isolation", include_str!("../../../../plans/isolation.toml")),
    ("scheduling-latency", include_str!("../../../../plans/studies/scheduling-latency.toml")),
    ("balance", include_str!("../../../../plans/balance.toml")),
    ("embedded-properties", include_str!("../../../../plans/studies/embedded-properties.toml")),
    ("ftrace-latencies", include_str!("../../../../plans/studies/ftrace-latencies.toml")),
    ("interrupt-determinism", include_str!("../../../../plans/studies/interrupt-determinism.toml")),
    ("execution-times", include_str!("../../../../plans/studies/execution-times.toml")),
];

/// The text of a shipped plan.
pub fn text(name: &str) -> Option<&'static str> {
    PLANS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
