//! FROM: tables, derived tables, common table expressions, and joins of them.

use super::queries::Generator;
use super::schema::{Column, Relation, Type};
use super::tree::Node;

const JOINS: &[&str] = &[
    "JOIN",
    "JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "CROSS JOIN",
    "STRAIGHT_JOIN",
];

impl Generator<'_> {
    /// The text after FROM, and the relations that it brings into scope.
    pub fn relations(&mut self, depth: usize) -> (Node, Vec<Relation>) {
        let most = if depth > 1 { 3 } else { 2 };
        let count = 1 + self.random.below(most);
        self.join(count, depth)
    }

    fn join(&mut self, count: usize, depth: usize) -> (Node, Vec<Relation>) {
        if count == 1 {
            let (node, relation) = self.relation(depth);
            return (node, vec![relation]);
        }
        let nested = count > 2 && self.random.one_in(3);
        let (left, mut relations) = self.join(if nested { 1 } else { count - 1 }, depth);
        let kind = self.random.pick(JOINS);
        let lateral = !nested && kind != "RIGHT JOIN" && depth > 0 && self.random.one_in(6);
        let (right, others) = if lateral {
            self.lateral(&relations, depth)
        } else if nested {
            let (inner, others) = self.join(count - 1, depth);
            (Node::of("({})", [inner]), others)
        } else {
            self.join(1, depth)
        };
        let may_use = has_one_id(&relations) && has_one_id(&others);
        relations.extend(others);
        let on = match kind {
            "CROSS JOIN" => Node::text(""),
            "JOIN" | "LEFT JOIN" | "RIGHT JOIN" if may_use && self.random.one_in(5) => {
                Node::text(" USING (id)")
            }
            _ => self.on(&relations, depth),
        };
        let parts = [left.clone(), right.clone(), on];
        let whole = Node::of(&format!("{{}} {kind} {{}}{{}}"), parts).or([left, right]);
        (whole, relations)
    }

    /// Usually an equality, so that results stay small.
    pub fn on(&mut self, relations: &[Relation], depth: usize) -> Node {
        self.scopes.push(relations.to_vec());
        let ty = Type::random(self.random);
        let equality = match (self.column(ty), self.column(ty)) {
            (Some(a), Some(b)) => Node::text(format!("{a} = {b}")),
            _ => Node::text("TRUE"),
        };
        let condition = match self.random.below(4) {
            0 => self.condition(depth.min(2)),
            1 => {
                let more = self.condition(depth.min(1));
                Node::of("({} AND {})", [equality.clone(), more]).or([equality])
            }
            _ => equality.or([Node::text("TRUE")]),
        };
        self.scopes.pop();
        Node::of(" ON {}", [condition])
    }

    fn relation(&mut self, depth: usize) -> (Node, Relation) {
        if depth > 0 && self.random.one_in(4) {
            return self.derived("", depth);
        }
        let alias = self.alias();
        if self.random.one_in(16) {
            return constants(alias, self.random.one_in(2));
        }
        let table = &self.tables[self.random.below(self.tables.len())];
        let relation = Relation {
            name: alias,
            columns: table.columns.clone(),
        };
        (
            Node::text(format!("{} AS {}", table.name, relation.name)),
            relation,
        )
    }

    /// A derived table that may use the columns of the relations left of it.
    fn lateral(&mut self, left: &[Relation], depth: usize) -> (Node, Vec<Relation>) {
        self.scopes.push(left.to_vec());
        let (node, relation) = match self.random.one_in(3) {
            true => self.elements(),
            false => self.derived("LATERAL ", depth),
        };
        self.scopes.pop();
        (node, vec![relation])
    }

    /// The elements of a document that is made of values of each row.
    fn elements(&mut self) -> (Node, Relation) {
        let (number, text) = (self.leaf(Type::Int), self.leaf(Type::Text));
        let name = self.alias();
        let on_error = self.random.pick(&["", " DEFAULT '7' ON ERROR", " NULL ON EMPTY"]);
        let template = format!(
            "JSON_TABLE(JSON_ARRAY({{}}, {{}}, JSON_OBJECT('n', 3)), '$[*]' COLUMNS (i0 INT PATH '$'{on_error}, \
             i1 INT PATH '$.n', i2 INT EXISTS PATH '$.n', id FOR ORDINALITY)) AS {name}"
        );
        let column = |name: &str| Column {
            name: name.to_string(),
            ty: Type::Int,
        };
        let columns = ["i0", "i1", "i2", "id"].map(column).to_vec();
        (Node::of(&template, [number, text]), Relation { name, columns })
    }

    fn derived(&mut self, lateral: &str, depth: usize) -> (Node, Relation) {
        let types = self.types(3);
        let query = self.limited_query(&types, depth - 1);
        let name = self.alias();
        let node = Node::of(&format!("{lateral}({{}}) AS {name}"), [query]);
        let columns = result_columns(&types);
        (node, Relation { name, columns })
    }
}

/// Rows that are written in the query.
fn constants(name: String, json: bool) -> (Node, Relation) {
    let text = match json {
        true => format!(
            "JSON_TABLE('[{{\"n\": 1, \"s\": \"a\"}}, {{\"n\": \"2\"}}, {{\"s\": null}}]', '$[*]' COLUMNS \
             (i0 INT PATH '$.n', s0 VARCHAR(5) PATH '$.s' DEFAULT '\"b\"' ON EMPTY, id FOR ORDINALITY)) AS {name}"
        ),
        false => {
            format!("(VALUES ROW(1, 'a', 1), ROW(2, NULL, 2), ROW(NULL, 'b', 3)) AS {name} (i0, s0, id)")
        }
    };
    let column = |name: &str, ty| Column {
        name: name.to_string(),
        ty,
    };
    let columns = vec![
        column("i0", Type::Int),
        column("s0", Type::Text),
        column("id", Type::Int),
    ];
    (Node::text(text), Relation { name, columns })
}

/// Whether exactly one of the relations has a column `id`, so that USING may name it.
fn has_one_id(relations: &[Relation]) -> bool {
    let columns = relations.iter().flat_map(|relation| &relation.columns);
    columns.filter(|column| column.name == "id").count() == 1
}

/// The columns of a query's result, which [`Generator`] names by position.
pub fn result_columns(types: &[Type]) -> Vec<Column> {
    let columns = types.iter().enumerate();
    columns
        .map(|(number, &ty)| Column {
            name: format!("c{number}"),
            ty,
        })
        .collect()
}
