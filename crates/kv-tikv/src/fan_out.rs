//! One command per region for many keys: sent to all of them at once, and again to those that did not serve it.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::command::Command;
use crate::region::Region;
use kv::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Requests of one fan-out on their way at a time: a large transaction is not to be in flight as a whole.
const IN_FLIGHT_MAX: usize = 32;

/// Something that is asked for under a key.
pub trait Item {
    fn key(&self) -> &[u8];

    /// What it adds to a request.
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
    /// Whether an interrupt may leave requests on their way unanswered: reads only.
    pub interruptible: bool,
}

impl Cluster {
    /// Items by region, in the order in which their regions come first.
    pub fn group<T: Item>(
        &self,
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
                None => self.region(item.key(), backoff)?,
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

    /// Asks every region of the items. `answer` takes each answer and gives back what has to be asked again.
    ///
    /// All requests that are on their way are waited for, even if one has failed: nothing is left running, unless the
    /// batch is interruptible.
    ///
    /// # Errors
    /// The first that `answer` gave, or what [`Cluster::refused`] and [`Cluster::failed`] do not try again.
    pub fn fan_out<T: Item, C: Command>(
        &self,
        items: Vec<T>,
        batch: Batch,
        backoff: &mut Backoff,
        mut request: impl FnMut(&[T]) -> C,
        mut answer: impl FnMut(Vec<T>, C::Answer, &mut Backoff) -> Result<Vec<T>>,
    ) -> Result<()> {
        let mut todo = items;
        while !todo.is_empty() {
            let mut groups = self.group(std::mem::take(&mut todo), batch, backoff)?.into_iter();
            loop {
                let window: Vec<Group<T>> = groups.by_ref().take(IN_FLIGHT_MAX).collect();
                if window.is_empty() {
                    break;
                }
                todo.extend(self.ask_groups(window, batch, backoff, &mut request, &mut answer)?);
            }
        }
        Ok(())
    }

    /// One round of [`Cluster::fan_out`]; what has to be asked again.
    fn ask_groups<T: Item, C: Command>(
        &self,
        groups: Vec<Group<T>>,
        batch: Batch,
        backoff: &mut Backoff,
        request: &mut impl FnMut(&[T]) -> C,
        answer: &mut impl FnMut(Vec<T>, C::Answer, &mut Backoff) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let until = backoff.request(self.options.request_timeout);
        let mut again = Vec::new();
        let mut first_error: Option<Error> = None;
        let mut on_the_way: Vec<(Sent<C>, Vec<T>)> = Vec::new();
        for Group { region, items } in groups {
            match self.send(region, request(&items), until) {
                Ok(sent) => on_the_way.push((sent, items)),
                Err(error) => {
                    first_error.get_or_insert(error);
                    break;
                }
            }
        }
        let mut refusals = Vec::new();
        for (mut sent, items) in on_the_way {
            match sent.wait(backoff.interrupt.filter(|_| batch.interruptible)) {
                Ok(Outcome::Answered(answered)) => match answer(items, answered, backoff) {
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
                Outcome::Refused(error) => self.refused(&region, &error, backoff)?,
                Outcome::Failed(error) => self.failed(&region, &error, backoff)?,
                Outcome::Answered(_) => {}
            }
        }
        Ok(again)
    }
}
