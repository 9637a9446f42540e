//! The effects of factors, fitted; or why they cannot be told.

use super::Factors;
use latido_statistics::{
    Refusal,
    factorial::{Effects, effects},
};

/// The most factors of an interaction: what four do together nobody can picture.
pub const ORDER: usize = 3;
/// How many missing cells are named.
const NAMED: usize = 5;

/// Main effects and interactions. Where blocks cannot be told apart from factors, blocks are left away.
///
/// # Errors
/// Why effects cannot be told, with what is missing.
pub fn fit(factors: &Factors) -> Result<Effects, String> {
    let names: Vec<&str> = factors.names.iter().map(String::as_str).collect();
    let order = names.len().min(ORDER);
    let first = factors.observations.first().map(|one| one.value);
    if factors.observations.iter().all(|one| Some(one.value) == first) {
        return Err("all values are equal: there is no effect to be estimated".into());
    }
    let whole = effects(&names, &factors.observations, order);
    whole.or_else(|_| effects(&names, &factors.without_blocks(), order)).map_err(|refusal| why(&refusal))
}

/// A refusal in words; of many missing cells the first.
pub fn why(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Missing { cells } if cells.len() > NAMED => {
            let first = cells.get(..NAMED).unwrap_or_default().join(", ");
            format!("effects cannot be told apart: {first} and {} more combinations not measured", cells.len() - NAMED)
        }
        other => other.to_string(),
    }
}
