//! Which statement a text is: by its first words.

use types::{Error, Result, errno};

use super::Parser;
use crate::Parsed;
use crate::ast::{Delete, ExplainFormat, Maintenance, PrepareSource, Query, Statement, Update};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// Reads one statement, up to its semicolon or the end. Fails with 1065 on nothing at all.
    pub fn parse_statement(&mut self) -> Result<Parsed> {
        let start = self.start();
        if self.at_statement_end() && self.is_comment_alone() {
            return Ok(Parsed {
                statement: Statement::Empty,
                text: start..start,
                parameters: 0,
                row_counts: Vec::new(),
                assigns: false,
                set_vars: Vec::new(),
            });
        }
        if self.at_statement_end() && self.is_nothing() {
            return Err(Error::new(errno::ER_EMPTY_QUERY, "Query was empty"));
        }
        let statement = self.statement()?;
        if !self.at_statement_end() {
            return self.fail();
        }
        Ok(Parsed {
            statement,
            text: start..self.previous_end(),
            parameters: self.parameters,
            row_counts: std::mem::take(&mut self.row_counts),
            assigns: self.assigns,
            set_vars: std::mem::take(&mut self.set_vars),
        })
    }

    /// Before the first token, something was skipped that is more than blanks: a statement that does nothing.
    fn is_comment_alone(&self) -> bool {
        !self.source(self.previous_end(), self.start()).trim().is_empty()
    }

    /// Nothing but blanks and semicolons follow.
    pub fn is_nothing(&self) -> bool {
        let rest = self.source(self.start(), usize::MAX);
        rest.trim_matches(|c: char| c.is_whitespace() || c == ';' || c == '\0')
            .is_empty()
    }

    /// A query, an UPDATE or a DELETE that begins with common table expressions.
    fn statement_with(&mut self) -> Result<Statement> {
        let with = self.with_clause()?;
        Ok(match self.keyword() {
            Some(Kw::UPDATE) => Statement::Update(Box::new(Update {
                with,
                ..self.update()?
            })),
            Some(Kw::DELETE) => Statement::Delete(Box::new(Delete {
                with,
                ..self.delete()?
            })),
            _ => Statement::Query(Box::new(Query {
                with,
                ..self.query_without_with()?
            })),
        })
    }

    fn statement(&mut self) -> Result<Statement> {
        if self.kind() == Kind::LeftParen {
            return Ok(Statement::Query(Box::new(self.query()?)));
        }
        match self.keyword() {
            Some(Kw::SELECT | Kw::VALUES | Kw::TABLE) => Ok(Statement::Query(Box::new(self.query()?))),
            Some(Kw::WITH) => self.statement_with(),
            Some(Kw::INSERT | Kw::REPLACE) => Ok(Statement::Insert(Box::new(self.insert()?))),
            Some(Kw::UPDATE) => Ok(Statement::Update(Box::new(self.update()?))),
            Some(Kw::DELETE) => Ok(Statement::Delete(Box::new(self.delete()?))),
            Some(Kw::LOAD) => self.load(),
            Some(Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC) => self.explain(),
            Some(Kw::CREATE) => self.create(),
            Some(Kw::ALTER) => self.alter(),
            Some(Kw::DROP) => self.drop(),
            Some(Kw::TRUNCATE) => {
                self.advance();
                self.eat(Kw::TABLE);
                Ok(Statement::TruncateTable(self.object_name()?))
            }
            Some(Kw::RENAME) => self.rename(),
            Some(Kw::GRANT) => self.grant(),
            Some(Kw::REVOKE) => self.revoke(),
            Some(Kw::BEGIN) => self.begin().map(Statement::Transaction),
            Some(Kw::START) => self.start_transaction().map(Statement::Transaction),
            Some(Kw::COMMIT | Kw::ROLLBACK) => self.end_transaction().map(Statement::Transaction),
            Some(Kw::SAVEPOINT | Kw::RELEASE) => self.savepoint().map(Statement::Transaction),
            Some(Kw::XA) => self.xa().map(Statement::Xa),
            Some(Kw::USE) => {
                self.advance();
                let database = self.name()?;
                if database.is_empty() {
                    return Err(Error::new(errno::ER_NO_DB_ERROR, "No database selected"));
                }
                Ok(Statement::Use(database))
            }
            Some(Kw::SET) => self.set(),
            Some(Kw::SHOW) => self.show(),
            Some(Kw::KILL) => self.kill(),
            Some(Kw::ADMIN) => self.admin(),
            Some(Kw::CHECK) => self.table_maintenance(Maintenance::Check),
            Some(Kw::ANALYZE) => self.table_maintenance(Maintenance::Analyze),
            Some(Kw::OPTIMIZE) => self.table_maintenance(Maintenance::Optimize),
            Some(Kw::REPAIR) => self.table_maintenance(Maintenance::Repair),
            Some(Kw::CHECKSUM) => self.checksum_table(),
            Some(Kw::FLUSH) => self.flush(),
            Some(Kw::SPLIT) => self.split_table(),
            Some(Kw::LOCK) => self.lock_tables(),
            Some(Kw::UNLOCK) => self.unlock_tables(),
            Some(Kw::PREPARE) => self.prepare(),
            Some(Kw::EXECUTE) => self.execute(),
            Some(Kw::DEALLOCATE) => {
                self.advance();
                self.expect(Kw::PREPARE)?;
                let name = self.name()?;
                Ok(Statement::Deallocate { name })
            }
            Some(Kw::DO) => {
                self.advance();
                Ok(Statement::Do(self.comma_separated(Self::expression)?))
            }
            _ => self.refuse_statement(),
        }
    }

    fn create(&mut self) -> Result<Statement> {
        self.advance();
        if self.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
            return self.create_database();
        }
        if self.eat(Kw::TABLE) {
            return self.create_table(false);
        }
        if self.eat_all(&[Kw::TEMPORARY, Kw::TABLE]) {
            return self.create_table(true);
        }
        if self.is_any(&[Kw::UNIQUE, Kw::INDEX]) {
            return self.create_index();
        }
        if self.eat(Kw::USER) {
            return self.create_user();
        }
        if self.eat(Kw::ROLE) {
            return self.create_role();
        }
        if let Some(view) = self.view(false)? {
            return Ok(view);
        }
        self.refuse_object("CREATE")
    }

    fn alter(&mut self) -> Result<Statement> {
        self.advance();
        if self.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
            return self.alter_database();
        }
        if self.eat(Kw::TABLE) {
            return self.alter_table();
        }
        if self.eat(Kw::USER) {
            return self.alter_user();
        }
        if let Some(view) = self.view(true)? {
            return Ok(view);
        }
        self.refuse_object("ALTER")
    }

    fn drop(&mut self) -> Result<Statement> {
        self.advance();
        if self.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
            let if_exists = self.if_exists()?;
            let name = self.database_name()?;
            return Ok(Statement::DropDatabase { name, if_exists });
        }
        let temporary = self.eat(Kw::TEMPORARY);
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_some() {
            let if_exists = self.if_exists()?;
            let names = self.comma_separated(Self::object_name)?;
            self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
            return Ok(Statement::DropTable {
                names,
                if_exists,
                temporary,
            });
        }
        if temporary {
            return self.fail();
        }
        if self.eat(Kw::INDEX) {
            return self.drop_index();
        }
        if self.eat(Kw::USER) {
            return self.drop_user();
        }
        if self.eat(Kw::ROLE) {
            return self.drop_role();
        }
        if self.eat(Kw::PREPARE) {
            let name = self.name()?;
            return Ok(Statement::Deallocate { name });
        }
        if let Some(kind) = self.object_kind() {
            return self.drop_object(kind);
        }
        self.refuse_object("DROP")
    }

    fn rename(&mut self) -> Result<Statement> {
        self.advance();
        if self.is(Kw::USER) {
            return self.rename_user();
        }
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return self.fail();
        }
        let renames = self.comma_separated(|parser| {
            let from = parser.object_name()?;
            parser.expect(Kw::TO)?;
            Ok((from, parser.object_name()?))
        })?;
        Ok(Statement::RenameTable(renames))
    }

    /// EXPLAIN and its synonyms: of a statement, or of a table's columns.
    fn explain(&mut self) -> Result<Statement> {
        self.advance();
        let analyze = self.eat(Kw::ANALYZE);
        let mut format = None;
        if self.is(Kw::FORMAT) && self.peek().kind == Kind::Equal {
            self.advance();
            self.advance();
            let name = self.name_or_text()?;
            format = Some(match name.to_ascii_lowercase().as_str() {
                "traditional" => ExplainFormat::Traditional,
                "tree" => ExplainFormat::Tree,
                "json" => ExplainFormat::Json,
                _ => {
                    return Err(Error::new(
                        errno::ER_UNKNOWN_EXPLAIN_FORMAT,
                        format!("Unknown EXPLAIN format name: '{name}'"),
                    ));
                }
            });
        } else if self.is_any(&[Kw::EXTENDED, Kw::PARTITIONS]) {
            return self.fail();
        }
        if self.are(&[Kw::FOR, Kw::CONNECTION]) {
            if analyze {
                return Err(Error::not_supported(
                    "EXPLAIN ANALYZE FOR CONNECTION",
                    "use EXPLAIN FOR CONNECTION",
                ));
            }
            self.advance();
            self.advance();
            let connection = self.unsigned()?;
            return Ok(Statement::ExplainConnection { format, connection });
        }
        let explains = self.is_any(&[
            Kw::SELECT,
            Kw::INSERT,
            Kw::REPLACE,
            Kw::UPDATE,
            Kw::DELETE,
            Kw::WITH,
            Kw::TABLE,
            Kw::VALUES,
        ]);
        if !explains && self.kind() != Kind::LeftParen {
            return self.describe_table();
        }
        let statement = self.nested(Self::statement)?;
        Ok(Statement::Explain {
            format,
            analyze,
            statement: Box::new(statement),
        })
    }

    fn prepare(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.name()?;
        self.expect(Kw::FROM)?;
        let source = match self.kind() {
            Kind::Text => PrepareSource::Text(self.text_literal()?),
            Kind::At => PrepareSource::Variable(self.user_variable_name()?),
            _ => return self.fail(),
        };
        Ok(Statement::Prepare { name, source })
    }

    fn execute(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.name()?;
        let using = if self.eat(Kw::USING) {
            self.comma_separated(Self::user_variable_name)?
        } else {
            Vec::new()
        };
        Ok(Statement::Execute { name, using })
    }
}
