//! Random queries of every form over several tables. Each has exactly one correct result: a LIMIT comes with
//! a total order; a window's rows are ordered by all columns if their order matters; a scalar subquery has at
//! most one row; a grouped query selects only keys of the groups and aggregates.

use super::super::random::Random;
use super::from::result_columns;
use super::schema::{Relation, Type};
use super::tree::Node;

/// How deep queries nest. One in [`DEEPER_IN`] nests one level deeper.
const DEPTH: usize = 2;

const DEEPER_IN: usize = 8;

/// Without `INTERSECT ALL` and `EXCEPT ALL`, which MySQL 8.0.33 computes wrongly in derived tables.
const SET_OPERATIONS: &[&str] = &["UNION", "UNION ALL", "INTERSECT", "EXCEPT"];

pub struct Generator<'a> {
    pub(super) random: &'a mut Random,
    /// The tables and common table expressions.
    pub(super) tables: Vec<Relation>,
    /// The relations of the query that is being made (the last), and of the enclosing queries.
    pub(super) scopes: Vec<Vec<Relation>>,
    /// Whether expressions may use columns of enclosing queries.
    pub(super) correlated: bool,
    /// Whether expressions may have subqueries.
    pub(super) subqueries: bool,
    aliases: usize,
}

/// How the rows of a window are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Window {
    /// By one column. The function has the same value for all rows that are equal in that column.
    Peers,
    /// By all columns. Rows that are equal in all of them are interchangeable.
    Rows,
    /// By all columns, and sometimes with a frame.
    Framed,
}

/// A whole statement.
pub struct Statement {
    pub query: Node,
    /// Whether its rows have an order.
    pub ordered: bool,
}

/// One statement over the tables.
pub fn statement(tables: &[Relation], random: &mut Random) -> Statement {
    Generator::new(tables, random).statement()
}

impl<'a> Generator<'a> {
    pub fn new(tables: &[Relation], random: &'a mut Random) -> Self {
        Self {
            random,
            tables: tables.to_vec(),
            scopes: Vec::new(),
            correlated: true,
            subqueries: true,
            aliases: 0,
        }
    }
}

