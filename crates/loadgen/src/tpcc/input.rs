//! The input that a terminal enters before a transaction (the "input data generation" of clauses 2.4 to
//! 2.8), and its user's keying and thinking times (5.2.5).

use std::time::Duration;

use super::choices::{self, CUSTOMERS, Constants, DISTRICTS, ITEMS, between};
use crate::random::Random;

/// An item that does not exist. One of a hundred new orders asks for it by mistake.
pub const UNUSED_ITEM: u64 = ITEMS + 1;

/// In the order of [`Kind::NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const NAMES: [&str; 5] = ["new order", "payment", "order status", "delivery", "stock level"];

    /// 45, 43, 4, 4 and 4 of a hundred.
    pub fn choose(random: &mut Random) -> Self {
        match random.below(100) {
            0..45 => Self::NewOrder,
            45..88 => Self::Payment,
            88..92 => Self::OrderStatus,
            92..96 => Self::Delivery,
            _ => Self::StockLevel,
        }
    }

    pub fn keying(self) -> Duration {
        Duration::from_secs(match self {
            Self::NewOrder => 18,
            Self::Payment => 3,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2,
        })
    }

    /// Exponential with the standard's mean, at most ten times the mean.
    pub fn thinking(self, random: &mut Random) -> Duration {
        let mean = match self {
            Self::NewOrder | Self::Payment => 12.0,
            Self::OrderStatus => 10.0,
            Self::Delivery | Self::StockLevel => 5.0,
        };
        // 53 bits, from just above 0 to 1.
        let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        Duration::from_secs_f64((-uniform.ln() * mean).clamp(0.0, mean * 10.0))
    }
}

/// The parameters shared by the terminals of a run.
#[derive(Debug, Clone, Copy)]
pub struct Company {
    pub warehouses: u64,
    pub constants: Constants,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus {
        district: u64,
        customer: Customer,
    },
    Delivery {
        carrier: u64,
    },
    StockLevel {
        /// An item's stock is low below this.
        threshold: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    pub district: u64,
    pub customer: u64,
    /// Sorted by warehouse and item, so that two orders lock the same stock in the same order.
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub supply_warehouse: u64,
    pub item: u64,
    pub quantity: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub district: u64,
    pub customer_warehouse: u64,
    pub customer_district: u64,
    pub customer: Customer,
    pub cents: i64,
}

/// A customer, selected by number or by last name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Customer {
    Number(u64),
    LastName(String),
}

impl Company {
    pub fn input(&self, kind: Kind, home: u64, random: &mut Random) -> Input {
        match kind {
            Kind::NewOrder => Input::NewOrder(self.new_order(home, random)),
            Kind::Payment => Input::Payment(self.payment(home, random)),
            Kind::OrderStatus => Input::OrderStatus {
                district: between(random, 1, DISTRICTS),
                customer: self.customer(random),
            },
            Kind::Delivery => Input::Delivery {
                carrier: between(random, 1, 10),
            },
            Kind::StockLevel => Input::StockLevel {
                threshold: between(random, 10, 20),
            },
        }
    }

    fn new_order(&self, home: u64, random: &mut Random) -> NewOrder {
        let count = between(random, 5, 15);
        let mut lines: Vec<Line> = (0..count)
            .map(|_| Line {
                // One of a hundred lines comes from another warehouse.
                supply_warehouse: if random.below(100) == 0 {
                    self.other_warehouse(home, random)
                } else {
                    home
                },
                item: self.constants.item(random),
                quantity: between(random, 1, 10),
            })
            .collect();
        lines.sort_unstable();
        if random.below(100) == 0
            && let Some(last) = lines.last_mut()
        {
            last.item = UNUSED_ITEM;
        }
        NewOrder {
            district: between(random, 1, DISTRICTS),
            customer: self.constants.customer(random),
            lines,
        }
    }

    fn payment(&self, home: u64, random: &mut Random) -> Payment {
        let district = between(random, 1, DISTRICTS);
        let remote = self.warehouses > 1 && random.below(100) < 15;
        let (customer_warehouse, customer_district) = if remote {
            (self.other_warehouse(home, random), between(random, 1, DISTRICTS))
        } else {
            (home, district)
        };
        Payment {
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer(random),
            cents: between(random, 100, 500_000) as i64,
        }
    }

    /// By last name in six of ten cases.
    fn customer(&self, random: &mut Random) -> Customer {
        if random.below(100) < 60 {
            Customer::LastName(choices::last_name_to_find(random))
        } else {
            Customer::Number(self.constants.customer(random).min(CUSTOMERS))
        }
    }

    /// Any warehouse but `home`, if there is another.
    fn other_warehouse(&self, home: u64, random: &mut Random) -> u64 {
        if self.warehouses < 2 {
            return home;
        }
        let other = between(random, 1, self.warehouses - 1);
        if other < home { other } else { other + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPANY: fn(u64) -> Company = |warehouses| Company {
        warehouses,
        constants: Constants::of_seed(1),
    };

    #[test]
    fn the_mix_is_the_standards() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 5];
        for _ in 0..100_000 {
            counts[Kind::choose(&mut random) as usize] += 1;
        }
        for (count, percent) in counts.iter().zip([45, 43, 4, 4, 4]) {
            assert!(count.abs_diff(percent * 1000) < 800, "{counts:?}");
        }
    }

    #[test]
    fn new_orders_fail_and_go_elsewhere_as_often_as_they_must() {
        let (mut random, company) = (Random::new(2), COMPANY(4));
        let (mut wrong, mut remote, mut lines) = (0, 0, 0);
        for _ in 0..20_000 {
            let order = company.new_order(2, &mut random);
            assert!((5..=15).contains(&order.lines.len()));
            assert!(
                order
                    .lines
                    .iter()
                    .all(|line| (1..=4).contains(&line.supply_warehouse))
            );
            wrong += u32::from(order.lines.iter().any(|line| line.item == UNUSED_ITEM));
            remote += order
                .lines
                .iter()
                .filter(|line| line.supply_warehouse != 2)
                .count();
            lines += order.lines.len();
        }
        assert!((140..260).contains(&wrong), "{wrong}");
        assert!((lines / 130..lines / 75).contains(&remote), "{remote} of {lines}");
    }

    #[test]
    fn payments_go_elsewhere_only_where_there_is_an_elsewhere() {
        let mut random = Random::new(3);
        let remote = |company: Company, random: &mut Random| {
            (0..10_000)
                .filter(|_| company.payment(1, random).customer_warehouse != 1)
                .count()
        };
        assert_eq!(remote(COMPANY(1), &mut random), 0);
        assert!((1_300..1_700).contains(&remote(COMPANY(3), &mut random)));
    }

    #[test]
    fn thinking_has_its_mean_and_an_end() {
        let mut random = Random::new(4);
        let times: Vec<f64> = (0..20_000)
            .map(|_| Kind::NewOrder.thinking(&mut random).as_secs_f64())
            .collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((11.0..13.0).contains(&mean), "{mean}");
        assert!(times.iter().all(|time| *time <= 120.0));
    }
}
