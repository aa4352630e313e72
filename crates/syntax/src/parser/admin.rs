//! KILL, FLUSH, LOCK TABLES, ADMIN and other statements about the server and its tables.

use types::{Error, Result, errno};

use super::{Parser, deprecated, names};
use crate::ast::{Flush, FlushKind, HistogramChange, LockedTable, Maintenance, ObjectName, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The buckets of a histogram: the default and the maximum (manual 13.7.3.1).
const BUCKETS: u32 = 100;
const BUCKETS_MAX: u32 = 1024;

/// What FLUSH names beside tables.
const FLUSHED: &[(&[Kw], FlushKind)] = &[
    (&[Kw::PRIVILEGES], FlushKind::Privileges),
    (&[Kw::STATUS], FlushKind::Status),
    (&[Kw::LOGS], FlushKind::Logs),
    (&[Kw::BINARY, Kw::LOGS], FlushKind::BinaryLogs),
    (&[Kw::ENGINE, Kw::LOGS], FlushKind::EngineLogs),
    (&[Kw::ERROR, Kw::LOGS], FlushKind::ErrorLogs),
    (&[Kw::GENERAL, Kw::LOGS], FlushKind::GeneralLogs),
    (&[Kw::RELAY, Kw::LOGS], FlushKind::RelayLogs),
    (&[Kw::SLOW, Kw::LOGS], FlushKind::SlowLogs),
    (&[Kw::HOSTS], FlushKind::Hosts),
    (&[Kw::OPTIMIZER_COSTS], FlushKind::OptimizerCosts),
    (&[Kw::USER_RESOURCES], FlushKind::UserResources),
];

/// `KILL [CONNECTION | QUERY] expr`, and TiDB's `KILL TIDB`.
pub fn kill(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    parser.eat(Kw::TIDB);
    let query_only = parser.eat_any(&[Kw::QUERY, Kw::CONNECTION]) == Some(Kw::QUERY);
    let connection = parser.expression()?;
    Ok(Statement::Kill {
        connection,
        query_only,
    })
}

/// TiDB's `ADMIN CHECK TABLE t, ...`, `ADMIN SHOW DDL JOBS [n]`, `ADMIN CANCEL DDL JOBS id, ...`.
pub fn admin(parser: &mut Parser<'_>) -> Result<Statement> {
    if parser.peek_is(Kw::CHECK) {
        parser.advance();
        return table_maintenance(parser, Maintenance::AdminCheck);
    }
    parser.advance();
    if parser.eat_all(&[Kw::SHOW, Kw::DDL, Kw::JOBS]) {
        let past = match parser.at_statement_end() {
            true => None,
            false => Some(parser.unsigned()?),
        };
        return Ok(Statement::AdminShowDdlJobs { past });
    }
    if parser.eat_all(&[Kw::CANCEL, Kw::DDL, Kw::JOBS]) {
        let jobs = parser.comma_separated(Parser::unsigned)?;
        return Ok(Statement::AdminCancelDdlJobs { jobs });
    }
    if parser.kind() == Kind::Word {
        return Err(Error::not_supported(
            "this ADMIN statement",
            "there are ADMIN CHECK TABLE, ADMIN SHOW DDL JOBS and ADMIN CANCEL DDL JOBS",
        ));
    }
    parser.fail()
}

/// `CHECK`, `ANALYZE`, `OPTIMIZE`, `REPAIR TABLE`, the cursor at the verb.
pub fn table_maintenance(parser: &mut Parser<'_>, action: Maintenance) -> Result<Statement> {
    parser.advance();
    if matches!(
        action,
        Maintenance::Analyze | Maintenance::Optimize | Maintenance::Repair
    ) {
        parser.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
    }
    if parser.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
        return parser.fail();
    }
    let tables = parser.comma_separated(Parser::object_name)?;
    match action {
        Maintenance::Check => {
            let kinds = [Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED];
            while parser.eat_any(&kinds).is_some() || parser.eat_all(&[Kw::FOR, Kw::UPGRADE]) {}
        }
        Maintenance::Repair => while parser.eat_any(&[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM]).is_some() {},
        Maintenance::Analyze if parser.is_any(&[Kw::UPDATE, Kw::DROP]) => return histograms(parser, tables),
        _ => {}
    }
    Ok(Statement::TableMaintenance { action, tables })
}

/// `CHECKSUM TABLE t, ... [QUICK | EXTENDED]`, the cursor at the verb.
pub fn checksum_table(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
        return parser.fail();
    }
    let tables = parser.comma_separated(Parser::object_name)?;
    let quick = parser.eat_any(&[Kw::QUICK, Kw::EXTENDED]) == Some(Kw::QUICK);
    Ok(Statement::ChecksumTable { tables, quick })
}

