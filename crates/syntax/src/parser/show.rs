//! SHOW, and DESCRIBE of a table.

use types::{Error, Result};

use super::{Parser, account, admin, deprecated, split_table, stored_program};
use crate::ast::{
    EngineShow, ProfileKind, ProfileShow, ServerShow, ShowFilter, ShowStatement, Statement, Target,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// SHOW statements whose answer is always the same or empty here, by their words.
const EMPTY: &[&[Kw]] = &[
    &[Kw::PROCEDURE, Kw::STATUS],
    &[Kw::FUNCTION, Kw::STATUS],
    &[Kw::MASTER, Kw::STATUS],
    &[Kw::BINARY, Kw::LOG, Kw::STATUS],
    &[Kw::BINARY, Kw::LOGS],
    &[Kw::MASTER, Kw::LOGS],
    &[Kw::SLAVE, Kw::STATUS],
    &[Kw::REPLICA, Kw::STATUS],
    &[Kw::SLAVE, Kw::HOSTS],
    &[Kw::REPLICAS],
    &[Kw::PROFILES],
    &[Kw::BINLOG, Kw::EVENTS],
    &[Kw::RELAYLOG, Kw::EVENTS],
];

/// The words after SHOW PROFILE.
const PROFILE_KINDS: &[(&[Kw], ProfileKind)] = &[
    (&[Kw::ALL], ProfileKind::All),
    (&[Kw::BLOCK, Kw::IO], ProfileKind::BlockIo),
    (&[Kw::CONTEXT, Kw::SWITCHES], ProfileKind::ContextSwitches),
    (&[Kw::CPU], ProfileKind::Cpu),
    (&[Kw::IPC], ProfileKind::Ipc),
    (&[Kw::MEMORY], ProfileKind::Memory),
    (&[Kw::PAGE, Kw::FAULTS], ProfileKind::PageFaults),
    (&[Kw::SOURCE], ProfileKind::Source),
    (&[Kw::SWAPS], ProfileKind::Swaps),
];

const ER_FEATURE_DISABLED: u16 = 1289;

pub fn show(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.is(Kw::CREATE) {
        parser.advance();
        return match stored_program::show_create(parser)? {
            Some(of_program) => Ok(of_program),
            None => Ok(Statement::Show(show_create(parser)?)),
        };
    }
    Ok(Statement::Show(show_statement(parser)?))
}

/// `HELP 'topic'`
pub fn help(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    parser.name_or_text()?;
    Ok(Statement::Show(ShowStatement::OfServer(ServerShow::Help)))
}

/// `DESCRIBE table [column | 'pattern']`
pub fn describe_table(parser: &mut Parser<'_>) -> Result<Statement> {
    let table = parser.object_name()?;
    let filter = match parser.kind() {
        Kind::Text => ShowFilter::Like(parser.text_literal()?),
        Kind::Word | Kind::QuotedWord => ShowFilter::Like(escape_like(&parser.name()?)),
        _ => ShowFilter::None,
    };
    Ok(Statement::Show(ShowStatement::OfTable {
        target: Target::Columns,
        table,
        full: false,
        filter,
    }))
}

fn show_statement(parser: &mut Parser<'_>) -> Result<ShowStatement> {
    let of_server = |show| Ok(ShowStatement::OfServer(show));
    if let Some(statement) = show_of_object(parser)? {
        return Ok(statement);
    }
    if parser.eat_any(&[Kw::DATABASES, Kw::SCHEMAS]).is_some() {
        return of_server(ServerShow::Databases(show_filter(parser)?));
    }
    if parser.eat(Kw::TABLE) {
        return show_regions(parser);
    }
    if let Some(statement) = show_variables(parser)? {
        return Ok(statement);
    }
    if parser.eat_all(&[Kw::FULL, Kw::PROCESSLIST]) {
        return of_server(ServerShow::ProcessList { full: true });
    }
    if parser.eat(Kw::PROCESSLIST) {
        return of_server(ServerShow::ProcessList { full: false });
    }
    if let Some(word) = parser.eat_any(&[Kw::WARNINGS, Kw::ERRORS]) {
        return show_warnings(parser, word == Kw::ERRORS);
    }
    if parser.is(Kw::COUNT) {
        return show_count(parser);
    }
    if parser.eat(Kw::ENGINE) {
        return show_engine(parser);
    }
    parser.eat(Kw::STORAGE);
    if parser.eat(Kw::ENGINES) {
        return of_server(ServerShow::Engines);
    }
    if parser.eat(Kw::COLLATION) {
        return of_server(ServerShow::Collation(show_filter(parser)?));
    }
    if parser.eat_all(&[Kw::CHARACTER, Kw::SET])
        || parser.eat_all(&[Kw::CHAR, Kw::SET])
        || parser.eat(Kw::CHARSET)
    {
        return of_server(ServerShow::Charset(show_filter(parser)?));
    }
    if parser.eat(Kw::PLUGINS) {
        return of_server(ServerShow::Plugins(show_filter(parser)?));
    }
    if parser.eat(Kw::GRANTS) {
        let user = if parser.eat(Kw::FOR) {
            Some(account::account_name(parser)?)
        } else {
            None
        };
        let using = match user.is_some() && parser.eat(Kw::USING) {
            true => parser.comma_separated(account::account_name)?,
            false => Vec::new(),
        };
        return of_server(ServerShow::Grants { user, using });
    }
    if parser.eat(Kw::PRIVILEGES) {
        return of_server(ServerShow::Privileges);
    }
    if parser.is_any(&[Kw::PROCEDURE, Kw::FUNCTION]) && parser.peek_is(Kw::CODE) {
        return Err(Error::new(
            ER_FEATURE_DISABLED,
            "The 'SHOW PROCEDURE|FUNCTION CODE' feature is disabled; you need MySQL built with '--with-debug' to have it working",
        ));
    }
    if parser.eat(Kw::PROFILE) {
        return of_server(ServerShow::Profile(show_profile(parser)?));
    }
    for words in EMPTY {
        if parser.eat_all(words) {
            match words {
                [Kw::SLAVE, Kw::STATUS] => {
                    deprecated::replaced(parser, "SHOW SLAVE STATUS", "SHOW REPLICA STATUS")
                }
                [Kw::SLAVE, Kw::HOSTS] => deprecated::replaced(parser, "SHOW SLAVE HOSTS", "SHOW REPLICAS"),
                _ => {}
            }
            match words {
                [Kw::REPLICA | Kw::SLAVE, Kw::STATUS] => admin::channel(parser)?,
                [Kw::BINLOG, Kw::EVENTS] => binlog_position(parser)?,
                [Kw::RELAYLOG, Kw::EVENTS] => {
                    binlog_position(parser)?;
                    admin::channel(parser)?;
                }
                _ => {}
            }
            let filter = show_filter(parser)?;
            return of_server(ServerShow::List {
                words: words.iter().map(|word| word.text()).collect::<Vec<_>>().join(" "),
                filter,
            });
        }
    }
    parser.fail()
}

/// `[IN 'log'] [FROM position] [LIMIT [offset,] count]`: of a log that is not there.
fn binlog_position(parser: &mut Parser<'_>) -> Result<()> {
    if parser.eat(Kw::IN) {
        parser.text_literal()?;
    }
    if parser.eat(Kw::FROM) {
        parser.unsigned()?;
    }
    if parser.eat(Kw::LIMIT) {
        parser.unsigned()?;
        if parser.eat_kind(Kind::Comma) || parser.eat(Kw::OFFSET) {
            parser.unsigned()?;
        }
    }
    Ok(())
}

/// `SHOW PROFILE [kind, ...] [FOR QUERY n] [LIMIT ...]`, after the word PROFILE.
fn show_profile(parser: &mut Parser<'_>) -> Result<ProfileShow> {
    let mut show = ProfileShow::default();
    while let Some((_, kind)) = PROFILE_KINDS.iter().find(|(words, _)| parser.eat_all(words)) {
        show.kinds.push(*kind);
        if !parser.eat_kind(Kind::Comma) {
            break;
        }
        if !PROFILE_KINDS.iter().any(|(words, _)| parser.is(words[0])) {
            return parser.fail();
        }
    }
    if parser.eat_all(&[Kw::FOR, Kw::QUERY]) {
        show.query = Some(parser.unsigned()?);
    }
    (show.offset, show.count) = limit(parser)?;
    Ok(show)
}

/// `SHOW ENGINE name | ALL STATUS | MUTEX | LOGS`, after the word ENGINE.
fn show_engine(parser: &mut Parser<'_>) -> Result<ShowStatement> {
    let name = match parser.eat(Kw::ALL) {
        true => None,
        false => Some(parser.name_or_text()?),
    };
    let of = match parser.eat_any(&[Kw::STATUS, Kw::MUTEX, Kw::LOGS]) {
        Some(Kw::STATUS) => EngineShow::Status,
        Some(Kw::MUTEX) => EngineShow::Mutex,
        Some(_) => EngineShow::Logs,
        None => return parser.fail(),
    };
    Ok(ShowStatement::OfServer(ServerShow::Engine { name, of }))
}

/// Lists about a database or a table.
fn show_of_object(parser: &mut Parser<'_>) -> Result<Option<ShowStatement>> {
    const OF_INDEXES: &[Kw] = &[Kw::INDEX, Kw::INDEXES, Kw::KEYS];
    const OF_COLUMNS: &[Kw] = &[Kw::TABLES, Kw::COLUMNS, Kw::FIELDS];
    let of_columns = parser.peek_is_any(OF_COLUMNS);
    let full = parser.is(Kw::FULL) && (of_columns || parser.peek_is(Kw::TRIGGERS))
        || parser.is(Kw::EXTENDED) && (of_columns || parser.peek_is(Kw::FULL));
    let extended = parser.is(Kw::EXTENDED) && parser.peek_is_any(OF_INDEXES);
    let mut show_full = false;
    if full || extended {
        let is_extended = parser.eat(Kw::EXTENDED);
        show_full = parser.eat(Kw::FULL) || extended;
        if is_extended && !extended && !parser.is_any(OF_COLUMNS) {
            return parser.fail();
        }
    }
    for (words, target) in [
        (&[Kw::TABLES][..], Target::Tables),
        (&[Kw::TABLE, Kw::STATUS], Target::TableStatus),
        (&[Kw::OPEN, Kw::TABLES], Target::OpenTables),
        (&[Kw::TRIGGERS], Target::Triggers),
        (&[Kw::EVENTS], Target::Events),
    ] {
        if parser.eat_all(words) {
            let database = if parser.eat_any(&[Kw::FROM, Kw::IN]).is_some() {
                Some(parser.database_name()?)
            } else {
                None
            };
            return Ok(Some(ShowStatement::OfDatabase {
                target,
                database,
                full: show_full,
                filter: show_filter(parser)?,
            }));
        }
    }
    let target = match parser.eat_any(&[Kw::COLUMNS, Kw::FIELDS, Kw::INDEX, Kw::INDEXES, Kw::KEYS]) {
        Some(Kw::COLUMNS | Kw::FIELDS) => Target::Columns,
        Some(_) => Target::Index,
        None if full || extended => return parser.fail(),
        None => return Ok(None),
    };
    if parser.eat_any(&[Kw::FROM, Kw::IN]).is_none() {
        return parser.fail();
    }
    let mut table = parser.object_name()?;
    if parser.eat_any(&[Kw::FROM, Kw::IN]).is_some() {
        table.database = Some(parser.database_name()?);
    }
    Ok(Some(ShowStatement::OfTable {
        target,
        table,
        full: show_full,
        filter: show_filter(parser)?,
    }))
}

fn show_create(parser: &mut Parser<'_>) -> Result<ShowStatement> {
    if parser.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
        let if_not_exists = parser.if_not_exists()?;
        let name = parser.database_name()?;
        return Ok(ShowStatement::OfServer(ServerShow::CreateDatabase {
            name,
            if_not_exists,
        }));
    }
    if let Some(word) = parser.eat_any(&[Kw::TABLE, Kw::VIEW]) {
        return Ok(ShowStatement::OfTable {
            target: match word {
                Kw::VIEW => Target::CreateView,
                _ => Target::CreateTable,
            },
            table: parser.object_name()?,
            full: false,
            filter: ShowFilter::None,
        });
    }
    if parser.eat(Kw::USER) {
        let user = account::account_name(parser)?;
        return Ok(ShowStatement::OfServer(ServerShow::CreateUser(user)));
    }
    parser.fail()
}

