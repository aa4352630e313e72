//! Which statement a text is: by its first words.

use types::{Error, Result, errno};

use super::{
    Parser, account, admin, alter_table, create_table, database, diagnostics, file, grant, key_cache, names,
    query, select, set, show, split_table, stored_program, transaction, unsupported, view, write, xa,
};
use crate::Parsed;
use crate::ast::{Delete, ExplainFormat, Maintenance, PrepareSource, Query, Statement, Update};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Reads one statement, up to its semicolon or the end. Fails with 1065 if the text is empty.
pub fn parse_statement(parser: &mut Parser<'_>) -> Result<Parsed> {
    let start = parser.start();
    if parser.at_statement_end() && is_comment_alone(parser) {
        return Ok(Parsed {
            statement: Statement::Empty,
            text: start..start,
            parameters: 0,
            row_counts: Vec::new(),
            assigns: false,
            reads_diagnostics: false,
            set_vars: Vec::new(),
            read_variables: Vec::new(),
            warnings: Vec::new(),
        });
    }
    if parser.at_statement_end() && parser.is_nothing() {
        return Err(Error::new(errno::ER_EMPTY_QUERY, "Query was empty"));
    }
    let statement = statement(parser)?;
    if !parser.at_statement_end() {
        return parser.fail();
    }
    Ok(Parsed {
        statement,
        text: start..parser.previous_end(),
        parameters: parser.parameters,
        row_counts: std::mem::take(&mut parser.row_counts),
        assigns: parser.assigns,
        reads_diagnostics: parser.reads_diagnostics,
        set_vars: std::mem::take(&mut parser.set_vars),
        read_variables: std::mem::take(&mut parser.read_variables),
        warnings: std::mem::take(&mut parser.warnings),
    })
}

/// Whether the lexer skipped more than blanks before the first token. A comment alone is a statement that
/// does nothing.
fn is_comment_alone(parser: &Parser<'_>) -> bool {
    !parser
        .source(parser.previous_end(), parser.start())
        .trim()
        .is_empty()
}

/// A query, an UPDATE or a DELETE that begins with common table expressions.
fn statement_with(parser: &mut Parser<'_>) -> Result<Statement> {
    let with = query::with_clause(parser)?;
    Ok(match parser.keyword() {
        Some(Kw::UPDATE) => Statement::Update(Box::new(Update {
            with,
            ..write::update(parser)?
        })),
        Some(Kw::DELETE) => Statement::Delete(Box::new(Delete {
            with,
            ..write::delete(parser)?
        })),
        _ => Statement::Query(Box::new(Query {
            with,
            ..query::query_without_with(parser)?
        })),
    })
}

