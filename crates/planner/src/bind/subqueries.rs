//! The subqueries of a clause: each becomes an Apply below the operator whose expression it stands in.

use std::cell::RefCell;
use std::collections::BTreeSet;

use functions::Expr;
use functions::full_text::Mode;
use types::Result;

use crate::logical::{Apply, ApplyKind, ColumnId, Logical, columns_of};

/// The subqueries of some expressions, in the order in which they are evaluated.
#[derive(Default)]
pub struct Subqueries {
    all: RefCell<Vec<Subquery>>,
    /// The values of those among them that several expressions use.
    shared: RefCell<Vec<(Shared, Expr)>>,
}

/// What a subquery computes that MATCH needs. The same is computed once.
#[derive(Debug, Clone, PartialEq)]
pub enum Shared {
    /// The number of rows of a table.
    Rows(i64),
    /// How many have each word of a search.
    RowsWithWords(SharedSearch),
    /// The query of a search with the words of the rows that it finds.
    Expansion(SharedSearch),
}

/// A search in a table.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSearch {
    pub table: i64,
    /// The columns of the index.
    pub columns: Vec<usize>,
    pub mode: Mode,
    pub query: Expr,
    pub is_expanded: bool,
}

struct Subquery {
    kind: ApplyKind,
    rel: Logical,
}

impl Subqueries {
    pub fn len(&self) -> usize {
        self.all.borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.borrow().is_empty()
    }

    pub fn add(&self, kind: ApplyKind, rel: Logical) {
        self.all.borrow_mut().push(Subquery { kind, rel });
    }

    /// The value of a subquery that several expressions use, if it is there.
    pub fn shared(&self, what: &Shared) -> Option<Expr> {
        let all = self.shared.borrow();
        all.iter()
            .find(|(of, _)| of == what)
            .map(|(_, value)| value.clone())
    }

    pub fn share(&self, what: Shared, value: Expr) {
        self.shared.borrow_mut().push((what, value));
    }

    /// The rows with the columns of the subqueries.
    pub fn applied_to(self, input: Logical) -> Logical {
        self.all.into_inner().into_iter().fold(input, |input, subquery| {
            Logical::Apply(Apply {
                kind: subquery.kind,
                input: Box::new(input),
                subquery: Box::new(subquery.rel),
            })
        })
    }

    /// Moves those that make one of these columns to `others`.
    pub fn move_to(&self, others: &Self, columns: &BTreeSet<ColumnId>) {
        let all = self.all.take();
        let (moved, stay): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|subquery| subquery.kind.columns().iter().any(|id| columns.contains(id)));
        self.all.replace(stay);
        others.all.borrow_mut().extend(moved);
    }

    /// Takes out those whose columns neither `needed` nor a subquery that stays names.
    pub fn split_off_unneeded(&self, mut needed: BTreeSet<ColumnId>) -> Self {
        let (mut stay, mut others) = (Vec::new(), Vec::new());
        // A subquery can name only those before it.
        for subquery in self.all.take().into_iter().rev() {
            if !subquery.kind.columns().iter().any(|id| needed.contains(id)) {
                others.push(subquery);
                continue;
            }
            needed.extend(subquery.rel.outer_columns());
            if let ApplyKind::Any { condition, .. } = &subquery.kind {
                needed.extend(columns_of(condition));
            }
            stay.push(subquery);
        }
        stay.reverse();
        others.reverse();
        self.all.replace(stay);
        Self {
            all: RefCell::new(others),
            shared: RefCell::default(),
        }
    }

    /// The outer columns of the subquery that computes a column, and those that it is compared with.
    pub fn outer_columns_of(&self, id: ColumnId) -> BTreeSet<ColumnId> {
        let all = self.all.borrow();
        let Some(subquery) = all.iter().find(|subquery| subquery.kind.columns().contains(&id)) else {
            return BTreeSet::new();
        };
        let mut outer = subquery.rel.outer_columns();
        if let ApplyKind::Any { condition, .. } = &subquery.kind {
            let own = subquery.rel.output();
            let is_own = |id: &ColumnId| own.iter().any(|column| column.id == *id);
            outer.extend(columns_of(condition).into_iter().filter(|id| !is_own(id)));
        }
        outer
    }

    /// The subquery that is the value of a column has no row, and so is NULL, unless `condition` holds.
    pub fn filter_value(&self, id: ColumnId, condition: Expr) {
        let mut all = self.all.borrow_mut();
        let is_value = |subquery: &&mut Subquery| match &subquery.kind {
            ApplyKind::Scalar { columns } => columns.contains(&id),
            _ => false,
        };
        if let Some(subquery) = all.iter_mut().find(is_value) {
            let rel = std::mem::replace(&mut subquery.rel, Logical::OneRow);
            subquery.rel = Logical::Filter {
                input: Box::new(rel),
                predicate: condition,
            };
        }
    }

    /// Whether a subquery computes a column, and names nothing of the rows around it.
    pub fn is_constant(&self, id: ColumnId) -> bool {
        let all = self.all.borrow();
        let mut found = all
            .iter()
            .filter(|subquery| subquery.kind.columns().contains(&id));
        found.any(|subquery| {
            subquery.rel.outer_columns().is_empty() && !matches!(subquery.kind, ApplyKind::Any { .. })
        })
    }

    /// Rewrites every expression of theirs.
    pub fn rewrite(&self, map: &mut dyn FnMut(&Expr) -> Result<Expr>) -> Result<()> {
        for subquery in self.all.borrow_mut().iter_mut() {
            subquery.rel.rewrite(map)?;
            if let ApplyKind::Any { condition, .. } = &mut subquery.kind {
                *condition = map(condition)?;
            }
        }
        Ok(())
    }
}

impl ApplyKind {
    /// The columns that the Apply has besides its input's.
    pub fn columns(&self) -> Vec<ColumnId> {
        match self {
            Self::Scalar { columns } => columns.clone(),
            Self::Exists { mark } | Self::Any { mark, .. } => vec![*mark],
            Self::Lateral { .. } => Vec::new(),
        }
    }
}
