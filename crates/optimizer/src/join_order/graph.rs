//! The joins of a query as a hypergraph: relations, and edges between sets of them.
//!
//! An edge is a join's condition, with the relations that must have been joined on either side before it can
//! be applied. An outer, semi or anti join needs all of its right side; on its left side only what its
//! condition names. A condition that names a relation whose row an outer join may have replaced by NULLs
//! needs that join to have been made: so it needs all the relations of that join too. (The conservative
//! conflict rules of Moerkotte, Fender and Eich, "On the correct and complete enumeration of the core search
//! space",
//! 2013.)

use functions::Expr;
use planner::logical::columns_of;
use planner::logical::{ColumnId, Join, JoinKind, Logical};
use types::Result;

use super::implied::Constants;
use super::relation::Relation;
use crate::expr::{ColumnList, ids, into_conjuncts};
use crate::physical::builder::Builder;
use crate::physical::join_keys::under_one_type;

/// A set of relations, a bit for each.
pub type Set = u64;

#[derive(Debug)]
pub struct Edge {
    pub left: Set,
    pub right: Set,
    pub kind: JoinKind,
    /// The condition of a join that is not inner; conditions of inner joins are [`JoinGraph::conditions`].
    pub on: Vec<Expr>,
}

/// A condition of the inner joins: it is applied as soon as all that it needs is joined.
#[derive(Debug)]
pub struct Condition {
    pub needs: Set,
    /// What each side of an equality needs.
    pub sides: Option<(Set, Set)>,
    pub expr: Expr,
}

#[derive(Debug)]
pub struct JoinGraph {
    pub relations: Vec<Relation>,
    pub edges: Vec<Edge>,
    pub conditions: Vec<Condition>,
}

/// The most relations that a set can hold; further ones stay in joins of their own.
const RELATIONS_MAX: usize = 61;

struct Collector<'a, 'b> {
    builder: &'a Builder<'b>,
    leaves: Vec<(Logical, Vec<ColumnId>)>,
    /// What must be joined before a column of the relation can be named.
    requires: Vec<Set>,
    edges: Vec<Edge>,
    conditions: Vec<Condition>,
}

impl JoinGraph {
    pub fn of(join: Join, wanted: &[ColumnId], builder: &Builder<'_>) -> Result<Self> {
        let mut collector = Collector {
            builder,
            leaves: Vec::new(),
            requires: Vec::new(),
            edges: Vec::new(),
            conditions: Vec::new(),
        };
        collector.join(join);
        collector.connect();
        collector.drop_implied();
        let Collector {
            leaves,
            edges,
            conditions,
            ..
        } = collector;
        let mut all = ColumnList(wanted.to_vec());
        let on = edges.iter().flat_map(|edge| &edge.on);
        conditions
            .iter()
            .map(|condition| &condition.expr)
            .chain(on)
            .for_each(|expr| all.add_all(expr));
        let mut relations = Vec::with_capacity(leaves.len());
        for (rel, _) in leaves {
            relations.push(Relation::of(rel, &all, builder)?);
        }
        Ok(Self {
            relations,
            edges,
            conditions,
        })
    }

    pub fn all(&self) -> Set {
        (1 << self.relations.len()) - 1
    }
}

impl Collector<'_, '_> {
    /// Takes an operator apart. Returns its relations.
    fn collect(&mut self, rel: Logical) -> Set {
        match rel {
            Logical::Join(join)
                if !join.straight && self.leaves.len() + leaf_count(&join) <= RELATIONS_MAX =>
            {
                self.join(join)
            }
            leaf => self.leaf(leaf),
        }
    }

    fn leaf(&mut self, leaf: Logical) -> Set {
        let number = self.leaves.len();
        self.builder.learn(&leaf);
        let columns = ids(&leaf);
        self.leaves.push((leaf, columns));
        self.requires.push(1 << number);
        1 << number
    }

