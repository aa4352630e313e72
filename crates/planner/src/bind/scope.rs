//! The relations of a query block, and what names mean in its clauses.

use functions::Expr;
use syntax::ast::ColumnName;
use types::Result;

use super::context::Context;
use super::names::{
    FIELD_LIST, FROM_CLAUSE, HAVING_CLAUSE, Names, WHERE_CLAUSE, Within, ambiguous_column, full_name,
    is_unknown, unknown_column, unknown_without_tables,
};
use super::relation::Relation;
use crate::logical::ColumnId;

/// A column of a block: which relation, and which of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    pub relation: usize,
    pub position: usize,
}

/// The relations of a query block.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub relations: Vec<Relation>,
    /// What `*` means, if a join has merged columns (USING, NATURAL). Columns that are not here can only be
    /// named with their relation.
    /// Invisible columns are among them, though `*` leaves them out.
    pub merged: Option<Vec<ColumnRef>>,
    /// The columns that USING names, which `*` means even if they are invisible.
    joined_by: Vec<ColumnRef>,
}

/// The names of a block's relations; names that none of them has are looked up around the query.
pub struct ScopeNames<'a> {
    pub scope: &'a Scope,
    /// The clause that error 1054 names.
    pub clause: &'static str,
    /// The place where the query stands, if it is a subquery.
    pub outer: Option<&'a Context<'a>>,
    /// They stand in the argument of an aggregate, which may be one of the query around.
    pub in_aggregate: bool,
}

/// No columns at all; names may be found around the query.
pub struct NoNames<'a> {
    pub outer: Option<&'a Context<'a>>,
}

/// No columns, and no query around.
pub const NO_NAMES: NoNames<'static> = NoNames { outer: None };

impl Scope {
    pub fn of(relation: Relation) -> Self {
        Self {
            relations: vec![relation],
            ..Self::default()
        }
    }

    /// The column that a name means; `None` if there is none.
    ///
    /// # Errors
    /// 1052 if there are several.
    pub fn find(&self, name: &ColumnName, clause: &str) -> Result<Option<ColumnRef>> {
        let mut found: Option<ColumnRef> = None;
        for (relation, of) in self.relations.iter().enumerate() {
            let Some(position) = of.find(name).or_else(|| self.row_id(of, name)) else {
                continue;
            };
            let column = ColumnRef { relation, position };
            if name.table.is_none() && self.is_hidden(column) {
                continue;
            }
            if found.is_some() {
                return Err(ambiguous_column(&full_name(name), clause));
            }
            found = Some(column);
        }
        Ok(found)
    }

    /// `_rowid` without the name of its table is known only where there is one table.
    fn row_id(&self, of: &Relation, name: &ColumnName) -> Option<usize> {
        let is_meant = name.column.eq_ignore_ascii_case("_rowid");
        let is_alone = name.table.is_some() || self.relations.len() == 1;
        (is_meant && is_alone).then(|| of.find_row_id(name)).flatten()
    }

    fn is_hidden(&self, column: ColumnRef) -> bool {
        self.merged
            .as_ref()
            .is_some_and(|merged| !merged.contains(&column))
    }

    /// The columns that `*` means.
    pub fn all(&self) -> Vec<ColumnRef> {
        let mut all = self.named();
        all.retain(|column| {
            self.relation(*column).is_visible(column.position) || self.joined_by.contains(column)
        });
        all
    }

    /// Whether USING or NATURAL made one of this column and that of another table.
    pub fn is_joined_by(&self, column: ColumnRef) -> bool {
        self.joined_by.contains(&column)
    }

    /// The columns that can be named without their relation, the invisible ones included.
    pub fn named(&self) -> Vec<ColumnRef> {
        if let Some(merged) = &self.merged {
            return merged.clone();
        }
        let mut named = Vec::new();
        for (relation, of) in self.relations.iter().enumerate() {
            let positions = of.named_positions().into_iter();
            named.extend(positions.map(|position| ColumnRef { relation, position }));
        }
        named
    }

    pub fn relation(&self, column: ColumnRef) -> &Relation {
        &self.relations[column.relation]
    }

    pub fn column(&self, column: ColumnRef) -> Expr {
        self.relation(column).column(column.position)
    }

    /// The relation and position of a column of the block.
    pub fn of_id(&self, id: ColumnId) -> Option<ColumnRef> {
        self.relations.iter().enumerate().find_map(|(relation, of)| {
            let position = of.position(id)?;
            Some(ColumnRef { relation, position })
        })
    }

    /// Whether only an outer join makes a column of a table NULL.
    pub fn is_null_of_join(&self, id: ColumnId) -> bool {
        self.of_id(id).is_some_and(|column| {
            let relation = self.relation(column);
            let table = relation.table();
            relation.or_null && table.is_some_and(|table| !table.columns[column.position].nullable)
        })
    }

    /// Whether it is a table's AUTO_INCREMENT column.
    pub fn is_auto_increment(&self, id: ColumnId) -> bool {
        self.of_id(id).is_some_and(|column| {
            let table = self.relation(column).table();
            table.is_some_and(|table| table.columns[column.position].auto_increment)
        })
    }

