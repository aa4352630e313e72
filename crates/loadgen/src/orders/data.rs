//! The values of an order. Every key is computed from the order's sequence number, so readers need no list
//! of keys.

use crate::client::Param;
use crate::random::{Random, mix};

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    Null,
    Int(i64),
    Text(String),
}

impl Field {
    pub fn param(&self) -> Param<'_> {
        match self {
            Self::Null => Param::Null,
            Self::Int(value) => Param::Int(*value),
            Self::Text(text) => Param::Text(text),
        }
    }
}

impl From<i64> for Field {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Items, parcels and events of an order.
pub const ITEMS: u64 = 4;
pub const PARCELS: u64 = 2;
pub const EVENTS: [&str; 2] = ["created", "paid"];

/// The keys of the order with a sequence number.
#[derive(Debug, Clone)]
pub struct Keys {
    sequence: u64,
}

impl Keys {
    /// `sequence` must be below 2^56.
    pub fn of(sequence: u64) -> Self {
        Self { sequence }
    }

    fn mixed(&self, purpose: u64) -> u64 {
        mix(self.sequence ^ (purpose << 56))
    }

    /// The id of an order that was loaded before the run. The server assigns the ids of later ones.
    pub fn order_id(&self) -> i64 {
        self.sequence as i64 + 1
    }

    /// The id of its first item, likewise.
    pub fn item_id(&self) -> i64 {
        (self.sequence * ITEMS) as i64 + 1
    }

    pub fn order_number(&self) -> String {
        format!("ORD-{:016x}", self.mixed(1))
    }

    pub fn customer_id(&self) -> i64 {
        (self.mixed(2) >> 1) as i64
    }

    pub fn cart_id(&self) -> i64 {
        (self.mixed(3) >> 1) as i64
    }

    pub fn invoice_number(&self) -> String {
        format!("INV-{:016x}", self.mixed(4))
    }

    pub fn payment_reference(&self) -> String {
        format!("PAY-{:016x}", self.mixed(5))
    }

    pub fn tracking_number(&self, parcel: u64) -> String {
        format!("TRK-{:016x}-{parcel}", self.mixed(6))
    }

    pub fn session_token(&self) -> String {
        format!("{:016x}{:016x}", self.mixed(7), self.mixed(8))
    }

    /// The random numbers for the order's other values, the same every time.
    pub fn random(&self) -> Random {
        Random::new(self.mixed(9))
    }
}

/// The values of a row of `orders`, in the order of [`super::schema::TABLES`]'s columns.
pub fn order(keys: &Keys) -> Vec<Field> {
    let mut random = keys.random();
    let cents = random.below(500_000) + 100;
    let coupon = if random.below(4) == 0 {
        Field::Text(format!("SAVE{}", random.below(50)))
    } else {
        Field::Null
    };
    vec![
        keys.order_number().into(),
        keys.customer_id().into(),
        (random.below(10_000) as i64).into(),
        (random.below(200) as i64).into(),
        keys.cart_id().into(),
        keys.invoice_number().into(),
        keys.payment_reference().into(),
        coupon,
        format!("customer{:x}@example.com", keys.customer_id()).into(),
        format!("+49{:010}", random.below(10_000_000_000)).into(),
        keys.session_token().into(),
        (random.below(8) as i64).into(),
        amount(cents).into(),
        amount(cents * 19 / 119).into(),
        format!("{}, 10115 Berlin", random.text(150)).into(),
        format!("{}, 20095 Hamburg", random.text(150)).into(),
        random.text(500).into(),
        format!(
            "2030-{:02}-{:02} 12:00:00",
            random.below(12) + 1,
            random.below(28) + 1
        )
        .into(),
    ]
}

pub fn item(order_id: i64, random: &mut Random) -> Vec<Field> {
    vec![
        order_id.into(),
        (random.below(1_000_000) as i64).into(),
        random.text(60).into(),
        (random.below(5) as i64 + 1).into(),
        amount(random.below(50_000) + 99).into(),
    ]
}

pub fn payment(order_id: i64, keys: &Keys, random: &mut Random) -> Vec<Field> {
    vec![
        order_id.into(),
        "cards".into(),
        keys.payment_reference().into(),
        amount(random.below(500_000)).into(),
    ]
}

pub fn shipment(order_id: i64, parcel: u64, keys: &Keys, random: &mut Random) -> Vec<Field> {
    vec![
        order_id.into(),
        keys.tracking_number(parcel).into(),
        "parcels".into(),
        (random.below(30_000) as i64).into(),
    ]
}

pub fn event(order_id: i64, kind: &'static str, random: &mut Random) -> Vec<Field> {
    vec![order_id.into(), kind.into(), random.text(80).into()]
}

fn amount(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_about_1100_bytes() {
        for sequence in 0..100 {
            let bytes: usize = order(&Keys::of(sequence))
                .iter()
                .map(|value| match value {
                    Field::Text(text) => text.len(),
                    Field::Null => 0,
                    Field::Int(_) => 8,
                })
                .sum();
            // Three timestamps and a currency come from defaults.
            assert!((1050..1150).contains(&(bytes + 19)), "{bytes}");
        }
    }

    #[test]
    fn keys_are_the_orders_own_and_always_the_same() {
        assert_eq!(Keys::of(5).order_number(), Keys::of(5).order_number());
        assert_ne!(Keys::of(5).order_number(), Keys::of(6).order_number());
        assert_ne!(Keys::of(5).cart_id(), Keys::of(5).customer_id());
        assert_eq!((Keys::of(0).item_id(), Keys::of(1).item_id()), (1, 5));
        assert_eq!(amount(5), "0.05");
    }
}
