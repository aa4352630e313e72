//! The cheapest plans found so far, a set of relations each, and what joining two of them costs.

use std::collections::HashMap;

use functions::Expr;
use planner::logical::{ColumnId, Join, JoinKind, Logical};
use types::Result;

use super::graph::{JoinGraph, Set};
use super::hinted::OrderHints;
use crate::conditions::filtered;
use crate::cost;
use crate::expr::all;
use crate::physical::builder::Builder;
use crate::physical::join_keys::key_of;
use crate::physical::lookup::{self, table_of};
use crate::{OptimizerEnv, Rule};

/// The cheapest way to join a set of relations.
#[derive(Debug, Clone)]
pub struct Plan {
    pub set: Set,
    pub rows: f64,
    pub cost: f64,
    how: How,
}

#[derive(Debug, Clone)]
enum How {
    Relation(usize),
    /// `edge`: the join that is not inner.
    Join {
        left: Set,
        right: Set,
        edge: Option<usize>,
    },
}

/// The properties of an edge that do not depend on the sets that it joins.
struct EdgeFacts {
    share: f64,
    has_key: bool,
}

pub struct Search<'a, 'b> {
    builder: &'a Builder<'b>,
    pub graph: &'a JoinGraph,
    hints: OrderHints,
    pub plans: HashMap<Set, Plan>,
    /// Lookups that have been looked for: of a relation, by conditions.
    lookups: HashMap<(usize, Vec<usize>, Option<usize>), Option<f64>>,
    /// The share of pairs that satisfies each condition.
    shares: Vec<f64>,
    /// That of several conditions together.
    several: HashMap<Vec<usize>, f64>,
    edges: Vec<EdgeFacts>,
    /// How many pairs have been compared.
    pub pairs: usize,
}

/// The columns of a set of relations.
fn columns(graph: &JoinGraph, set: Set) -> Vec<ColumnId> {
    let relations = super::graph::members(set).map(|number| &graph.relations[number]);
    relations
        .flat_map(|relation| relation.columns.iter().copied())
        .collect()
}

impl<'a, 'b> Search<'a, 'b> {
    pub fn new(builder: &'a Builder<'b>, graph: &'a JoinGraph, hints: OrderHints) -> Result<Self> {
        let plan = |(number, relation): (usize, &super::relation::Relation)| {
            let plan = Plan {
                set: 1 << number,
                rows: relation.rows,
                cost: relation.cost,
                how: How::Relation(number),
            };
            (plan.set, plan)
        };
        let distinct = builder.distinct.borrow();
        let edge = |edge: &super::graph::Edge| {
            let (left, right) = (
                columns(graph, graph.all() & !edge.right),
                columns(graph, edge.right),
            );
            EdgeFacts {
                share: distinct.share_of_all(&edge.on),
                has_key: edge
                    .on
                    .iter()
                    .any(|condition| key_of(condition, &left, &right).is_some()),
            }
        };
        Ok(Self {
            shares: graph
                .conditions
                .iter()
                .map(|condition| distinct.share(&condition.expr))
                .collect(),
            edges: graph.edges.iter().map(edge).collect(),
            plans: graph.relations.iter().enumerate().map(plan).collect(),
            builder,
            graph,
            hints,
            several: HashMap::new(),
            lookups: HashMap::new(),
            pairs: 0,
        })
    }

    /// The best plan that joins two sets in either order, if some edge does.
    pub fn joined(&mut self, a: Set, b: Set) -> Result<Option<Plan>> {
        let mut best: Option<Plan> = None;
        for (left, right) in [(a, b), (b, a)] {
            if let Some(plan) = self.in_order(left, right)?
                && best.as_ref().is_none_or(|best| plan.cost < best.cost)
            {
                best = Some(plan);
            }
        }
        Ok(best)
    }

    /// Remembers the plan if it is the cheapest of its set.
    pub fn offer(&mut self, plan: Plan) {
        let known = self.plans.get(&plan.set);
        if known.is_none_or(|known| plan.cost < known.cost) {
            self.plans.insert(plan.set, plan);
        }
    }

