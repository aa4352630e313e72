//! The tables of a workload, from a file of `CREATE TABLE` statements.

use crate::client::Connection;
use crate::error::{Error, Result};

/// Tables in the order of the statements that create them. Each statement ends with `;` at the end of a line.
#[derive(Debug, Clone, Copy)]
pub struct Tables(pub &'static str);

impl Tables {
    fn statements(self) -> impl Iterator<Item = &'static str> {
        self.0
            .split(";\n")
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let name = |statement: &'static str| statement.strip_prefix("CREATE TABLE ")?.split(' ').next();
        self.statements().filter_map(name)
    }

    pub fn create(self, connection: &mut Connection) -> Result<()> {
        self.statements()
            .try_for_each(|statement| connection.query(statement).map(drop))
    }

    pub fn drop(self, connection: &mut Connection) -> Result<()> {
        self.names().try_for_each(|table| {
            connection
                .query(&format!("DROP TABLE IF EXISTS {table}"))
                .map(drop)
        })
    }

    /// Has the server analyze the tables, as a user would after loading. A server that lacks the statement is
    /// left alone.
    pub fn analyze(self, connection: &mut Connection) -> Result<()> {
        let names: Vec<&str> = self.names().collect();
        match connection.fetch_query(&format!("ANALYZE TABLE {}", names.join(", "))) {
            Err(Error::Server { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_named_in_order() {
        let tables = Tables("CREATE TABLE a (\n    x INT\n);\n\nCREATE TABLE b (y INT);\n");
        assert_eq!(tables.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(tables.statements().count(), 2);
    }
}