fn statement(parser: &mut Parser<'_>) -> Result<Statement> {
    if parser.kind() == Kind::LeftParen {
        return Ok(Statement::Query(Box::new(parser.query()?)));
    }
    match parser.keyword() {
        Some(Kw::SELECT | Kw::VALUES | Kw::TABLE) => Ok(Statement::Query(Box::new(parser.query()?))),
        Some(Kw::WITH) => statement_with(parser),
        Some(Kw::INSERT | Kw::REPLACE) => Ok(Statement::Insert(Box::new(write::insert(parser)?))),
        Some(Kw::UPDATE) => Ok(Statement::Update(Box::new(write::update(parser)?))),
        Some(Kw::DELETE) => Ok(Statement::Delete(Box::new(write::delete(parser)?))),
        Some(Kw::LOAD) if parser.peek_is(Kw::INDEX) => key_cache::load_index(parser),
        Some(Kw::LOAD) => file::load(parser),
        Some(Kw::CACHE) => key_cache::cache_index(parser),
        Some(Kw::GET) => diagnostics::get_diagnostics(parser),
        Some(Kw::SIGNAL) => diagnostics::signal(parser),
        Some(Kw::RESIGNAL) => diagnostics::resignal(parser),
        Some(Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC) => explain(parser),
        Some(Kw::CREATE) => create(parser),
        Some(Kw::ALTER) => alter(parser),
        Some(Kw::DROP) => drop_object(parser),
        Some(Kw::TRUNCATE) => {
            parser.advance();
            parser.eat(Kw::TABLE);
            Ok(Statement::TruncateTable(parser.object_name()?))
        }
        Some(Kw::RENAME) => rename(parser),
        Some(Kw::GRANT) => grant::grant(parser),
        Some(Kw::REVOKE) => grant::revoke(parser),
        Some(Kw::BEGIN) => transaction::begin(parser).map(Statement::Transaction),
        Some(Kw::START) => transaction::start_transaction(parser).map(Statement::Transaction),
        Some(Kw::COMMIT | Kw::ROLLBACK) => transaction::end_transaction(parser).map(Statement::Transaction),
        Some(Kw::SAVEPOINT | Kw::RELEASE) => transaction::savepoint(parser).map(Statement::Transaction),
        Some(Kw::XA) => xa::xa(parser).map(Statement::Xa),
        Some(Kw::USE) => {
            parser.advance();
            let database = parser.name()?;
            if database.is_empty() {
                return Err(Error::new(errno::ER_NO_DB_ERROR, "No database selected"));
            }
            Ok(Statement::Use(database))
        }
        Some(Kw::SET) => set::set(parser),
        Some(Kw::RESET) if parser.peek_is(Kw::PERSIST) => set::reset_persist(parser),
        Some(Kw::SHOW) => show::show(parser),
        Some(Kw::CALL) => stored_program::call(parser),
        Some(Kw::HELP) => show::help(parser),
        Some(Kw::KILL) => admin::kill(parser),
        Some(Kw::ADMIN) => admin::admin(parser),
        Some(Kw::CHECK) => admin::table_maintenance(parser, Maintenance::Check),
        Some(Kw::ANALYZE) => admin::table_maintenance(parser, Maintenance::Analyze),
        Some(Kw::OPTIMIZE) => admin::table_maintenance(parser, Maintenance::Optimize),
        Some(Kw::REPAIR) => admin::table_maintenance(parser, Maintenance::Repair),
        Some(Kw::CHECKSUM) => admin::checksum_table(parser),
        Some(Kw::FLUSH) => admin::flush(parser),
        Some(Kw::SPLIT) => split_table::split_table(parser),
        Some(Kw::LOCK) => admin::lock_tables(parser),
        Some(Kw::UNLOCK) => admin::unlock_tables(parser),
        Some(Kw::PREPARE) => prepare(parser),
        Some(Kw::EXECUTE) => execute(parser),
        Some(Kw::DEALLOCATE) => {
            parser.advance();
            parser.expect(Kw::PREPARE)?;
            let name = parser.any_name()?;
            Ok(Statement::Deallocate { name })
        }
        Some(Kw::DO) => {
            parser.advance();
            Ok(Statement::Do(parser.comma_separated(select::aliased_expression)?))
        }
        _ => unsupported::refuse_statement(parser),
    }
}

fn create(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
        return database::create_database(parser);
    }
    if parser.eat(Kw::TABLE) {
        return create_table::create_table(parser, false);
    }
    if parser.eat_all(&[Kw::TEMPORARY, Kw::TABLE]) {
        return create_table::create_table(parser, true);
    }
    if parser.is_any(&[Kw::UNIQUE, Kw::FULLTEXT, Kw::INDEX]) {
        return create_table::create_index(parser);
    }
    if parser.eat(Kw::USER) {
        return account::create_user(parser);
    }
    if parser.eat(Kw::ROLE) {
        return account::create_role(parser);
    }
    if let Some(view) = view::view(parser, false)? {
        return Ok(view);
    }
    unsupported::refuse_object(parser, "CREATE")
}

