//! Expressions and conditions over the columns in scope.

use super::queries::Generator;
use super::schema::{TYPES, Type};
use super::tree::Node;

const COMPARISONS: &[&str] = &["=", "=", "=", "<>", "<", "<=", ">", ">="];

impl Generator<'_> {
    pub fn expression(&mut self, ty: Type, depth: usize) -> Node {
        let leaf = self.leaf(ty);
        if depth == 0 || self.random.one_in(2) {
            return leaf;
        }
        let whole = match self.random.below(8) {
            0 => {
                let (a, b) = (self.expression(ty, depth - 1), self.expression(ty, depth - 1));
                Node::of("COALESCE({}, {})", [a, b])
            }
            1 => {
                let condition = self.condition(depth - 1);
                let (a, b) = (self.expression(ty, depth - 1), self.expression(ty, depth - 1));
                Node::of("IF({}, {}, {})", [condition, a, b])
            }
            2 => {
                let condition = self.condition(depth - 1);
                let (a, b) = (self.expression(ty, depth - 1), self.leaf(ty));
                Node::of("CASE WHEN {} THEN {} ELSE {} END", [condition, a, b])
            }
            3 => {
                let (a, b) = (self.expression(ty, depth - 1), self.leaf(ty));
                Node::of("NULLIF({}, {})", [a, b])
            }
            4 | 5 if self.subqueries => self.scalar_subquery(ty, depth - 1),
            _ => self.operation(ty, depth - 1),
        };
        whole.or([leaf])
    }

    fn operation(&mut self, ty: Type, depth: usize) -> Node {
        let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
        match ty {
            Type::Int => match self.random.below(4) {
                0 => Node::of("({} - {})", [a, b]),
                1 => {
                    let text = self.expression(Type::Text, depth);
                    Node::of("LENGTH({})", [text])
                }
                2 => {
                    let text = format!("({{}} % {})", 2 + self.random.below(3));
                    Node::of(&text, [a])
                }
                _ => Node::of("({} + {})", [a, b]),
            },
            Type::Decimal => Node::of("({} + {})", [a, b]),
            Type::Text => Node::of("CONCAT({}, {})", [a, b]),
            Type::Date => {
                let text = format!("({{}} + INTERVAL {} DAY)", self.random.below(4));
                Node::of(&text, [a])
            }
        }
    }

    /// A column, or a literal.
    pub fn leaf(&mut self, ty: Type) -> Node {
        let column = if self.random.one_in(6) {
            None
        } else {
            self.column(ty)
        };
        match column {
            Some(column) => Node::text(column),
            None => Node::text(ty.literal(self.random)),
        }
    }

    /// A column of the type: usually of the innermost query, sometimes of an enclosing one.
    pub fn column(&mut self, ty: Type) -> Option<String> {
        let innermost = self.scopes.len().checked_sub(1)?;
        let outside = innermost > 0 && self.correlated && self.random.one_in(4);
        let scope = if outside {
            self.random.below(innermost)
        } else {
            innermost
        };
        let columns = self.columns_of(scope, ty);
        match columns.is_empty() {
            true => None,
            false => Some(columns[self.random.below(columns.len())].clone()),
        }
    }

    pub fn columns_of(&self, scope: usize, ty: Type) -> Vec<String> {
        let mut columns = Vec::new();
        for relation in &self.scopes[scope] {
            for column in relation.columns.iter().filter(|c| c.ty == ty) {
                columns.push(format!("{}.{}", relation.name, column.name));
            }
        }
        columns
    }

    /// The columns of the innermost query. Rows that are equal in all of them are interchangeable in it.
    pub fn all_columns(&self) -> Vec<String> {
        let innermost = self.scopes.len() - 1;
        TYPES
            .into_iter()
            .flat_map(|ty| self.columns_of(innermost, ty))
            .collect()
    }

    pub fn condition(&mut self, depth: usize) -> Node {
        let simple = self.comparison(0);
        if depth == 0 {
            return simple.or([Node::text("TRUE")]);
        }
        let whole = match self.random.below(14) {
            0 | 1 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                return Node::of("({} AND {})", [a.clone(), b.clone()]).or([a, b]);
            }
            2 | 3 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                return Node::of("({} OR {})", [a.clone(), b.clone()]).or([a, b]);
            }
            4 => {
                let a = self.condition(depth - 1);
                return Node::of("NOT ({})", [a.clone()]).or([a]);
            }
            5 => {
                let a = self.condition(depth - 1);
                let test = self.random.pick(&["TRUE", "NOT TRUE", "FALSE", "NULL"]);
                Node::of(&format!("(({{}}) IS {test})"), [a])
            }
            6 | 7 if self.subqueries => self.exists(depth - 1),
            8 | 9 if self.subqueries => self.in_subquery(depth - 1),
            10 if self.subqueries => self.quantified(depth - 1),
            _ => self.comparison(depth - 1),
        };
        whole.or([simple, Node::text("TRUE")])
    }

    fn comparison(&mut self, depth: usize) -> Node {
        let (ty, a) = self.subject(depth);
        match self.random.below(10) {
            0 => {
                let not = self.random.pick(&["", "NOT "]);
                Node::of(&format!("{{}} IS {not}NULL"), [a])
            }
            1 => {
                let (b, c) = (self.leaf(ty), self.leaf(ty));
                let not = self.random.pick(&["", "NOT "]);
                Node::of(&format!("{{}} {not}IN ({{}}, {{}})"), [a, b, c])
            }
            2 => {
                let (b, c) = (self.leaf(ty), self.leaf(ty));
                Node::of("{} BETWEEN {} AND {}", [a, b, c])
            }
            3 if ty == Type::Text => {
                let pattern = self.random.pick(&["a%", "%b", "_", "%"]);
                Node::of(&format!("{{}} LIKE '{pattern}'"), [a])
            }
            4 => {
                let b = self.expression(ty, depth);
                Node::of("{} <=> {}", [a, b])
            }
            _ => {
                let b = self.expression(ty, depth);
                let operator = self.random.pick(COMPARISONS);
                Node::of(&format!("{{}} {operator} {{}}"), [a, b])
            }
        }
    }

    /// The left side of a comparison: usually a column, so that it is true for some rows and false for
    /// others.
    fn subject(&mut self, depth: usize) -> (Type, Node) {
        if depth > 0 && self.random.one_in(2) {
            let ty = Type::random(self.random);
            return (ty, self.expression(ty, depth));
        }
        for _ in 0..TYPES.len() {
            let ty = Type::random(self.random);
            if let Some(column) = self.column(ty) {
                return (ty, Node::text(column));
            }
        }
        let ty = Type::random(self.random);
        (ty, self.leaf(ty))
    }

    fn exists(&mut self, depth: usize) -> Node {
        let types = [Type::random(self.random)];
        let query = self.limited_query(&types, depth);
        let not = self.random.pick(&["", "NOT "]);
        Node::of(&format!("{not}EXISTS ({{}})"), [query])
    }

    fn in_subquery(&mut self, depth: usize) -> Node {
        let not = self.random.pick(&["", "NOT "]);
        let first = Type::random(self.random);
        if self.random.one_in(4) {
            let second = Type::random(self.random);
            let (a, b) = (self.expression(first, 0), self.expression(second, 0));
            let query = self.query(&[first, second], depth);
            return Node::of(&format!("({{}}, {{}}) {not}IN ({{}})"), [a, b, query]);
        }
        let a = self.expression(first, depth);
        let query = self.query(&[first], depth);
        Node::of(&format!("{{}} {not}IN ({{}})"), [a, query])
    }

    fn quantified(&mut self, depth: usize) -> Node {
        let ty = Type::random(self.random);
        let a = self.expression(ty, depth);
        let query = self.query(&[ty], depth);
        let operator = self.random.pick(COMPARISONS);
        let quantifier = self.random.pick(&["ANY", "ALL"]);
        Node::of(&format!("{{}} {operator} {quantifier} ({{}})"), [a, query])
    }

    /// A subquery that has at most one row.
    fn scalar_subquery(&mut self, ty: Type, depth: usize) -> Node {
        if self.random.one_in(2) {
            let totals = self.totals(&[ty], depth);
            return Node::of("({})", [totals]);
        }
        let plain = self.plain(&[ty], depth);
        Node::of("({} ORDER BY 1 LIMIT 1)", [plain])
    }
}