    fn in_order(&mut self, left: Set, right: Set) -> Result<Option<Plan>> {
        self.pairs += 1;
        if !self.hints.allow(left, right) {
            return Ok(None);
        }
        let graph = self.graph;
        let mut edge = None;
        let mut connected = false;
        for (number, e) in graph.edges.iter().enumerate() {
            let forwards = e.left & !left == 0 && e.right & !right == 0;
            if e.kind == JoinKind::Inner {
                connected |= forwards || e.left & !right == 0 && e.right & !left == 0;
            } else if forwards && e.right == right {
                edge = Some(number);
            } else if e.left & !right == 0 && e.right == left {
                // The sides of such a join cannot be exchanged.
                return Ok(None);
            }
        }
        if edge.is_none() && !connected {
            return Ok(None);
        }
        let (Some(l), Some(r)) = (self.plans.get(&left).cloned(), self.plans.get(&right).cloned()) else {
            return Ok(None);
        };
        let conditions = self.applied(left, right);
        let above = self.share_of(&conditions);
        let pairs = l.rows * r.rows;
        let has_key = match edge {
            Some(number) => self.edges[number].has_key,
            None => conditions.iter().any(|&number| self.is_key(number, left, right)),
        };
        let rows = match edge {
            None => pairs * above,
            Some(number) => {
                let matches = pairs * self.edges[number].share;
                above
                    * match graph.edges[number].kind {
                        JoinKind::Inner => matches,
                        JoinKind::Left => matches.max(l.rows),
                        JoinKind::Semi => matches.min(l.rows),
                        JoinKind::Anti => (l.rows - matches).max(l.rows * 0.1),
                    }
            }
        };
        let compared = if has_key && self.builder.env.applies(Rule::HashJoin) {
            0.0
        } else {
            pairs * cost::PAIR
        };
        let mut cost = l.cost + r.cost + r.rows * cost::HASH_BUILD + l.rows * cost::HASH_PROBE + compared;
        if right.is_power_of_two()
            && let Some(each) = self.lookup(left, right, conditions, edge)?
        {
            cost = cost.min(l.cost + l.rows * each);
        }
        Ok(Some(Plan {
            set: left | right,
            rows: rows.max(1.0),
            cost: cost + rows * cost::OUTPUT,
            how: How::Join { left, right, edge },
        }))
    }

    /// The conditions that can be applied where two sets have been joined, and not before.
    fn applied(&self, left: Set, right: Set) -> Vec<usize> {
        let now = |needs: Set| needs & !(left | right) == 0 && needs & !left != 0 && needs & !right != 0;
        let conditions = self.graph.conditions.iter().enumerate();
        conditions
            .filter(|(_, condition)| now(condition.needs))
            .map(|(number, _)| number)
            .collect()
    }

    /// The share of pairs that satisfies some conditions.
    fn share_of(&mut self, conditions: &[usize]) -> f64 {
        match conditions {
            [] => 1.0,
            [number] => self.shares[*number],
            several => {
                if let Some(known) = self.several.get(several) {
                    return *known;
                }
                let of_all = several.iter().map(|&number| &self.graph.conditions[number].expr);
                let share = self.builder.distinct.borrow().share_of_all(of_all);
                self.several.insert(several.to_vec(), share);
                share
            }
        }
    }

    /// Whether a condition is a key of a hash join of the two sets.
    fn is_key(&self, number: usize, left: Set, right: Set) -> bool {
        self.graph.conditions[number]
            .sides
            .is_some_and(|(a, b)| a & !left == 0 && b & !right == 0 || a & !right == 0 && b & !left == 0)
    }

    /// Microseconds of a lookup in the relation for one row of the left side.
    fn lookup(
        &mut self,
        left: Set,
        right: Set,
        conditions: Vec<usize>,
        edge: Option<usize>,
    ) -> Result<Option<f64>> {
        let graph = self.graph;
        let number = right.trailing_zeros() as usize;
        let relation = &graph.relations[number];
        let Some((get, filter)) = table_of(&relation.rel) else {
            return Ok(None);
        };
        let key = (number, conditions, edge);
        if let Some(known) = self.lookups.get(&key) {
            return Ok(*known);
        }
        let on: Vec<Expr> = match edge {
            Some(edge) => graph.edges[edge].on.clone(),
            None => key
                .1
                .iter()
                .map(|&number| graph.conditions[number].expr.clone())
                .collect(),
        };
        let left_columns = columns(graph, left);
        let kind = edge.map_or(JoinKind::Inner, |edge| graph.edges[edge].kind);
        let found = lookup::find(
            self.builder,
            kind,
            get,
            filter,
            &on,
            &left_columns,
            &relation.wanted,
        )?;
        let each = found.map(|lookup| lookup.cost);
        self.lookups.insert(key, each);
        Ok(each)
    }

    /// The plan as operators.
    pub fn tree(&self, plan: &Plan, env: &OptimizerEnv<'_>) -> Result<Logical> {
        let How::Join { left, right, edge } = plan.how else {
            let How::Relation(number) = plan.how else {
                return Err(types::Error::internal("a plan without a relation"));
            };
            let of_it = self
                .graph
                .conditions
                .iter()
                .filter(|condition| condition.needs == plan.set);
            let conditions = of_it.map(|condition| condition.expr.clone()).collect();
            return filtered(self.graph.relations[number].rel.clone(), conditions, env);
        };
        let side = |set: Set| {
            let plan = self.plans.get(&set);
            plan.ok_or_else(|| types::Error::internal("a side of a join has no plan"))
        };
        let conditions = self.applied(left, right).into_iter();
        let conditions: Vec<Expr> = conditions
            .map(|number| self.graph.conditions[number].expr.clone())
            .collect();
        let (kind, on, above) = match edge.map(|number| &self.graph.edges[number]) {
            Some(edge) => (edge.kind, edge.on.clone(), conditions),
            None => (JoinKind::Inner, conditions, Vec::new()),
        };
        let join = Logical::Join(Join {
            kind,
            left: Box::new(self.tree(side(left)?, env)?),
            right: Box::new(self.tree(side(right)?, env)?),
            condition: all(on, env.types)?,
            straight: true,
        });
        filtered(join, above, env)
    }
}
