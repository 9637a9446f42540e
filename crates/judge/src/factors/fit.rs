//! Fits the effects of factors, or says why it cannot separate them.

use super::Factors;
use latido_statistics::{
    Refusal,
    factorial::{Effects, effects},
};

/// The most factors of an interaction: a reader cannot picture what four factors do together.
pub const ORDER: usize = 3;
/// The number of missing cells that a message names.
const NAMED: usize = 5;

/// Fits main effects and interactions. Where blocks and factors are confounded, it leaves out the blocks.
///
/// # Errors
/// The effects cannot be separated; the error names what is missing.
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

/// Describes a refusal; it names only the first of many missing cells.
pub fn why(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Missing { cells } if cells.len() > NAMED => {
            let first = cells.get(..NAMED).unwrap_or_default().join(", ");
            format!("effects cannot be told apart: {first} and {} more combinations not measured", cells.len() - NAMED)
        }
        other => other.to_string(),
    }
}