    fn join(&mut self, join: Join) -> Set {
        let left = self.collect(*join.left);
        let right = match join.kind {
            JoinKind::Inner | JoinKind::Left => self.collect(*join.right),
            // It is joined by itself in any case, or run for each row.
            JoinKind::Semi | JoinKind::Anti => self.leaf(*join.right),
        };
        let mut conditions = Vec::new();
        if let Some(condition) = join.condition {
            into_conjuncts(condition, &mut conditions);
        }
        if join.kind == JoinKind::Inner {
            for expr in conditions {
                self.condition(expr, left | right);
            }
            return left | right;
        }
        let mut needs = 0;
        for expr in &conditions {
            needs |= self.needs(expr);
        }
        // Without a condition on its left side the join sees whole rows of it.
        let of_left = if needs & left == 0 { left } else { needs & left };
        if join.kind == JoinKind::Left {
            for number in members(right) {
                self.requires[number] |= of_left | right;
            }
        }
        self.edges.push(Edge {
            left: of_left,
            right,
            kind: join.kind,
            on: conditions,
        });
        left | right
    }

    fn condition(&mut self, expr: Expr, within: Set) {
        let mut needs = self.needs(&expr);
        if needs == 0 || !functions::is_deterministic(&expr) {
            needs = within;
        }
        let mut sides = None;
        if let Expr::Call { function, args, .. } = &expr
            && let ("=" | "<=>", [a, b]) = (function.0.name, args.as_slice())
        {
            let (left, right) = (self.needs(a), self.needs(b));
            if left != 0 && right != 0 && left & right == 0 {
                sides = under_one_type(a.clone(), b.clone()).map(|_| (left, right));
                self.edges.push(Edge {
                    left,
                    right,
                    kind: JoinKind::Inner,
                    on: Vec::new(),
                });
            }
        }
        self.conditions.push(Condition { needs, sides, expr });
    }

    fn needs(&self, expr: &Expr) -> Set {
        let columns = columns_of(expr);
        let mut needs = 0;
        for (number, (_, made)) in self.leaves.iter().enumerate() {
            if made.iter().any(|id| columns.contains(id)) {
                needs |= self.requires[number];
            }
        }
        needs
    }

    /// Leaves out conditions that others imply. Their edges stay, so that the orders that are compared do.
    fn drop_implied(&mut self) {
        let leaves = self.leaves.iter().zip(&self.requires);
        // An outer join may have replaced the other rows by NULLs.
        let relations = leaves.filter(|(_, requires)| requires.is_power_of_two());
        let conditions = self.conditions.iter().map(|condition| &condition.expr);
        let constants = Constants::of(relations.map(|((rel, _), _)| rel), conditions);
        self.conditions
            .retain(|condition| !constants.imply(&condition.expr));
    }

    /// Adds edges for cross products, so that every relation can be reached.
    fn connect(&mut self) {
        let mut parts: Vec<Set> = (0..self.leaves.len()).map(|number| 1 << number).collect();
        for edge in &self.edges {
            join_parts(&mut parts, edge.left | edge.right);
        }
        // Conditions that are not equalities rather than none.
        for condition in &self.conditions {
            let touched: Vec<Set> = parts
                .iter()
                .copied()
                .filter(|part| part & condition.needs != 0)
                .collect();
            if let [left, right] = touched.as_slice() {
                self.edges.push(cross(*left, *right));
                join_parts(&mut parts, left | right);
            }
        }
        while let [left, right, ..] = *parts.as_slice() {
            self.edges.push(cross(left, right));
            join_parts(&mut parts, left | right);
        }
    }
}

fn cross(left: Set, right: Set) -> Edge {
    Edge {
        left,
        right,
        kind: JoinKind::Inner,
        on: Vec::new(),
    }
}

fn join_parts(parts: &mut Vec<Set>, set: Set) {
    let mut joined = set;
    parts.retain(|part| {
        let touches = part & set != 0;
        if touches {
            joined |= part;
        }
        !touches
    });
    parts.insert(0, joined);
}

fn leaf_count(join: &Join) -> usize {
    let of = |rel: &Logical| match rel {
        Logical::Join(join) if !join.straight => leaf_count(join),
        _ => 1,
    };
    of(&join.left) + of(&join.right)
}

/// The numbers of a set's relations.
pub fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let number = set.trailing_zeros() as usize;
        set &= set - 1;
        Some(number)
    })
}
