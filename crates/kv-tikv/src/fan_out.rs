//! One command per region for many keys. The commands are sent to all regions at once, and sent again for
//! regions that did not serve them.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::command::Command;
use crate::region::Region;
use kv::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Requests in flight per fan-out. It bounds the memory that a large transaction takes on its way.
const IN_FLIGHT_MAX: usize = 32;

/// Something that a request carries for one key.
pub trait Item {
    fn key(&self) -> &[u8];

    /// The bytes that it adds to a request.
    fn size_bytes(&self) -> usize {
        self.key().len()
    }
}

impl Item for Vec<u8> {
    fn key(&self) -> &[u8] {
        self
    }
}

/// Items of one region that fit into one request.
pub struct Group<T> {
    pub region: Arc<Region>,
    pub items: Vec<T>,
}

/// How large a request may become.
#[derive(Clone, Copy)]
pub struct Batch {
    pub items_max: usize,
    pub bytes_max: usize,
    /// Whether an interrupt may abandon requests in flight. True for reads only.
    pub interruptible: bool,
}

/// Groups items by region, in the order in which the regions first appear.
pub fn group<T: Item>(
    cluster: &Cluster,
    items: Vec<T>,
    batch: Batch,
    backoff: &mut Backoff,
) -> Result<Vec<Group<T>>> {
    let mut groups: Vec<(Group<T>, usize)> = Vec::new();
    let mut open: HashMap<u64, usize> = HashMap::new();
    let mut last: Option<Arc<Region>> = None;
    for item in items {
        let region = match last.take().filter(|region| region.contains(item.key())) {
            Some(region) => region,
            None => cluster.region(item.key(), backoff)?,
        };
        last = Some(Arc::clone(&region));
        let bytes = item.size_bytes();
        let has_room = |(group, filled): &(Group<T>, usize)| {
            group.items.len() < batch.items_max && filled + bytes <= batch.bytes_max
        };
        let index = open.get(&region.id).copied();
        match index
            .and_then(|index| groups.get_mut(index))
            .filter(|group| has_room(group))
        {
            Some((group, filled)) => {
                group.items.push(item);
                *filled += bytes;
            }
            None => {
                open.insert(region.id, groups.len());
                let items = vec![item];
                groups.push((Group { region, items }, bytes));
            }
        }
    }
    Ok(groups.into_iter().map(|(group, _)| group).collect())
}

/// Sends a request to every region of the items. `on_response` takes each response and returns the items to
/// ask for again.
///
/// Waits for all requests in flight even after one has failed, so that none is still running
/// afterwards, unless the batch is interruptible.
///
/// # Errors
/// The first error of `on_response`, or of [`Cluster::refused`] and [`Cluster::failed`].
pub fn fan_out<T: Item, C: Command>(
    cluster: &Cluster,
    items: Vec<T>,
    batch: Batch,
    backoff: &mut Backoff,
    mut request: impl FnMut(&[T]) -> C,
    mut on_response: impl FnMut(Vec<T>, C::Response, &mut Backoff) -> Result<Vec<T>>,
) -> Result<()> {
    let mut todo = items;
    while !todo.is_empty() {
        let mut groups = group(cluster, std::mem::take(&mut todo), batch, backoff)?.into_iter();
        loop {
            let window: Vec<Group<T>> = groups.by_ref().take(IN_FLIGHT_MAX).collect();
            if window.is_empty() {
                break;
            }
            todo.extend(send_groups(
                cluster,
                window,
                batch,
                backoff,
                &mut request,
                &mut on_response,
            )?);
        }
    }
    Ok(())
}

/// One round of [`fan_out`]; returns the items to ask for again.
fn send_groups<T: Item, C: Command>(
    cluster: &Cluster,
    groups: Vec<Group<T>>,
    batch: Batch,
    backoff: &mut Backoff,
    request: &mut impl FnMut(&[T]) -> C,
    on_response: &mut impl FnMut(Vec<T>, C::Response, &mut Backoff) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let until = backoff.request(cluster.options.request_timeout);
    let mut again = Vec::new();
    let mut first_error: Option<Error> = None;
    let mut in_flight: Vec<(Sent<C>, Vec<T>)> = Vec::new();
    for Group { region, items } in groups {
        match cluster.send(region, request(&items), until) {
            Ok(sent) => in_flight.push((sent, items)),
            Err(error) => {
                first_error.get_or_insert(error);
                break;
            }
        }
    }
    let mut refusals = Vec::new();
    for (mut sent, items) in in_flight {
        match sent.wait(backoff.interrupt.filter(|_| batch.interruptible)) {
            Ok(Outcome::Answered(response)) => match on_response(items, response, backoff) {
                Ok(items) => again.extend(items),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            },
            Ok(other) => {
                refusals.push((sent.region, other));
                again.extend(items);
            }
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first_error {
        return Err(error);
    }
    for (region, refusal) in refusals {
        match refusal {
            Outcome::Refused(error) => cluster.refused(&region, &error, backoff)?,
            Outcome::Failed(error) => cluster.failed(&region, &error, backoff)?,
            Outcome::Answered(_) => {}
        }
    }
    Ok(again)
}