/// TiDB's `SHOW TABLE t [INDEX i] REGIONS`, after the word TABLE.
fn show_regions(parser: &mut Parser<'_>) -> Result<ShowStatement> {
    let table = parser.object_name()?;
    let index = split_table::index_to_split(parser)?;
    parser.expect(Kw::REGIONS)?;
    Ok(ShowStatement::Regions {
        table,
        index,
        filter: show_filter(parser)?,
    })
}

fn show_variables(parser: &mut Parser<'_>) -> Result<Option<ShowStatement>> {
    let scoped = parser.is_any(&[Kw::GLOBAL, Kw::SESSION, Kw::LOCAL]);
    let global = parser.is(Kw::GLOBAL);
    if scoped {
        parser.advance();
    }
    if parser.eat(Kw::VARIABLES) {
        let filter = show_filter(parser)?;
        return Ok(Some(ShowStatement::OfServer(ServerShow::Variables {
            global,
            filter,
        })));
    }
    if parser.eat(Kw::STATUS) {
        let filter = show_filter(parser)?;
        return Ok(Some(ShowStatement::OfServer(ServerShow::Status {
            global,
            filter,
        })));
    }
    if scoped { parser.fail() } else { Ok(None) }
}

/// `SHOW WARNINGS [LIMIT [offset,] n]`, after the word WARNINGS or ERRORS.
fn show_warnings(parser: &mut Parser<'_>, errors_only: bool) -> Result<ShowStatement> {
    let (offset, count) = limit(parser)?;
    Ok(ShowStatement::OfServer(ServerShow::Warnings {
        errors_only,
        offset,
        count,
    }))
}

