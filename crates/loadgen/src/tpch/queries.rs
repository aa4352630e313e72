//! The 22 queries with the standard's validation parameters, and the columns that order their answers.

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// From 1 to 22.
    pub number: usize,
    pub sql: String,
    /// The columns that its ORDER BY names. Rows that agree in all of them may come in any order.
    pub order: &'static [usize],
}

impl Query {
    /// `q1`
    pub fn name(&self) -> String {
        format!("q{}", self.number)
    }
}

/// All queries, for a database of this scale.
pub fn queries(scale: f64) -> Vec<Query> {
    let query = |(position, &(sql, order)): (usize, &(&str, &'static [usize]))| Query {
        number: position + 1,
        // Query 11 names a part of the total that shrinks as the database grows (clause 2.4.11.3).
        sql: sql
            .trim_end()
            .replace("{fraction}", &format!("{:.10}", 0.0001 / scale)),
        order,
    };
    QUERIES.iter().enumerate().map(query).collect()
}

const QUERIES: [(&str, &[usize]); 22] = [
    (include_str!("queries/01.sql"), &[0, 1]),
    (include_str!("queries/02.sql"), &[0, 2, 1, 3]),
    (include_str!("queries/03.sql"), &[1, 2]),
    (include_str!("queries/04.sql"), &[0]),
    (include_str!("queries/05.sql"), &[1]),
    (include_str!("queries/06.sql"), &[]),
    (include_str!("queries/07.sql"), &[0, 1, 2]),
    (include_str!("queries/08.sql"), &[0]),
    (include_str!("queries/09.sql"), &[0, 1]),
    (include_str!("queries/10.sql"), &[2]),
    (include_str!("queries/11.sql"), &[1]),
    (include_str!("queries/12.sql"), &[0]),
    (include_str!("queries/13.sql"), &[1, 0]),
    (include_str!("queries/14.sql"), &[]),
    (include_str!("queries/15.sql"), &[0]),
    (include_str!("queries/16.sql"), &[3, 0, 1, 2]),
    (include_str!("queries/17.sql"), &[]),
    (include_str!("queries/18.sql"), &[4, 3]),
    (include_str!("queries/19.sql"), &[]),
    (include_str!("queries/20.sql"), &[0]),
    (include_str!("queries/21.sql"), &[1, 0]),
    (include_str!("queries/22.sql"), &[0]),
];
