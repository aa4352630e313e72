//! KILL, FLUSH, LOCK TABLES, ADMIN and other statements about the server and its tables.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{LockedTable, Maintenance, ObjectName, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The buckets of a histogram: unless the statement says, and at most (manual 13.7.3.1).
const BUCKETS: u32 = 100;
const BUCKETS_MAX: u32 = 1024;

/// What FLUSH may begin with.
const FLUSHED: &[Kw] = &[
    Kw::PRIVILEGES,
    Kw::STATUS,
    Kw::TABLE,
    Kw::TABLES,
    Kw::LOGS,
    Kw::BINARY,
    Kw::ENGINE,
    Kw::ERROR,
    Kw::GENERAL,
    Kw::RELAY,
    Kw::SLOW,
    Kw::HOSTS,
    Kw::OPTIMIZER_COSTS,
    Kw::USER_RESOURCES,
];

impl Parser<'_> {
    /// `KILL [CONNECTION | QUERY] expr`, TiDB's `KILL TIDB` too.
    pub fn kill(&mut self) -> Result<Statement> {
        self.advance();
        self.eat(Kw::TIDB);
        let query_only = self.eat_any(&[Kw::QUERY, Kw::CONNECTION]) == Some(Kw::QUERY);
        let connection = self.expression()?;
        Ok(Statement::Kill {
            connection,
            query_only,
        })
    }

    /// `ADMIN CHECK TABLE t, ...`, `ADMIN SHOW DDL JOBS [n]`, `ADMIN CANCEL DDL JOBS id, ...`, as TiDB has
    /// them.
    pub fn admin(&mut self) -> Result<Statement> {
        if self.peek_is(Kw::CHECK) {
            self.advance();
            return self.table_maintenance(Maintenance::AdminCheck);
        }
        self.advance();
        if self.eat_all(&[Kw::SHOW, Kw::DDL, Kw::JOBS]) {
            let past = match self.at_statement_end() {
                true => None,
                false => Some(self.unsigned()?),
            };
            return Ok(Statement::AdminShowDdlJobs { past });
        }
        if self.eat_all(&[Kw::CANCEL, Kw::DDL, Kw::JOBS]) {
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
            self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
        }
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return self.fail();
        }
        let tables = self.comma_separated(Self::object_name)?;
        match action {
            Maintenance::Check => {
                let kinds = [Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED];
                while self.eat_any(&kinds).is_some() || self.eat_all(&[Kw::FOR, Kw::UPGRADE]) {}
            }
            Maintenance::Repair => while self.eat_any(&[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM]).is_some() {},
            Maintenance::Analyze if self.is_any(&[Kw::UPDATE, Kw::DROP]) => return self.histograms(tables),
            _ => {}
        }
        Ok(Statement::TableMaintenance { action, tables })
    }

    /// `CHECKSUM TABLE t, ... [QUICK | EXTENDED]`, the cursor at the verb.
    pub fn checksum_table(&mut self) -> Result<Statement> {
        self.advance();
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return self.fail();
        }
        let tables = self.comma_separated(Self::object_name)?;
        let quick = self.eat_any(&[Kw::QUICK, Kw::EXTENDED]) == Some(Kw::QUICK);
        Ok(Statement::ChecksumTable { tables, quick })
    }

    /// `UPDATE HISTOGRAM ON c, ... [WITH n BUCKETS]`, `DROP HISTOGRAM ON c, ...`
    fn histograms(&mut self, tables: Vec<ObjectName>) -> Result<Statement> {
        let updates = self.is(Kw::UPDATE);
        self.advance();
        self.expect(Kw::HISTOGRAM)?;
        self.expect(Kw::ON)?;
        let columns = self.comma_separated(Self::name)?;
        let mut buckets = updates.then_some(BUCKETS);
        if updates && self.eat(Kw::WITH) {
            let count = self.unsigned()?;
            self.expect(Kw::BUCKETS)?;
            let allowed = u32::try_from(count)
                .ok()
                .filter(|count| (1..=BUCKETS_MAX).contains(count));
            buckets = Some(allowed.ok_or_else(|| {
                Error::new(
                    errno::ER_DATA_OUT_OF_RANGE,
                    "Number of buckets value is out of range in 'ANALYZE TABLE'",
                )
            })?);
        }
        Ok(Statement::Histograms {
            tables,
            columns,
            buckets,
        })
    }

    /// `FLUSH [LOCAL] what, ...`
    pub fn flush(&mut self) -> Result<Statement> {
        self.advance();
        self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
        if !self.is_any(FLUSHED) {
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
        Ok(Statement::Flush(what))
    }

    /// `LOCK TABLES t [AS a] READ [LOCAL] | [LOW_PRIORITY] WRITE, ...`
    pub fn lock_tables(&mut self) -> Result<Statement> {
        self.advance();
        if self.is(Kw::INSTANCE) {
            return Err(Error::not_supported(
                "LOCK INSTANCE",
                "use FLUSH TABLES WITH READ LOCK",
            ));
        }
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return self.fail();
        }
        let tables = self.comma_separated(|parser| {
            let name = parser.object_name()?;
            let alias = if parser.is_any(&[Kw::READ, Kw::LOW_PRIORITY, Kw::WRITE]) {
                None
            } else {
                parser.table_alias()?
            };
            let write = !parser.eat(Kw::READ);
            if write {
                parser.eat(Kw::LOW_PRIORITY);
                parser.expect(Kw::WRITE)?;
            } else {
                // READ LOCAL is about MyISAM; for other engines it is READ.
                parser.eat(Kw::LOCAL);
            }
            Ok(LockedTable { name, alias, write })
        })?;
        Ok(Statement::LockTables(tables))
    }

    pub fn unlock_tables(&mut self) -> Result<Statement> {
        self.advance();
        if self.is(Kw::INSTANCE) {
            return Err(Error::not_supported("UNLOCK INSTANCE", "use UNLOCK TABLES"));
        }
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return self.fail();
        }
        Ok(Statement::UnlockTables)
    }
}
