//! Restrictions on the order of relations by optimizer hints (JOIN_ORDER, JOIN_PREFIX, JOIN_SUFFIX).

use planner::logical::{OrderPlace, OrderRule};

use super::graph::{Set, members};
use super::relation::Relation;
use crate::physical::lookup::table_of;

/// The relations of one hint.
#[derive(Debug)]
struct Hinted {
    rule: OrderRule,
    set: Set,
    /// Of each relation its position in the hint.
    positions: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
pub struct OrderHints(Vec<Hinted>);

impl OrderHints {
    pub fn of(relations: &[Relation]) -> Self {
        let mut hints: Vec<((usize, usize), Hinted)> = Vec::new();
        for (number, relation) in relations.iter().enumerate() {
            let Some((get, _)) = table_of(&relation.rel) else {
                continue;
            };
            for OrderPlace { hint, rule, position } in &get.order {
                if !hints.iter().any(|(known, _)| known == hint) {
                    let none = Hinted {
                        rule: *rule,
                        set: 0,
                        positions: Vec::new(),
                    };
                    hints.push((*hint, none));
                }
                if let Some((_, hinted)) = hints.iter_mut().find(|(known, _)| known == hint) {
                    hinted.set |= 1 << number;
                    hinted.positions.push((number, *position));
                }
            }
        }
        Self(hints.into_iter().map(|(_, hinted)| hinted).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the relations of `left` may be read before those of `right`.
    pub fn allow(&self, left: Set, right: Set) -> bool {
        self.0.iter().all(|hinted| {
            let positions = |set: Set| {
                members(set).filter_map(|number| {
                    let place = hinted.positions.iter().find(|(relation, _)| *relation == number);
                    place.map(|(_, position)| *position)
                })
            };
            let in_order = match (positions(left).max(), positions(right).min()) {
                (Some(last), Some(first)) => last < first,
                _ => true,
            };
            let (of_left, of_right) = (left & hinted.set, right & hinted.set);
            in_order
                && match hinted.rule {
                    OrderRule::InOrder => true,
                    OrderRule::First => of_right == 0 || of_left == left,
                    OrderRule::Last => of_left == 0 || of_right == right,
                }
        })
    }
}
