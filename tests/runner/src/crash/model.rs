//! A writer's model of its data: the acknowledged state of each of its orders and transfers, and the change
//! that was in flight when the server died. Either state may be found.

use std::collections::BTreeMap;

/// A whole order: absent, or present with its version in each of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Absent,
    /// The version that the order and each of its items must have.
    Version(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub source: u64,
    pub target: u64,
    pub amount: i64,
}

#[derive(Debug)]
pub struct Known<T> {
    pub acknowledged: T,
    /// Sent, without a reply.
    pub in_flight: Option<T>,
}

/// One writer's model. Writers share no orders.
#[derive(Debug)]
pub struct Model {
    pub writer: u64,
    next: u64,
    pub orders: BTreeMap<String, Known<Order>>,
    pub transfers: BTreeMap<String, Known<Option<Transfer>>>,
}

impl Model {
    pub fn new(writer: u64) -> Self {
        Self {
            writer,
            next: 0,
            orders: BTreeMap::new(),
            transfers: BTreeMap::new(),
        }
    }

    /// A name that no other writer uses.
    pub fn new_name(&mut self) -> String {
        self.next += 1;
        format!("w{}-{}", self.writer, self.next)
    }

    /// Must be called before the deciding statement or COMMIT is sent.
    pub fn order_sent(&mut self, name: &str, order: Order) {
        let known = self.orders.entry(name.to_string()).or_insert(Known {
            acknowledged: Order::Absent,
            in_flight: None,
        });
        known.in_flight = Some(order);
    }

    pub fn order_acknowledged(&mut self, name: &str) {
        if let Some(known) = self.orders.get_mut(name)
            && let Some(order) = known.in_flight.take()
        {
            known.acknowledged = order;
        }
    }

    /// The server has refused the change.
    pub fn order_refused(&mut self, name: &str) {
        if let Some(known) = self.orders.get_mut(name) {
            known.in_flight = None;
        }
    }

    pub fn transfer_sent(&mut self, name: &str, transfer: Transfer) {
        self.transfers.insert(
            name.to_string(),
            Known {
                acknowledged: None,
                in_flight: Some(Some(transfer)),
            },
        );
    }

    pub fn transfer_acknowledged(&mut self, name: &str) {
        if let Some(known) = self.transfers.get_mut(name)
            && let Some(transfer) = known.in_flight.take()
        {
            known.acknowledged = transfer;
        }
    }

    pub fn transfer_refused(&mut self, name: &str) {
        self.transfers.remove(name);
    }

    /// One of the existing orders, selected by a number.
    pub fn some_order(&self, choice: u64) -> Option<(String, u32)> {
        let there: Vec<_> = self
            .orders
            .iter()
            .filter_map(|(name, known)| match known.acknowledged {
                Order::Version(version) => Some((name, version)),
                Order::Absent => None,
            })
            .collect();
        let count = there.len() as u64;
        let (name, version) = there.get(choice.checked_rem(count)? as usize)?;
        Some(((*name).clone(), *version))
    }
}