fn alter(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
        return database::alter_database(parser);
    }
    if parser.eat(Kw::TABLE) {
        return alter_table::alter_table(parser);
    }
    if parser.eat(Kw::USER) {
        return account::alter_user(parser);
    }
    if let Some(view) = view::view(parser, true)? {
        return Ok(view);
    }
    if let Some(program) = stored_program::alter(parser)? {
        return Ok(program);
    }
    unsupported::refuse_object(parser, "ALTER")
}

fn drop_object(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.eat_any(&[Kw::DATABASE, Kw::SCHEMA]).is_some() {
        let if_exists = parser.if_exists()?;
        let name = parser.database_name()?;
        return Ok(Statement::DropDatabase { name, if_exists });
    }
    let temporary = parser.eat(Kw::TEMPORARY);
    if parser.eat_any(&[Kw::TABLE, Kw::TABLES]).is_some() {
        let if_exists = parser.if_exists()?;
        let names = parser.comma_separated(Parser::object_name)?;
        parser.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
        return Ok(Statement::DropTable {
            names,
            if_exists,
            temporary,
        });
    }
    if temporary {
        return parser.fail();
    }
    if parser.eat(Kw::INDEX) {
        return create_table::drop_index(parser);
    }
    if parser.eat(Kw::USER) {
        return account::drop_user(parser);
    }
    if parser.eat(Kw::ROLE) {
        return account::drop_role(parser);
    }
    if parser.eat(Kw::PREPARE) {
        let name = parser.any_name()?;
        return Ok(Statement::Deallocate { name });
    }
    if let Some(kind) = unsupported::object_kind(parser) {
        return unsupported::drop_object(parser, kind);
    }
    unsupported::refuse_object(parser, "DROP")
}

fn rename(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.is(Kw::USER) {
        return account::rename_user(parser);
    }
    if parser.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
        return parser.fail();
    }
    let renames = parser.comma_separated(|parser| {
        let from = parser.object_name()?;
        parser.expect(Kw::TO)?;
        Ok((from, parser.object_name()?))
    })?;
    Ok(Statement::RenameTable(renames))
}

/// EXPLAIN and its synonyms: of a statement, or of a table's columns.
fn explain(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let analyze = parser.eat(Kw::ANALYZE);
    let mut format = None;
    if parser.is(Kw::FORMAT) && parser.peek().kind == Kind::Equal {
        parser.advance();
        parser.advance();
        let name = parser.name_or_text()?;
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
    } else if parser.is_any(&[Kw::EXTENDED, Kw::PARTITIONS]) {
        return parser.fail();
    }
    if parser.are(&[Kw::FOR, Kw::CONNECTION]) {
        if analyze {
            return Err(Error::not_supported(
                "EXPLAIN ANALYZE FOR CONNECTION",
                "use EXPLAIN FOR CONNECTION",
            ));
        }
        parser.advance();
        parser.advance();
        let connection = parser.unsigned()?;
        return Ok(Statement::ExplainConnection { format, connection });
    }
    let explains = parser.is_any(&[
        Kw::SELECT,
        Kw::INSERT,
        Kw::REPLACE,
        Kw::UPDATE,
        Kw::DELETE,
        Kw::WITH,
        Kw::TABLE,
        Kw::VALUES,
    ]);
    if !explains && parser.kind() != Kind::LeftParen {
        return show::describe_table(parser);
    }
    let statement = parser.nested(statement)?;
    Ok(Statement::Explain {
        format,
        analyze,
        statement: Box::new(statement),
    })
}

fn prepare(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let name = parser.any_name()?;
    parser.expect(Kw::FROM)?;
    let source = match parser.kind() {
        Kind::Text => PrepareSource::Text(parser.text_literal()?),
        Kind::At => PrepareSource::Variable(names::user_variable_name(parser)?),
        _ => return parser.fail(),
    };
    Ok(Statement::Prepare { name, source })
}

fn execute(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let name = parser.any_name()?;
    let using = if parser.eat(Kw::USING) {
        parser.comma_separated(names::user_variable_name)?
    } else {
        Vec::new()
    };
    Ok(Statement::Execute { name, using })
}