    /// The smallest id of a column.
    pub fn first_column(&self) -> Option<ColumnId> {
        let of = |relation: &Relation| {
            relation
                .named_positions()
                .into_iter()
                .map(|at| relation.id(at))
                .min()
        };
        self.relations.iter().filter_map(of).min()
    }

    pub fn owns(&self, id: ColumnId) -> bool {
        self.of_id(id).is_some()
    }

    /// An outer join may leave its columns NULL.
    pub fn make_nullable(&mut self) {
        for relation in &mut self.relations {
            relation.or_null = true;
        }
    }

    /// The relations of both; `pairs` are columns that are one in `*`, and `from_right` says which of each.
    pub fn joined(
        mut self,
        right: Self,
        pairs: Option<&Vec<(ColumnRef, ColumnRef)>>,
        from_right: bool,
    ) -> Self {
        // A join with ON has its columns in the order of its sides.
        let from_right = from_right && pairs.is_some();
        let shift = self.relations.len();
        let shifted = |column: &ColumnRef| ColumnRef {
            relation: column.relation + shift,
            ..*column
        };
        self.joined_by.extend(right.joined_by.iter().map(shifted));
        let (of_left, of_right): (Vec<_>, Vec<_>) = pairs.into_iter().flatten().copied().unzip();
        match from_right {
            true => self.joined_by.extend(of_right.iter().map(shifted)),
            false => self.joined_by.extend(of_left),
        }
        self.merged = match pairs {
            None if self.merged.is_none() && right.merged.is_none() => None,
            pairs => {
                let none = Vec::new();
                let pairs = pairs.unwrap_or(&none);
                let (all_of_left, right_all) = (self.named(), right.named());
                let left_rest = all_of_left
                    .iter()
                    .copied()
                    .filter(|column| !pairs.iter().any(|(l, _)| l == column));
                let right_rest = right_all
                    .iter()
                    .filter(|column| !pairs.iter().any(|(_, r)| r == *column))
                    .map(shifted);
                // They come in the order of the table that they are taken from.
                let of_left = |column: &&ColumnRef| pairs.iter().any(|(l, _)| l == *column);
                let of_right = |column: &&ColumnRef| pairs.iter().any(|(_, r)| r == *column);
                let common: Vec<ColumnRef> = match from_right {
                    true => right_all.iter().filter(of_right).map(shifted).collect(),
                    false => all_of_left.iter().filter(of_left).copied().collect(),
                };
                let common = common.into_iter();
                Some(match from_right {
                    true => common.chain(right_rest).chain(left_rest).collect(),
                    false => common.chain(left_rest).chain(right_rest).collect(),
                })
            }
        };
        self.relations.extend(right.relations);
        self
    }
}

impl ScopeNames<'_> {
    /// A name here that no relation of the block has.
    pub fn around(&self, name: &ColumnName) -> Result<Expr> {
        let within = match self.clause {
            HAVING_CLAUSE => Within::Having,
            _ => Within::Elsewhere,
        };
        self.around_from(name, within)
    }

    /// A name that no relation of the block has, at its place in the subquery that it stands in.
    pub fn around_from(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        let unknown = || unknown_column(name, self.clause);
        let Some(outer) = self.outer else {
            let is_before_tables = matches!(self.clause, HAVING_CLAUSE | FROM_CLAUSE);
            return Err(match self.scope.relations.is_empty() && !is_before_tables {
                true => unknown_without_tables(name, self.clause),
                false => unknown(),
            });
        };
        let (names, within) = match self.in_aggregate {
            true if outer.is_argument || self.clause == WHERE_CLAUSE => (outer.argument_names, within),
            true => (outer.argument_names, Within::Argument),
            false => (outer.names, within),
        };
        match names.named_within(name, within) {
            Ok(column) => Ok(column),
            Err(error) if is_unknown(&error) => Err(unknown()),
            Err(error) => Err(error),
        }
    }
}

impl Names for ScopeNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        match self.scope.find(name, self.clause)? {
            Some(column) => Ok(self.scope.column(column)),
            None => self.around(name),
        }
    }

    fn named_within(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        match self.scope.find(name, self.clause)? {
            Some(column) => Ok(self.scope.column(column)),
            None => self.around_from(name, within),
        }
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        match self.scope.find(name, self.clause)? {
            Some(column) => Ok((self.scope.relation(column), column.position)),
            None => Err(unknown_column(name, self.clause)),
        }
    }

    /// Outside ON DUPLICATE KEY UPDATE it is NULL, and of the tables of a query within it.
    fn values(&self, name: &ColumnName) -> Result<Expr> {
        if let (None, Some(outer)) = (self.scope.find(name, self.clause)?, self.outer) {
            return outer.names.values(name);
        }
        let column = self.column(name)?;
        Ok(functions::bind::implicit_cast(Expr::null(), column.ty()))
    }
}

impl Names for NoNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        match self.outer {
            Some(outer) => outer.names.named_within(name, Within::Elsewhere),
            None => Err(unknown_without_tables(name, FIELD_LIST)),
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        match self.outer {
            Some(outer) => outer.names.values(name),
            None => Err(unknown_column(name, FIELD_LIST)),
        }
    }
}