impl Generator<'_> {
    fn statement(&mut self) -> Statement {
        let with = if self.random.one_in(4) {
            self.with()
        } else {
            Node::text("")
        };
        let types = self.types(4);
        let depth = if self.random.one_in(DEEPER_IN) {
            DEPTH + 1
        } else {
            DEPTH
        };
        let query = self.query(&types, depth);
        let ordered = self.random.one_in(2);
        let order = if ordered {
            order_by_all(&types)
        } else {
            String::new()
        };
        let limit = match ordered && self.random.one_in(2) {
            true => Node::text(self.limit()).optional(),
            false => Node::text(""),
        };
        Statement {
            query: Node::of(&format!("{{}}{{}}{order}{{}}"), [with, query, limit]),
            ordered,
        }
    }

    /// Adds common table expressions, which later parts of the query use as tables.
    fn with(&mut self) -> Node {
        if self.random.one_in(3) {
            return self.with_recursive();
        }
        let mut parts = Vec::new();
        for number in 0..1 + self.random.below(2) {
            let types = self.types(3);
            let query = self.limited_query(&types, DEPTH - 1);
            let name = format!("w{number}");
            parts.push(Node::of(&format!("{name} AS ({{}})"), [query]));
            let columns = result_columns(&types);
            self.tables.push(Relation { name, columns });
        }
        let parts = Node::list(parts, ", ");
        Node::of("WITH {} ", [parts])
    }

    /// A recursive query: a count, or the rows that can be reached from some rows through equal numbers.
    fn with_recursive(&mut self) -> Node {
        let table = self.tables[self.random.below(self.tables.len())].clone();
        let number = table.columns[1..].iter().find(|c| c.ty == Type::Int);
        let (types, text) = match number {
            Some(next) => (
                vec![Type::Int, Type::Int],
                format!(
                    "SELECT id AS c0, {next} AS c1 FROM {table} WHERE id < 3 \
                     UNION SELECT a.id, a.{next} FROM {table} AS a JOIN w0 ON a.id = w0.c1",
                    next = next.name,
                    table = table.name
                ),
            ),
            None => (
                vec![Type::Int],
                "SELECT 1 AS c0 UNION ALL SELECT c0 + 1 FROM w0 WHERE c0 < 5".to_string(),
            ),
        };
        let name = "w0".to_string();
        let columns = result_columns(&types);
        self.tables.push(Relation { name, columns });
        Node::text(format!("WITH RECURSIVE w0 AS ({text}) "))
    }

    /// A query whose result has these types, in columns with the names c0, c1 ...
    pub fn query(&mut self, types: &[Type], depth: usize) -> Node {
        match self.random.below(10) {
            0 | 1 if depth > 0 => self.set_operation(types, depth - 1),
            2 | 3 => self.grouped(types, depth),
            4 => self.totals(types, depth),
            5 | 6 => self.windowed(types, depth),
            _ => self.plain(types, depth),
        }
    }

    /// A query, sometimes with a LIMIT. Not for IN, ANY and ALL, where MySQL does not allow one.
    pub fn limited_query(&mut self, types: &[Type], depth: usize) -> Node {
        let query = self.query(types, depth);
        if !self.random.one_in(5) {
            return query;
        }
        let end = format!("{}{}", order_by_all(types), self.limit());
        Node::of("{}{}", [query, Node::text(end).optional()])
    }

    fn limit(&mut self) -> String {
        let offset = match self.random.below(3) {
            0 => format!(" OFFSET {}", self.random.below(4)),
            _ => String::new(),
        };
        format!(" LIMIT {}{offset}", self.random.below(8))
    }

    fn set_operation(&mut self, types: &[Type], depth: usize) -> Node {
        let (a, b) = (self.query(types, depth), self.query(types, depth));
        let operation = self.random.pick(SET_OPERATIONS);
        Node::of(&format!("({{}}) {operation} ({{}})"), [a.clone(), b.clone()]).or([a, b])
    }

    pub fn plain(&mut self, types: &[Type], depth: usize) -> Node {
        let (from, relations) = self.relations(depth);
        self.scopes.push(relations);
        let items = types.iter().map(|&ty| self.expression(ty, depth)).collect();
        let filter = self.filter(depth);
        self.scopes.pop();
        let distinct = match self.random.one_in(4) {
            true => Node::text("DISTINCT ").optional(),
            false => Node::text(""),
        };
        Node::of("SELECT {}{} FROM {}{}", [distinct, named(items), from, filter])
    }

    /// Aggregates of all rows: exactly one row.
    pub fn totals(&mut self, types: &[Type], depth: usize) -> Node {
        let (from, relations) = self.relations(depth);
        self.scopes.push(relations);
        let items = types.iter().map(|&ty| self.aggregate(ty)).collect();
        let filter = self.filter(depth);
        self.scopes.pop();
        Node::of("SELECT {} FROM {}{}", [named(items), from, filter])
    }

    fn grouped(&mut self, types: &[Type], depth: usize) -> Node {
        let (from, relations) = self.relations(depth);
        self.scopes.push(relations);
        let mut keys = Vec::new();
        let mut items = Vec::new();
        for &ty in types {
            let key = if self.random.one_in(2) { self.key(ty) } else { None };
            match key {
                Some(key) => {
                    items.push(Node::text(key.clone()));
                    keys.push(key);
                }
                None => items.push(self.aggregate(ty)),
            }
        }
        if keys.is_empty() {
            let columns = self.all_columns();
            keys.push(columns[self.random.below(columns.len())].clone());
        }
        keys.sort();
        keys.dedup();
        let rolled_up = self.random.one_in(6);
        for (item, &ty) in items.iter_mut().zip(types) {
            if ty == Type::Int && rolled_up && self.random.one_in(4) {
                *item = Node::text(format!("GROUPING({})", keys[self.random.below(keys.len())]));
            } else if ty == Type::Int && self.random.one_in(12) {
                *item = self.count_up_to_aggregate().unwrap_or_else(|| item.clone());
            }
        }
        let filter = self.filter(depth);
        let having = match self.random.one_in(3) {
            true => self.having(),
            false => Node::text(""),
        };
        self.scopes.pop();
        let rollup = match rolled_up {
            true => Node::text(" WITH ROLLUP").optional(),
            false => Node::text(""),
        };
        let keys = keys.join(", ");
        Node::of(
            &format!("SELECT {{}} FROM {{}}{{}} GROUP BY {keys}{{}}{{}}"),
            [named(items), from, filter, rollup, having],
        )
    }

    /// A subquery with an aggregate of the groups around it.
    fn count_up_to_aggregate(&mut self) -> Option<Node> {
        let column = self.key(Type::Int)?;
        let table = &self.tables[self.random.below(self.tables.len())];
        let of = table.columns.iter().find(|column| column.ty == Type::Int)?;
        let function = self.random.pick(&["MIN", "MAX"]);
        let text = format!(
            "(SELECT COUNT(*) FROM {} AS q WHERE q.{} <= {function}({column}))",
            table.name, of.name
        );
        Some(Node::text(text))
    }

    fn key(&mut self, ty: Type) -> Option<String> {
        self.simply(|generator| generator.column(ty))
    }

    fn having(&mut self) -> Node {
        let ty = Type::random(self.random);
        let aggregate = self.aggregate(ty);
        let literal = ty.literal(self.random);
        let operator = self.random.pick(&["=", "<", ">=", "<>"]);
        Node::of(&format!(" HAVING {{}} {operator} {literal}"), [aggregate]).optional()
    }

    fn filter(&mut self, depth: usize) -> Node {
        if self.random.one_in(3) {
            return Node::text("");
        }
        let condition = self.condition(depth);
        Node::of(" WHERE {}", [condition]).optional()
    }

    /// An aggregate of the type. Its argument uses only columns of the innermost query: otherwise it could
    /// become an aggregate of an enclosing query.
    fn aggregate(&mut self, ty: Type) -> Node {
        let argument = self.simply(|generator| generator.expression(ty, 1));
        let distinct = if self.random.one_in(5) { "DISTINCT " } else { "" };
        let simple = |function: &str| format!("{function}({{}})");
        let template = match (ty, self.random.below(6)) {
            (Type::Int, 0) => return Node::text("COUNT(*)"),
            (Type::Int, 1 | 2) => format!("COUNT({distinct}{{}})"),
            (Type::Decimal, 0) => format!("AVG({distinct}{{}})"),
            (Type::Decimal, 1 | 2) => format!("SUM({distinct}{{}})"),
            (Type::Text, 0) => {
                let parts = [argument.clone(), argument];
                return Node::of(&format!("GROUP_CONCAT({distinct}{{}} ORDER BY {{}})"), parts);
            }
            (_, 3 | 4) => simple("MIN"),
            _ => simple("MAX"),
        };
        Node::of(&template, [argument])
    }

    /// A query with window functions.
    fn windowed(&mut self, types: &[Type], depth: usize) -> Node {
        let (from, relations) = self.relations(depth);
        self.scopes.push(relations);
        // At most one function may distinguish equal rows: which of them gets which value is not determined.
        let one = self.random.below(types.len());
        let mut items = Vec::new();
        for (number, &ty) in types.iter().enumerate() {
            items.push(match self.random.below(4) {
                0 => self.expression(ty, 1),
                1 => self.function_of_peers(ty),
                _ if number == one => self.function_of_rows(ty),
                _ => self.function_of_peers(ty),
            });
        }
        let filter = self.filter(depth);
        self.scopes.pop();
        Node::of("SELECT {} FROM {}{}", [named(items), from, filter])
    }

    /// A window function that has the same value for equal rows.
    fn function_of_peers(&mut self, ty: Type) -> Node {
        let choices: &[&str] = match ty {
            Type::Int => &["RANK()", "DENSE_RANK()", "COUNT({})", "MAX({})"],
            Type::Decimal => &["SUM({})", "AVG({})", "MIN({})"],
            Type::Text | Type::Date => &["MIN({})", "MAX({})"],
        };
        let function = self.random.pick(choices).to_string();
        self.over(ty, function, Window::Peers)
    }

    /// A window function whose value depends on the position among equal rows.
    fn function_of_rows(&mut self, ty: Type) -> Node {
        let some = self.random.below(4);
        let (function, window) = match (ty, self.random.below(9)) {
            (Type::Int, 0) => ("ROW_NUMBER()".to_string(), Window::Rows),
            (Type::Int, 1) => (format!("NTILE({})", some + 1), Window::Rows),
            (Type::Decimal, 0 | 1) => ("SUM({})".to_string(), Window::Framed),
            (Type::Decimal, 2) => ("AVG({})".to_string(), Window::Framed),
            (_, 3) => (format!("LAG({{}}, {some})"), Window::Rows),
            (_, 4) => (format!("LEAD({{}}, {some})"), Window::Rows),
            (_, 5) => ("FIRST_VALUE({})".to_string(), Window::Framed),
            (_, 6) => (format!("NTH_VALUE({{}}, {})", some + 1), Window::Framed),
            (_, 7) => ("LAST_VALUE({})".to_string(), Window::Framed),
            _ => ("MIN({})".to_string(), Window::Framed),
        };
        self.over(ty, function, window)
    }

    fn over(&mut self, ty: Type, function: String, window: Window) -> Node {
        let argument = self.simply(|generator| generator.expression(ty, 1));
        let window = self.window(window);
        let whole = Node::of(&format!("{function} OVER ({window})"), [argument.clone()]);
        whole.or([argument])
    }

    fn window(&mut self, window: Window) -> String {
        let mut columns = self.all_columns();
        let partition = match self.random.one_in(2) {
            true => format!("PARTITION BY {} ", columns[self.random.below(columns.len())]),
            false => String::new(),
        };
        let direction = self.random.pick(&["", " DESC"]);
        let first = self.random.below(columns.len());
        columns.rotate_left(first);
        if window == Window::Peers {
            if let Some(order) = self.range(direction) {
                return format!("{partition}{order}");
            }
            columns.truncate(1);
        }
        let keys: Vec<String> = columns.iter().map(|c| format!("{c}{direction}")).collect();
        let frame = match window == Window::Framed && self.random.one_in(2) {
            true => self.frame(),
            false => String::new(),
        };
        format!("{partition}ORDER BY {}{frame}", keys.join(", "))
    }

    /// Sometimes a frame by the values of one column. It includes the current row, because without it MySQL 8.0.33
    /// computes windows of tables with one row wrongly.
    fn range(&mut self, direction: &str) -> Option<String> {
        let ty = Type::random(self.random);
        let columns = self.columns_of(self.scopes.len() - 1, ty);
        if columns.is_empty() || !self.random.one_in(3) {
            return None;
        }
        let frames: &[&str] = match ty {
            Type::Text => return None,
            Type::Int | Type::Decimal => &[
                "BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                "1.5 PRECEDING",
                "BETWEEN CURRENT ROW AND 2 FOLLOWING",
            ],
            Type::Date => &[
                "INTERVAL 1 DAY PRECEDING",
                "BETWEEN CURRENT ROW AND INTERVAL 2 MONTH FOLLOWING",
            ],
        };
        let column = &columns[self.random.below(columns.len())];
        let frame = self.random.pick(frames);
        Some(format!("ORDER BY {column}{direction} RANGE {frame}"))
    }

    fn frame(&mut self) -> String {
        let start = self
            .random
            .pick(&["UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW"]);
        let end = self
            .random
            .pick(&["CURRENT ROW", "1 FOLLOWING", "3 FOLLOWING", "UNBOUNDED FOLLOWING"]);
        format!(" ROWS BETWEEN {start} AND {end}")
    }

    /// Makes a part without subqueries and without columns of enclosing queries.
    pub fn simply<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = (self.correlated, self.subqueries);
        (self.correlated, self.subqueries) = (false, false);
        let made = make(self);
        (self.correlated, self.subqueries) = before;
        made
    }

    /// One to `most` types.
    pub fn types(&mut self, most: usize) -> Vec<Type> {
        let count = 1 + self.random.below(most);
        (0..count).map(|_| Type::random(self.random)).collect()
    }

    pub fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("r{}", self.aliases)
    }
}

fn named(items: Vec<Node>) -> Node {
    let items = items.into_iter().enumerate();
    let items = items.map(|(number, item)| Node::of(&format!("{{}} AS c{number}"), [item]));
    Node::list(items.collect(), ", ")
}

/// Orders by all columns, so rows that tie are equal.
pub fn order_by_all(types: &[Type]) -> String {
    let places: Vec<String> = (1..=types.len()).map(|place| place.to_string()).collect();
    format!(" ORDER BY {}", places.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_queries() {
        let make = || {
            let mut random = Random::new(7);
            let (tables, mut texts) = schema::tables(&mut random);
            for _ in 0..100 {
                texts.push(statement(&tables, &mut random).query.to_string());
            }
            texts
        };
        assert_eq!(make(), make());
    }

    #[test]
    fn parentheses_are_balanced() {
        let mut random = Random::new(8);
        let (tables, _) = schema::tables(&mut random);
        for _ in 0..200 {
            let text = statement(&tables, &mut random).query.to_string();
            assert_eq!(text.matches('(').count(), text.matches(')').count(), "{text}");
            assert!(!text.contains("{}"), "{text}");
        }
    }
}
