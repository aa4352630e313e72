//! The cheapest way to read a table.

use types::Result;

use super::choose::by_one_index;
use super::{Chosen, Request, union};

/// Chooses how a table is read. Fails with 1176 on a hint that names no index.
pub fn choose(request: &Request<'_>) -> Result<Chosen> {
    let (cost, chosen) = by_one_index(request)?;
    let union = union::of(request, cost)?;
    Ok(match union {
        Some(union) => Chosen {
            possible_keys: chosen.possible_keys.into_iter().chain(union.possible_keys).fold(
                Vec::new(),
                |mut keys, key| {
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                    keys
                },
            ),
            ..union
        },
        None => chosen,
    })
}
