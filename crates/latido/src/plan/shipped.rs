//! The plans in the binary: one file each and one line in [`PLANS`].

/// Name and text of every shipped plan.
pub const PLANS: &[(&str, &str)] = &[("quick", include_str!("../../../../plans/quick.toml"))];

/// The text of a shipped plan.
pub fn text(name: &str) -> Option<&'static str> {
    PLANS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
