//! Random statements that change rows: UPDATE and DELETE of one or several tables, INSERT ... SELECT ... ON DUPLICATE KEY
//! UPDATE, and changes through views WITH CHECK OPTION. Each has exactly one correct result: what a row gets depends on
//! that row alone, and inserted rows come in a total order.

use super::queries::{Generator, order_by_all};
use super::schema::{Column, Relation, Type};
use super::tree::Node;

/// A view over one of the tables, which checks what is written through it.
pub const VIEW: &str = "checked";

/// The view's statement, and what it shows.
pub fn view(tables: &[Relation], generator: &mut Generator<'_>) -> (String, Relation) {
    let table = &tables[generator.random.below(tables.len())];
    let kind = generator.random.pick(&["LOCAL ", "CASCADED ", ""]);
    let column = table.columns[generator.random.below(table.columns.len())].clone();
    let (operator, literal) = (
        generator.random.pick(&["<", ">=", "<>"]),
        column.ty.literal(generator.random),
    );
    let text = format!(
        "CREATE VIEW {VIEW} AS SELECT * FROM {} WHERE {} {operator} {literal} WITH {kind}CHECK OPTION",
        table.name, column.name
    );
    let relation = Relation {
        name: VIEW.to_owned(),
        columns: table.columns.clone(),
    };
    (text, relation)
}

impl Generator<'_> {
    /// A statement that changes rows of `targets`, which are tables or views over one.
    pub fn change(&mut self, targets: &[Relation]) -> Node {
        match self.random.below(6) {
            0 => self.insert(targets),
            1 | 2 => self.update_one(targets),
            3 => self.update_several(targets),
            4 => self.delete_one(targets),
            _ => self.delete_several(targets),
        }
    }

    fn target(&mut self, targets: &[Relation]) -> Relation {
        targets[self.random.below(targets.len())].clone()
    }

    fn update_one(&mut self, targets: &[Relation]) -> Node {
        let target = self.target(targets);
        self.scopes.push(vec![target.clone()]);
        let (set, filter) = (self.assignments(&[&target]), self.own_filter());
        self.scopes.pop();
        Node::of(&format!("UPDATE {} SET {{}}{{}}", target.name), [set, filter])
    }

    fn delete_one(&mut self, targets: &[Relation]) -> Node {
        let target = self.target(targets);
        self.scopes.push(vec![target.clone()]);
        let filter = self.own_filter();
        self.scopes.pop();
        Node::of(&format!("DELETE FROM {}{{}}", target.name), [filter])
    }

    /// A row is changed once, however many rows of the others match it.
    fn update_several(&mut self, targets: &[Relation]) -> Node {
        let (from, relations) = self.joined(targets);
        let changed = match self.random.one_in(3) {
            true => relations.iter().collect(),
            false => vec![&relations[0]],
        };
        self.scopes.push(relations.clone());
        let (set, filter) = (self.assignments(&changed), self.own_filter());
        self.scopes.pop();
        Node::of("UPDATE {} SET {}{}", [from, set, filter])
    }

    fn delete_several(&mut self, targets: &[Relation]) -> Node {
        let (from, relations) = self.joined(targets);
        let names: Vec<&str> = relations.iter().map(|relation| relation.name.as_str()).collect();
        let deleted = match self.random.one_in(3) {
            true => names.join(", "),
            false => names[0].to_owned(),
        };
        self.scopes.push(relations.clone());
        let filter = self.own_filter();
        self.scopes.pop();
        Node::of(&format!("DELETE {deleted} FROM {{}}{{}}"), [from, filter])
    }

    /// Two or three tables, joined by equalities.
    fn joined(&mut self, targets: &[Relation]) -> (Node, Vec<Relation>) {
        let mut relations: Vec<Relation> = Vec::new();
        let mut parts = Vec::new();
        for number in 0..2 + self.random.below(2) {
            let target = self.target(targets);
            let relation = Relation {
                name: self.alias(),
                columns: target.columns.clone(),
            };
            relations.push(relation.clone());
            let named = format!("{} AS {}", target.name, relation.name);
            if number == 0 {
                parts.push(Node::text(named));
                continue;
            }
            let kind = self.random.pick(&["JOIN", "JOIN", "LEFT JOIN"]);
            let on = self.simply(|generator| generator.on(&relations, 0));
            parts.push(Node::of(&format!(" {kind} {named}{{}}"), [on]));
        }
        (Node::list(parts, ""), relations)
    }

    /// A column is set to a value that depends on its own row. Keys stay as they are, because the order of changes would
    /// matter.
    fn assignments(&mut self, relations: &[&Relation]) -> Node {
        let mut all = Vec::new();
        for relation in relations {
            let column = relation.columns[1 + self.random.below(relation.columns.len() - 1)].clone();
            let name = format!("{}.{}", relation.name, column.name);
            let literal = column.ty.literal(self.random);
            let value = match (column.ty, self.random.below(4)) {
                (_, 0) => "NULL".to_owned(),
                (Type::Int | Type::Decimal, 1) => format!("{name} + {literal}"),
                (Type::Text, 1) => format!("CONCAT({name}, {literal})"),
                (Type::Date, 1) => format!("{name} + INTERVAL 1 DAY"),
                (_, 2) => format!("COALESCE({name}, {literal})"),
                _ => literal.to_owned(),
            };
            all.push(Node::text(format!("{name} = {value}")));
        }
        Node::list(all, ", ")
    }

    /// A condition without subqueries, which could read what is changed (1093).
    fn own_filter(&mut self) -> Node {
        if self.random.one_in(5) {
            return Node::text("");
        }
        let condition = self.simply(|generator| generator.condition(2));
        Node::of(" WHERE {}", [condition]).optional()
    }

    /// Rows of a query, some of which have keys that are there.
    fn insert(&mut self, targets: &[Relation]) -> Node {
        let target = self.target(targets);
        let columns: Vec<Column> = target.columns.iter().take(3).cloned().collect();
        let types: Vec<Type> = columns.iter().map(|column| column.ty).collect();
        let query = self.plain(&types, 1);
        let order = order_by_all(&types);
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let changed = &columns[columns.len() - 1];
        let update = match (self.random.below(3), changed.ty) {
            (0, _) => String::new(),
            (1, Type::Int | Type::Decimal) => format!(
                " ON DUPLICATE KEY UPDATE {name} = {table}.{name} + VALUES({name})",
                name = changed.name,
                table = target.name
            ),
            _ => format!(
                " ON DUPLICATE KEY UPDATE {name} = VALUES({name})",
                name = changed.name
            ),
        };
        let verb = match (update.is_empty(), self.random.below(3)) {
            (true, 0) => "REPLACE",
            (true, 1) => "INSERT IGNORE",
            _ => "INSERT",
        };
        let head = format!("{verb} INTO {} ({}) ", target.name, names.join(", "));
        Node::of(&format!("{head}{{}}{order}{update}"), [query])
    }
}

/// What a table has, in a total order.
pub fn rows_of(table: &Relation) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    format!("SELECT * FROM {} ORDER BY {}", table.name, names.join(", "))
}
