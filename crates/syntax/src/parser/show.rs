//! SHOW, and DESCRIBE of a table.

use types::{Error, Result};

use super::Parser;
use crate::ast::{EngineShow, ServerShow, ShowFilter, ShowStatement, Statement, Target};
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
];

impl Parser<'_> {
    pub fn show(&mut self) -> Result<Statement> {
        self.advance();
        Ok(Statement::Show(self.show_statement()?))
    }

    /// `DESCRIBE table [column | 'pattern']`
    pub fn describe_table(&mut self) -> Result<Statement> {
        let table = self.object_name()?;
        let filter = match self.kind() {
            Kind::Text => ShowFilter::Like(self.text_literal()?),
            Kind::Word | Kind::QuotedWord => ShowFilter::Like(escape_like(&self.name()?)),
            _ => ShowFilter::None,
        };
        Ok(Statement::Show(ShowStatement::OfTable {
            target: Target::Columns,
            table,
            full: false,
            filter,
        }))
    }

    fn show_statement(&mut self) -> Result<ShowStatement> {
        let of_server = |show| Ok(ShowStatement::OfServer(show));
        if let Some(statement) = self.show_of_object()? {
            return Ok(statement);
        }
        if self.eat_any(&[Kw::DATABASES, Kw::SCHEMAS]).is_some() {
            return of_server(ServerShow::Databases(self.show_filter()?));
        }
        if self.eat(Kw::CREATE) {
            return self.show_create();
        }
        if self.eat(Kw::TABLE) {
            return self.show_regions();
        }
        if let Some(statement) = self.show_variables()? {
            return Ok(statement);
        }
        if self.eat_all(&[Kw::FULL, Kw::PROCESSLIST]) {
            return of_server(ServerShow::ProcessList { full: true });
        }
        if self.eat(Kw::PROCESSLIST) {
            return of_server(ServerShow::ProcessList { full: false });
        }
        if let Some(word) = self.eat_any(&[Kw::WARNINGS, Kw::ERRORS]) {
            return self.show_warnings(word == Kw::ERRORS);
        }
        if self.is(Kw::COUNT) {
            return self.show_count();
        }
        if self.eat(Kw::ENGINE) {
            return self.show_engine();
        }
        self.eat(Kw::STORAGE);
        if self.eat(Kw::ENGINES) {
            return of_server(ServerShow::Engines);
        }
        if self.eat(Kw::COLLATION) {
            return of_server(ServerShow::Collation(self.show_filter()?));
        }
        if self.eat_all(&[Kw::CHARACTER, Kw::SET])
            || self.eat_all(&[Kw::CHAR, Kw::SET])
            || self.eat(Kw::CHARSET)
        {
            return of_server(ServerShow::Charset(self.show_filter()?));
        }
        if self.eat(Kw::PLUGINS) {
            return of_server(ServerShow::Plugins(self.show_filter()?));
        }
        if self.eat(Kw::GRANTS) {
            let user = if self.eat(Kw::FOR) {
                Some(self.account_name()?)
            } else {
                None
            };
            let using = match user.is_some() && self.eat(Kw::USING) {
                true => self.comma_separated(Self::account_name)?,
                false => Vec::new(),
            };
            return of_server(ServerShow::Grants { user, using });
        }
        for words in EMPTY {
            if self.eat_all(words) {
                let filter = self.show_filter()?;
                return of_server(ServerShow::List {
                    words: words.iter().map(|word| word.text()).collect::<Vec<_>>().join(" "),
                    filter,
                });
            }
        }
        if self.is_any(&[Kw::PROFILE, Kw::BINLOG, Kw::RELAYLOG, Kw::OPEN, Kw::PRIVILEGES]) {
            return Err(Error::not_supported(
                format!("SHOW {}", self.word().to_uppercase()),
                "query performance_schema; there is no binary log",
            ));
        }
        self.fail()
    }

    /// `SHOW ENGINE name | ALL STATUS | MUTEX | LOGS`, ENGINE taken.
    fn show_engine(&mut self) -> Result<ShowStatement> {
        let name = match self.eat(Kw::ALL) {
            true => None,
            false => Some(self.name_or_text()?),
        };
        let of = match self.eat_any(&[Kw::STATUS, Kw::MUTEX, Kw::LOGS]) {
            Some(Kw::STATUS) => EngineShow::Status,
            Some(Kw::MUTEX) => EngineShow::Mutex,
            Some(_) => EngineShow::Logs,
            None => return self.fail(),
        };
        Ok(ShowStatement::OfServer(ServerShow::Engine { name, of }))
    }

    /// Lists of a database's or a table's things.
    fn show_of_object(&mut self) -> Result<Option<ShowStatement>> {
        let full = (self.is(Kw::FULL) || self.is(Kw::EXTENDED))
            && self.peek_is_any(&[Kw::TABLES, Kw::COLUMNS, Kw::FIELDS, Kw::FULL]);
        let mut show_full = false;
        if full {
            self.eat(Kw::EXTENDED);
            show_full = self.eat(Kw::FULL);
        }
        for (words, target) in [
            (&[Kw::TABLES][..], Target::Tables),
            (&[Kw::TABLE, Kw::STATUS], Target::TableStatus),
            (&[Kw::OPEN, Kw::TABLES], Target::OpenTables),
            (&[Kw::TRIGGERS], Target::Triggers),
            (&[Kw::EVENTS], Target::Events),
        ] {
            if self.eat_all(words) {
                let database = if self.eat_any(&[Kw::FROM, Kw::IN]).is_some() {
                    Some(self.database_name()?)
                } else {
                    None
                };
                return Ok(Some(ShowStatement::OfDatabase {
                    target,
                    database,
                    full: show_full,
                    filter: self.show_filter()?,
                }));
            }
        }
        let target = match self.eat_any(&[Kw::COLUMNS, Kw::FIELDS, Kw::INDEX, Kw::INDEXES, Kw::KEYS]) {
            Some(Kw::COLUMNS | Kw::FIELDS) => Target::Columns,
            Some(_) => Target::Index,
            None if full => return self.fail(),
            None => return Ok(None),
        };
        if self.eat_any(&[Kw::FROM, Kw::IN]).is_none() {
            return self.fail();
        }
        let mut table = self.object_name()?;
        if self.eat_any(&[Kw::FROM, Kw::IN]).is_some() {
            table.database = Some(self.database_name()?);
        }
        Ok(Some(ShowStatement::OfTable {
            target,
            table,
            full: show_full,
            filter: self.show_filter()?,
        }))
    }

    fn show_create(&mut self) -> Result<ShowStatement> {
        if self.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
            let if_not_exists = self.if_not_exists()?;
            let name = self.database_name()?;
            return Ok(ShowStatement::OfServer(ServerShow::CreateDatabase {
                name,
                if_not_exists,
            }));
        }
        if let Some(word) = self.eat_any(&[Kw::TABLE, Kw::VIEW]) {
            return Ok(ShowStatement::OfTable {
                target: match word {
                    Kw::VIEW => Target::CreateView,
                    _ => Target::CreateTable,
                },
                table: self.object_name()?,
                full: false,
                filter: ShowFilter::None,
            });
        }
        if self.eat(Kw::USER) {
            let user = self.account_name()?;
            return Ok(ShowStatement::OfServer(ServerShow::CreateUser(user)));
        }
        if self.is_any(&[Kw::TRIGGER, Kw::PROCEDURE, Kw::FUNCTION, Kw::EVENT]) {
            return Err(Error::not_supported(
                format!("SHOW CREATE {}", self.word().to_uppercase()),
                "there are no stored programs",
            ));
        }
        self.fail()
    }

    /// `SHOW TABLE t [INDEX i] REGIONS`, as TiDB has it; TABLE taken.
    fn show_regions(&mut self) -> Result<ShowStatement> {
        let table = self.object_name()?;
        let index = self.index_to_split()?;
        self.expect(Kw::REGIONS)?;
        Ok(ShowStatement::Regions {
            table,
            index,
            filter: self.show_filter()?,
        })
    }

    fn show_variables(&mut self) -> Result<Option<ShowStatement>> {
        let scoped = self.is_any(&[Kw::GLOBAL, Kw::SESSION, Kw::LOCAL]);
        let global = self.is(Kw::GLOBAL);
        if scoped {
            self.advance();
        }
        if self.eat(Kw::VARIABLES) {
            let filter = self.show_filter()?;
            return Ok(Some(ShowStatement::OfServer(ServerShow::Variables {
                global,
                filter,
            })));
        }
        if self.eat(Kw::STATUS) {
            let filter = self.show_filter()?;
            return Ok(Some(ShowStatement::OfServer(ServerShow::Status {
                global,
                filter,
            })));
        }
        if scoped { self.fail() } else { Ok(None) }
    }

    /// `SHOW WARNINGS [LIMIT [offset,] n]`, the word taken.
    fn show_warnings(&mut self, errors_only: bool) -> Result<ShowStatement> {
        let mut offset = 0;
        let mut count = None;
        if self.eat(Kw::LIMIT) {
            let first = self.unsigned()?;
            if self.eat_kind(Kind::Comma) {
                offset = first;
                count = Some(self.unsigned()?);
            } else {
                count = Some(first);
                if self.eat(Kw::OFFSET) {
                    offset = self.unsigned()?;
                }
            }
        }
        Ok(ShowStatement::OfServer(ServerShow::Warnings {
            errors_only,
            offset,
            count,
        }))
    }

    /// `SHOW COUNT(*) WARNINGS`
    fn show_count(&mut self) -> Result<ShowStatement> {
        self.advance();
        self.expect_kind(Kind::LeftParen)?;
        self.expect_kind(Kind::Star)?;
        self.expect_kind(Kind::RightParen)?;
        match self.eat_any(&[Kw::WARNINGS, Kw::ERRORS]) {
            Some(word) => Ok(ShowStatement::OfServer(ServerShow::CountWarnings {
                errors_only: word == Kw::ERRORS,
            })),
            None => self.fail(),
        }
    }

    fn show_filter(&mut self) -> Result<ShowFilter> {
        if self.eat(Kw::LIKE) {
            return Ok(ShowFilter::Like(self.text_literal()?));
        }
        if self.eat(Kw::WHERE) {
            return Ok(ShowFilter::Where(Box::new(self.expression()?)));
        }
        Ok(ShowFilter::None)
    }
}

/// A pattern that matches just this text.
fn escape_like(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