/// `[LIMIT [offset,] count]` or `[LIMIT count OFFSET offset]`: offset and count.
fn limit(parser: &mut Parser<'_>) -> Result<(u64, Option<u64>)> {
    let mut offset = 0;
    let mut count = None;
    if parser.eat(Kw::LIMIT) {
        let first = parser.unsigned()?;
        if parser.eat_kind(Kind::Comma) {
            offset = first;
            count = Some(parser.unsigned()?);
        } else {
            count = Some(first);
            if parser.eat(Kw::OFFSET) {
                offset = parser.unsigned()?;
            }
        }
    }
    Ok((offset, count))
}

/// `SHOW COUNT(*) WARNINGS`
fn show_count(parser: &mut Parser<'_>) -> Result<ShowStatement> {
    parser.advance();
    parser.expect_kind(Kind::LeftParen)?;
    parser.expect_kind(Kind::Star)?;
    parser.expect_kind(Kind::RightParen)?;
    match parser.eat_any(&[Kw::WARNINGS, Kw::ERRORS]) {
        Some(word) => Ok(ShowStatement::OfServer(ServerShow::CountWarnings {
            errors_only: word == Kw::ERRORS,
        })),
        None => parser.fail(),
    }
}

fn show_filter(parser: &mut Parser<'_>) -> Result<ShowFilter> {
    if parser.eat(Kw::LIKE) {
        return Ok(ShowFilter::Like(parser.text_literal()?));
    }
    if parser.eat(Kw::WHERE) {
        return Ok(ShowFilter::Where(Box::new(parser.expression()?)));
    }
    Ok(ShowFilter::None)
}

/// A pattern that matches only this text.
fn escape_like(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