/// `UPDATE HISTOGRAM ON c, ... [WITH n BUCKETS | USING DATA 'json']`, `DROP HISTOGRAM ON c, ...`
fn histograms(parser: &mut Parser<'_>, tables: Vec<ObjectName>) -> Result<Statement> {
    let updates = parser.is(Kw::UPDATE);
    parser.advance();
    parser.expect(Kw::HISTOGRAM)?;
    parser.expect(Kw::ON)?;
    let columns = parser.comma_separated(Parser::name)?;
    let change = if !updates {
        HistogramChange::Drop
    } else if parser.eat_all(&[Kw::USING, Kw::DATA]) {
        HistogramChange::Set(parser.text_literal()?)
    } else if parser.eat(Kw::WITH) {
        HistogramChange::Make {
            buckets: bucket_count(parser)?,
        }
    } else {
        HistogramChange::Make { buckets: BUCKETS }
    };
    Ok(Statement::Histograms {
        tables,
        columns,
        change,
    })
}

/// `n BUCKETS`
fn bucket_count(parser: &mut Parser<'_>) -> Result<u32> {
    let count = parser.unsigned()?;
    parser.expect(Kw::BUCKETS)?;
    let allowed = u32::try_from(count)
        .ok()
        .filter(|count| (1..=BUCKETS_MAX).contains(count));
    allowed.ok_or_else(|| {
        Error::new(
            errno::ER_DATA_OUT_OF_RANGE,
            "Number of buckets value is out of range in 'ANALYZE TABLE'",
        )
    })
}

/// `FLUSH [LOCAL] kind, ...`, or of tables alone.
pub fn flush(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    parser.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
    Ok(Statement::Flush(match parser.eat_any(&[Kw::TABLE, Kw::TABLES]) {
        Some(_) => flush_tables(parser)?,
        None => Flush::Kinds(parser.comma_separated(flush_kind)?),
    }))
}

fn flush_kind(parser: &mut Parser<'_>) -> Result<FlushKind> {
    let Some((_, kind)) = FLUSHED.iter().find(|(words, _)| parser.eat_all(words)) else {
        return parser.fail();
    };
    match kind {
        FlushKind::RelayLogs => channel(parser)?,
        FlushKind::Hosts => {
            deprecated::replaced(
                parser,
                "FLUSH HOSTS",
                "TRUNCATE TABLE performance_schema.host_cache",
            );
        }
        _ => {}
    }
    Ok(*kind)
}

/// `[t, ...] [WITH READ LOCK | FOR EXPORT]`
fn flush_tables(parser: &mut Parser<'_>) -> Result<Flush> {
    let are_all = parser.at_statement_end() || parser.is_any(&[Kw::WITH, Kw::FOR]);
    let tables = match are_all {
        true => Vec::new(),
        false => parser.comma_separated(Parser::object_name)?,
    };
    if !are_all && parser.are(&[Kw::FOR, Kw::EXPORT]) {
        return Err(Error::not_supported(
            "FLUSH TABLES FOR EXPORT",
            "copy rows with stemdb export, or read them under FLUSH TABLES ... WITH READ LOCK",
        ));
    }
    Ok(Flush::Tables {
        tables,
        read_lock: parser.eat_all(&[Kw::WITH, Kw::READ, Kw::LOCK]),
    })
}

/// `[FOR CHANNEL 'name']`, of replication. There is only the one without a name, where there is none at all.
pub fn channel(parser: &mut Parser<'_>) -> Result<()> {
    const ER_REPLICA_CHANNEL_DOES_NOT_EXIST: u16 = 3074;
    if !parser.eat_all(&[Kw::FOR, Kw::CHANNEL]) {
        return Ok(());
    }
    let name = parser.text_literal()?.to_lowercase();
    match name.is_empty() {
        true => Ok(()),
        false => Err(Error::new(
            ER_REPLICA_CHANNEL_DOES_NOT_EXIST,
            format!("Replica channel '{name}' does not exist."),
        )),
    }
}

/// `LOCK TABLES t [AS a] READ [LOCAL] | [LOW_PRIORITY] WRITE, ...`
pub fn lock_tables(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.eat(Kw::INSTANCE) {
        parser.expect(Kw::FOR)?;
        parser.expect(Kw::BACKUP)?;
        return Ok(Statement::LockInstance);
    }
    if parser.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
        return parser.fail();
    }
    let tables = parser.comma_separated(|parser| {
        let name = parser.object_name()?;
        let alias = if parser.is_any(&[Kw::READ, Kw::LOW_PRIORITY, Kw::WRITE]) {
            None
        } else {
            names::table_alias(parser)?
        };
        let write = !parser.eat(Kw::READ);
        if write {
            let low_priority = parser.eat(Kw::LOW_PRIORITY);
            parser.expect(Kw::WRITE)?;
            if low_priority {
                deprecated::replaced(parser, "LOW_PRIORITY WRITE", "WRITE");
            }
        } else {
            // READ LOCAL differs from READ only for MyISAM.
            parser.eat(Kw::LOCAL);
        }
        Ok(LockedTable { name, alias, write })
    })?;
    Ok(Statement::LockTables(tables))
}

pub fn unlock_tables(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.eat(Kw::INSTANCE) {
        return Ok(Statement::UnlockInstance);
    }
    if parser.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
        return parser.fail();
    }
    Ok(Statement::UnlockTables)
}
