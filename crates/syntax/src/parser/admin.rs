//! KILL, FLUSH, LOCK TABLES, ADMIN and other statements about the server and its tables.

use types::{Error, Result};

use super::Parser;
use crate::ast::{LockedTable, Maintenance, Statement};
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// `KILL [CONNECTION | QUERY] expr`, TiDB's `KILL TIDB` too.
    pub fn kill(&mut self) -> Result<Statement> {
        self.advance();
        self.eat("TIDB");
        let query_only = self.eat_any(&["QUERY", "CONNECTION"]) == Some("QUERY");
        let connection = self.expression()?;
        Ok(Statement::Kill {
            connection,
            query_only,
        })
    }

    /// `ADMIN CHECK TABLE t, ...`, `ADMIN SHOW DDL JOBS [n]`, `ADMIN CANCEL DDL JOBS id, ...`, as TiDB has them.
    pub fn admin(&mut self) -> Result<Statement> {
        if self.peek_is("CHECK") {
            self.advance();
            return self.table_maintenance(Maintenance::AdminCheck);
        }
        self.advance();
        if self.eat_all(&["SHOW", "DDL", "JOBS"]) {
            let past = match self.at_statement_end() {
                true => None,
                false => Some(self.unsigned()?),
            };
            return Ok(Statement::AdminShowDdlJobs { past });
        }
        if self.eat_all(&["CANCEL", "DDL", "JOBS"]) {
            let jobs = self.comma_separated(Self::unsigned)?;
            return Ok(Statement::AdminCancelDdlJobs { jobs });
        }
        if self.kind() == Kind::Word {
            return Err(Error::not_supported(
                "this ADMIN statement",
                "there are ADMIN CHECK TABLE, ADMIN SHOW DDL JOBS and ADMIN CANCEL DDL JOBS",
            ));
        }
        self.fail()
    }

    /// `CHECK`, `ANALYZE`, `OPTIMIZE`, `REPAIR TABLE`, the cursor at the verb.
    pub fn table_maintenance(&mut self, action: Maintenance) -> Result<Statement> {
        self.advance();
        if matches!(
            action,
            Maintenance::Analyze | Maintenance::Optimize | Maintenance::Repair
        ) {
            self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        }
        if self.eat_any(&["TABLE", "TABLES"]).is_none() {
            return self.fail();
        }
        let tables = self.comma_separated(Self::object_name)?;
        match action {
            Maintenance::Check => {
                let kinds = ["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"];
                while self.eat_any(&kinds).is_some() || self.eat_all(&["FOR", "UPGRADE"]) {}
            }
            Maintenance::Repair => while self.eat_any(&["QUICK", "EXTENDED", "USE_FRM"]).is_some() {},
            Maintenance::Analyze if self.is_any(&["UPDATE", "DROP"]) => {
                return Err(Error::not_supported("histograms", "use ANALYZE TABLE alone"));
            }
            _ => {}
        }
        Ok(Statement::TableMaintenance { action, tables })
    }

    /// `FLUSH [LOCAL] what, ...`; what is flushed is told to the session in upper case.
    pub fn flush(&mut self) -> Result<Statement> {
        self.advance();
        self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if self.kind() != Kind::Word {
            return self.fail();
        }
        let start = self.start();
        while !self.at_statement_end() {
            if !matches!(
                self.kind(),
                Kind::Word | Kind::QuotedWord | Kind::Comma | Kind::Dot
            ) {
                return self.fail();
            }
            self.advance();
        }
        let what = self.source(start, self.previous_end()).to_uppercase();
        let known = [
            "PRIVILEGES",
            "STATUS",
            "TABLE",
            "TABLES",
            "LOGS",
            "BINARY",
            "ENGINE",
            "ERROR",
            "GENERAL",
            "RELAY",
            "SLOW",
            "HOSTS",
            "OPTIMIZER_COSTS",
            "USER_RESOURCES",
        ];
        let first = what.split([' ', ',', '\n', '\t']).next().unwrap_or_default();
        if !known.contains(&first) {
            return Err(self.error_at(start));
        }
        Ok(Statement::Flush(what))
    }

    /// `LOCK TABLES t [AS a] READ [LOCAL] | [LOW_PRIORITY] WRITE, ...`
    pub fn lock_tables(&mut self) -> Result<Statement> {
        self.advance();
        if self.is("INSTANCE") {
            return Err(Error::not_supported("LOCK INSTANCE", ""));
        }
        if self.eat_any(&["TABLE", "TABLES"]).is_none() {
            return self.fail();
        }
        let tables = self.comma_separated(|parser| {
            let name = parser.object_name()?;
            let alias = if parser.is_any(&["READ", "LOW_PRIORITY", "WRITE"]) {
                None
            } else {
                parser.table_alias()?
            };
            let write = !parser.eat("READ");
            if write {
                parser.eat("LOW_PRIORITY");
                parser.expect("WRITE")?;
            } else {
                // READ LOCAL is about MyISAM; for other engines it is READ.
                parser.eat("LOCAL");
            }
            Ok(LockedTable { name, alias, write })
        })?;
        Ok(Statement::LockTables(tables))
    }

    pub fn unlock_tables(&mut self) -> Result<Statement> {
        self.advance();
        if self.is("INSTANCE") {
            return Err(Error::not_supported("UNLOCK INSTANCE", ""));
        }
        if self.eat_any(&["TABLE", "TABLES"]).is_none() {
            return self.fail();
        }
        Ok(Statement::UnlockTables)
    }
}
