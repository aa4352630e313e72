//! CREATE TABLE, CREATE and DROP INDEX: columns, indexes.

use types::{Error, Result, errno};

use super::{Parser, clauses, data_type, foreign_key, partition, primary, table_options};
use crate::ast::{
    AlterAlgorithm, AlterItem, AlterLock, AlterOptions, AutoRandomBits, CheckDefinition, ColumnDefinition,
    CreateSelect, CreateTable, DefaultClause, DuplicateRows, Expr, GeneratedClause, IndexDefinition,
    IndexKind, IndexPart, IndexType, Statement, TableElement, TypeName, UnaryOp,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The rest of CREATE TABLE, after the word TABLE.
pub fn create_table(parser: &mut Parser<'_>, temporary: bool) -> Result<Statement> {
    let if_not_exists = parser.if_not_exists()?;
    let name = parser.object_name()?;
    if parser.eat(Kw::LIKE) {
        let source = parser.object_name()?;
        return Ok(Statement::CreateTableLike {
            name,
            source,
            if_not_exists,
            temporary,
        });
    }
    let mut elements = Vec::new();
    if parser.kind() == Kind::LeftParen && parser.peek_is(Kw::LIKE) {
        parser.advance();
        parser.advance();
        let source = parser.object_name()?;
        parser.expect_kind(Kind::RightParen)?;
        return Ok(Statement::CreateTableLike {
            name,
            source,
            if_not_exists,
            temporary,
        });
    }
    if parser.kind() == Kind::LeftParen && !parser.peek_is(Kw::SELECT) {
        parser.advance();
        elements = parser.comma_separated(table_element)?;
        parser.expect_kind(Kind::RightParen)?;
    }
    let options = table_options::table_options(parser)?;
    let partitioning = partition::partitioning(parser)?.map(Box::new);
    let select = create_select(parser)?;
    let has_column = elements
        .iter()
        .any(|element| matches!(element, TableElement::Column(_)));
    if !has_column && select.is_none() {
        if !parser.at_statement_end() {
            return parser.fail();
        }
        return Err(Error::new(
            errno::ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN,
            "A table must have at least one visible column.",
        ));
    }
    Ok(Statement::CreateTable(Box::new(CreateTable {
        name,
        temporary,
        if_not_exists,
        elements,
        options,
        partitioning,
        select,
    })))
}

/// An optional `[IGNORE | REPLACE] [AS] query`.
fn create_select(parser: &mut Parser<'_>) -> Result<Option<CreateSelect>> {
    let duplicates = match parser.eat_any(&[Kw::IGNORE, Kw::REPLACE]) {
        Some(Kw::IGNORE) => DuplicateRows::LeftOut,
        Some(_) => DuplicateRows::Replacing,
        None => DuplicateRows::Refused,
    };
    let is_named = parser.eat(Kw::AS) || duplicates != DuplicateRows::Refused;
    if !is_named && !clauses::at_query(parser) && parser.kind() != Kind::LeftParen {
        return Ok(None);
    }
    Ok(Some(CreateSelect {
        query: Box::new(parser.query()?),
        duplicates,
    }))
}

fn table_element(parser: &mut Parser<'_>) -> Result<TableElement> {
    if let Some(key) = foreign_key::foreign_key(parser)? {
        return Ok(TableElement::ForeignKey(key));
    }
    if let Some(element) = index_or_constraint(parser)? {
        return Ok(element);
    }
    let name = parser.name()?;
    Ok(TableElement::Column(column_definition(parser, name)?))
}

/// An index or constraint, if one begins here.
pub fn index_or_constraint(parser: &mut Parser<'_>) -> Result<Option<TableElement>> {
    let mut constraint_name = None;
    if parser.eat(Kw::CONSTRAINT) && !parser.is_any(&[Kw::PRIMARY, Kw::UNIQUE, Kw::FOREIGN, Kw::CHECK]) {
        constraint_name = Some(parser.index_name()?);
        if !parser.is_any(&[Kw::PRIMARY, Kw::UNIQUE, Kw::FOREIGN, Kw::CHECK]) {
            return parser.fail();
        }
    }
    if parser.is(Kw::CHECK) {
        return Ok(Some(TableElement::Check(check(parser, constraint_name)?)));
    }
    refuse_constraint(parser)?;
    let kind = if parser.eat(Kw::PRIMARY) {
        parser.expect(Kw::KEY)?;
        IndexKind::Primary
    } else if parser.eat(Kw::UNIQUE) {
        parser.eat_any(&[Kw::INDEX, Kw::KEY]);
        IndexKind::Unique
    } else if parser.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
        IndexKind::Plain
    } else if parser.eat(Kw::FULLTEXT) {
        parser.eat_any(&[Kw::INDEX, Kw::KEY]);
        IndexKind::FullText
    } else {
        return Ok(None);
    };
    let name = if parser.kind() != Kind::LeftParen && !parser.is_any(&[Kw::USING, Kw::TYPE]) {
        Some(parser.index_name()?)
    } else {
        None
    };
    let name = if kind == IndexKind::Primary {
        None
    } else {
        name.or(constraint_name)
    };
    let mut index = IndexDefinition {
        kind,
        name,
        parts: Vec::new(),
        comment: String::new(),
        using: written_type(parser, kind)?,
        invisible: false,
        parser: None,
        words_of: Vec::new(),
    };
    index_parts(parser, &mut index)?;
    if kind == IndexKind::Primary {
        clustered(parser)?;
    }
    Ok(Some(TableElement::Index(index)))
}

/// `CHECK (condition) [[NOT] ENFORCED]`
fn check(parser: &mut Parser<'_>, name: Option<String>) -> Result<CheckDefinition> {
    parser.expect(Kw::CHECK)?;
    let condition = parenthesized(parser)?;
    Ok(CheckDefinition {
        name,
        condition,
        enforced: enforced(parser)?.unwrap_or(true),
    })
}

/// An optional `ENFORCED` or `NOT ENFORCED`.
pub fn enforced(parser: &mut Parser<'_>) -> Result<Option<bool>> {
    if parser.eat(Kw::ENFORCED) {
        return Ok(Some(true));
    }
    Ok(parser.eat_all(&[Kw::NOT, Kw::ENFORCED]).then_some(false))
}

/// An expression in parentheses.
fn parenthesized(parser: &mut Parser<'_>) -> Result<Expr> {
    parser.expect_kind(Kind::LeftParen)?;
    let expr = parser.expression()?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(expr)
}

fn refuse_constraint(parser: &Parser<'_>) -> Result<()> {
    if parser.is(Kw::SPATIAL) {
        return Err(Error::not_supported(
            "spatial indexes",
            "index coordinates as numbers",
        ));
    }
    Ok(())
}

/// The same for an index of any kind: a FULLTEXT index has none.
fn written_type(parser: &mut Parser<'_>, kind: IndexKind) -> Result<Option<IndexType>> {
    match kind {
        IndexKind::FullText => Ok(None),
        _ => index_type(parser),
    }
}

/// An optional `USING BTREE | HASH`.
fn index_type(parser: &mut Parser<'_>) -> Result<Option<IndexType>> {
    if parser.eat_any(&[Kw::USING, Kw::TYPE]).is_none() {
        return Ok(None);
    }
    match parser.eat_any(&[Kw::BTREE, Kw::HASH, Kw::RTREE]) {
        Some(Kw::RTREE) => Err(Error::not_supported(
            "spatial indexes",
            "index coordinates as numbers",
        )),
        Some(Kw::HASH) => Ok(Some(IndexType::Hash)),
        Some(_) => Ok(Some(IndexType::BTree)),
        None => parser.fail(),
    }
}

/// `(column[(length)] [ASC | DESC], ...) options`
fn index_parts(parser: &mut Parser<'_>, index: &mut IndexDefinition) -> Result<()> {
    parser.expect_kind(Kind::LeftParen)?;
    index.parts = parser.comma_separated(index_part)?;
    parser.expect_kind(Kind::RightParen)?;
    index_options(parser, index)?;
    let has_no_order = index.using == Some(IndexType::Hash) || index.kind == IndexKind::FullText;
    if has_no_order && index.parts.iter().any(|part| part.ordered) {
        return Err(Error::new(
            errno::ER_WRONG_USAGE,
            "Incorrect usage of spatial/fulltext/hash index and explicit index order",
        ));
    }
    Ok(())
}

fn index_options(parser: &mut Parser<'_>, index: &mut IndexDefinition) -> Result<()> {
    loop {
        if parser.eat(Kw::COMMENT) {
            index.comment = parser.comment()?;
        } else if parser.eat(Kw::KEY_BLOCK_SIZE) {
            parser.eat_kind(Kind::Equal);
            parser.unsigned()?;
        } else if parser.is_any(&[Kw::USING, Kw::TYPE]) && index.kind != IndexKind::FullText {
            index.using = index_type(parser)?;
        } else if parser.eat(Kw::INVISIBLE) {
            index.invisible = true;
        } else if parser.is_any(&[Kw::ENGINE_ATTRIBUTE, Kw::SECONDARY_ENGINE_ATTRIBUTE]) {
            return Err(Error::not_supported("engine attributes", "leave them out"));
        } else if index.kind == IndexKind::FullText && parser.eat_all(&[Kw::WITH, Kw::PARSER]) {
            index.parser = Some(parser.name()?);
        } else if parser.eat(Kw::VISIBLE) {
            index.invisible = false;
        } else {
            return Ok(());
        }
    }
}

fn index_part(parser: &mut Parser<'_>) -> Result<IndexPart> {
    if parser.kind() == Kind::LeftParen {
        let expression = parenthesized(parser)?;
        let order = parser.eat_any(&[Kw::ASC, Kw::DESC]);
        return Ok(IndexPart {
            column: String::new(),
            expression: Some(expression),
            prefix: None,
            descending: order == Some(Kw::DESC),
            ordered: order.is_some(),
        });
    }
    let column = parser.name()?;
    let mut prefix = None;
    if parser.eat_kind(Kind::LeftParen) {
        let length = parser.unsigned_32()?;
        if length == 0 {
            return Err(Error::new(
                errno::ER_KEY_PART_0,
                format!("Key part '{column}' length cannot be 0"),
            ));
        }
        prefix = Some(length);
        parser.expect_kind(Kind::RightParen)?;
    }
    let order = parser.eat_any(&[Kw::ASC, Kw::DESC]);
    Ok(IndexPart {
        column,
        expression: None,
        prefix,
        descending: order == Some(Kw::DESC),
        ordered: order.is_some(),
    })
}

/// A column's definition after its name.
pub fn column_definition(parser: &mut Parser<'_>, name: String) -> Result<ColumnDefinition> {
    let ty = data_type::data_type(parser)?;
    let is_serial = ty.name == TypeName::Serial;
    let mut column = ColumnDefinition {
        name,
        ty,
        nullable: is_serial.then_some(false),
        says_null: false,
        default: None,
        on_update: None,
        auto_increment: is_serial,
        auto_random: None,
        primary: false,
        unique: is_serial,
        comment: None,
        generated: None,
        checks: Vec::new(),
        invisible: false,
        shown: Vec::new(),
    };
    if parser.is(Kw::COLLATE) {
        column_attribute(parser, &mut column)?;
    }
    if parser.is(Kw::GENERATED) || parser.is(Kw::AS) {
        column.generated = Some(generated_clause(parser)?);
    }
    while column_attribute(parser, &mut column)? {}
    foreign_key::column_references(parser)?;
    Ok(column)
}

/// Reads one attribute. Returns false if none follows. Attributes may come in any order.
fn column_attribute(parser: &mut Parser<'_>, column: &mut ColumnDefinition) -> Result<bool> {
    if parser.eat(Kw::NULL) {
        (column.nullable, column.says_null) = (Some(true), true);
    } else if parser.eat_all(&[Kw::NOT, Kw::NULL]) {
        column.nullable = Some(false);
    } else if parser.eat(Kw::DEFAULT) {
        let default = default_clause(parser)?;
        let is_expression = |default: &DefaultClause| matches!(default, DefaultClause::Expression(_));
        if let Some(before) = &column.default
            && (is_expression(before) || is_expression(&default))
        {
            return Err(Error::new(
                errno::ER_INVALID_DEFAULT,
                format!("Invalid default value for '{}'", column.name),
            ));
        }
        column.default = Some(default);
    } else if parser.eat_all(&[Kw::ON, Kw::UPDATE]) {
        column.on_update = match now(parser)? {
            Some(precision) => Some(precision),
            None => return parser.fail(),
        };
    } else if parser.eat(Kw::AUTO_INCREMENT) {
        column.auto_increment = true;
        column.nullable = Some(false);
    } else if parser.eat(Kw::AUTO_RANDOM) {
        column.auto_random = Some(auto_random_bits(parser)?);
    } else if parser.eat_all(&[Kw::SERIAL, Kw::DEFAULT, Kw::VALUE]) {
        if column.generated.is_some() {
            return Err(Error::new(
                errno::ER_WRONG_USAGE,
                "Incorrect usage of SERIAL DEFAULT VALUE and generated column",
            ));
        }
        column.auto_increment = true;
        column.unique = true;
        column.nullable = Some(false);
    } else if parser.eat_all(&[Kw::PRIMARY, Kw::KEY]) || parser.eat(Kw::KEY) {
        column.primary = true;
        clustered(parser)?;
    } else if parser.eat(Kw::UNIQUE) {
        parser.eat(Kw::KEY);
        column.unique = true;
    } else if parser.eat(Kw::COMMENT) {
        column.comment = Some(parser.comment()?);
    } else if parser.eat(Kw::COLLATE) {
        if column.ty.collation.is_some() {
            let near = parser.near(parser.start());
            return Err(Error::new(
                errno::ER_PARSE_ERROR,
                format!("Multiple COLLATE clauses {near}"),
            ));
        }
        column.ty.collation = Some(if parser.eat(Kw::BINARY) {
            "binary".into()
        } else {
            parser.name_or_text()?
        });
    } else if parser.eat(Kw::COLUMN_FORMAT) {
        shown_attribute(
            parser,
            &mut column.shown,
            Kw::COLUMN_FORMAT,
            &[Kw::FIXED, Kw::DYNAMIC],
        )?;
    } else if parser.eat(Kw::STORAGE) {
        shown_attribute(parser, &mut column.shown, Kw::STORAGE, &[Kw::DISK, Kw::MEMORY])?;
    } else if parser.is_any(&[Kw::CONSTRAINT, Kw::CHECK]) {
        let name = constraint_name(parser)?;
        column.checks.push(check(parser, name)?);
    } else if parser.eat(Kw::VISIBLE) {
        column.invisible = false;
    } else if parser.eat(Kw::INVISIBLE) {
        column.invisible = true;
    } else {
        return refuse_column_attribute(parser);
    }
    Ok(true)
}

/// The value of an attribute that InnoDB only shows.
fn shown_attribute(
    parser: &mut Parser<'_>,
    shown: &mut Vec<(String, String)>,
    name: Kw,
    values: &[Kw],
) -> Result<()> {
    let value = parser.word().to_uppercase();
    if parser.eat_any(values).is_none() && !parser.eat(Kw::DEFAULT) {
        return parser.fail();
    }
    shown.push((name.text().to_owned(), value));
    Ok(())
}

/// `CONSTRAINT [name]` before a CHECK of a column.
fn constraint_name(parser: &mut Parser<'_>) -> Result<Option<String>> {
    if !parser.eat(Kw::CONSTRAINT) || parser.is(Kw::CHECK) {
        return Ok(None);
    }
    parser.index_name().map(Some)
}

/// `[GENERATED ALWAYS] AS (value) [VIRTUAL | STORED]`
fn generated_clause(parser: &mut Parser<'_>) -> Result<GeneratedClause> {
    if parser.eat(Kw::GENERATED) {
        parser.expect(Kw::ALWAYS)?;
    }
    parser.expect(Kw::AS)?;
    let value = parenthesized(parser)?;
    let stored = parser.eat_any(&[Kw::VIRTUAL, Kw::STORED]) == Some(Kw::STORED);
    Ok(GeneratedClause { value, stored })
}

/// `[(shard bits[, range bits])]` of AUTO_RANDOM.
fn auto_random_bits(parser: &mut Parser<'_>) -> Result<AutoRandomBits> {
    let mut bits = AutoRandomBits::default();
    if parser.eat_kind(Kind::LeftParen) {
        bits.shard = Some(parser.unsigned()?);
        if parser.eat_kind(Kind::Comma) {
            bits.range = Some(parser.unsigned()?);
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(bits)
}

/// TiDB's `CLUSTERED` after a primary key. It changes nothing, because every primary key of StemDB is
/// clustered.
fn clustered(parser: &mut Parser<'_>) -> Result<()> {
    if parser.is(Kw::NONCLUSTERED) {
        return Err(Error::not_supported(
            "NONCLUSTERED primary keys",
            "rows are stored by their primary key: make it a UNIQUE KEY of NOT NULL columns, and leave PRIMARY KEY out",
        ));
    }
    parser.eat(Kw::CLUSTERED);
    Ok(())
}

fn refuse_column_attribute(parser: &Parser<'_>) -> Result<bool> {
    if parser.is_any(&[Kw::ENGINE_ATTRIBUTE, Kw::SECONDARY_ENGINE_ATTRIBUTE, Kw::SRID]) {
        return Err(Error::not_supported(parser.word().to_uppercase(), "leave it out"));
    }
    if parser.are(&[Kw::NOT, Kw::SECONDARY]) {
        return Err(Error::not_supported("NOT SECONDARY", "leave it out"));
    }
    Ok(false)
}

/// The value after DEFAULT: a literal, the current time, or an expression in parentheses.
pub fn default_clause(parser: &mut Parser<'_>) -> Result<DefaultClause> {
    if let Some(precision) = now(parser)? {
        return Ok(DefaultClause::Now(precision));
    }
    if parser.kind() == Kind::LeftParen {
        return parenthesized(parser).map(DefaultClause::Expression);
    }
    let sign = match parser.kind() {
        Kind::Minus => Some(true),
        Kind::Plus => Some(false),
        _ => None,
    };
    if sign.is_some() {
        parser.advance();
        if !matches!(parser.kind(), Kind::Integer | Kind::Decimal | Kind::Float) {
            return parser.fail();
        }
    }
    let is_literal = matches!(
        parser.kind(),
        Kind::Integer
            | Kind::Decimal
            | Kind::Float
            | Kind::Text
            | Kind::NationalText
            | Kind::Hex
            | Kind::Bits
    ) || parser.is_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE])
        || (parser.is_any(&[Kw::DATE, Kw::TIME, Kw::TIMESTAMP]) && parser.peek().kind == Kind::Text)
        || (parser.kind() == Kind::Word && parser.word().starts_with('_'));
    if !is_literal {
        return parser.fail();
    }
    // A sign is accepted only before a number, which has been checked. Anything else here is one operand
    // without operators: COLLATE after it is an attribute of the column.
    let literal = primary::primary(parser)?;
    Ok(DefaultClause::Literal(match (sign, literal) {
        (Some(true), literal @ Expr::Number(_)) => Expr::Unary {
            op: UnaryOp::Minus,
            operand: Box::new(literal),
        },
        (_, literal) => literal,
    }))
}

/// An optional `CURRENT_TIMESTAMP[(n)]` or synonym. Returns its precision.
fn now(parser: &mut Parser<'_>) -> Result<Option<u8>> {
    let is_call = parser.peek().kind == Kind::LeftParen;
    let is_word = parser.is_any(&[Kw::CURRENT_TIMESTAMP, Kw::LOCALTIME, Kw::LOCALTIMESTAMP]);
    let is_now = is_word || (parser.is(Kw::NOW) && is_call);
    if !is_now {
        return Ok(None);
    }
    parser.advance();
    let mut precision = 0;
    if parser.eat_kind(Kind::LeftParen) {
        if parser.kind() == Kind::Integer {
            precision = u8::try_from(parser.unsigned_32()?).unwrap_or(u8::MAX);
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(Some(precision))
}

/// `CREATE [UNIQUE] INDEX name ON table (...)`
pub fn create_index(parser: &mut Parser<'_>) -> Result<Statement> {
    let kind = match parser.eat_any(&[Kw::UNIQUE, Kw::FULLTEXT]) {
        Some(Kw::UNIQUE) => IndexKind::Unique,
        Some(_) => IndexKind::FullText,
        None => IndexKind::Plain,
    };
    parser.expect(Kw::INDEX)?;
    let name = parser.index_name()?;
    let using = written_type(parser, kind)?;
    parser.expect(Kw::ON)?;
    let table = parser.object_name()?;
    let mut index = IndexDefinition {
        kind,
        name: Some(name),
        parts: Vec::new(),
        comment: String::new(),
        using,
        invisible: false,
        parser: None,
        words_of: Vec::new(),
    };
    index_parts(parser, &mut index)?;
    Ok(Statement::AlterTable {
        name: table,
        items: vec![AlterItem::AddIndex(index)],
        options: algorithm_and_lock(parser)?,
    })
}

/// `DROP INDEX name ON table`, after the word INDEX.
pub fn drop_index(parser: &mut Parser<'_>) -> Result<Statement> {
    let index = if parser.eat(Kw::PRIMARY) {
        "PRIMARY".to_string()
    } else {
        parser.name()?
    };
    parser.expect(Kw::ON)?;
    let table = parser.object_name()?;
    let options = algorithm_and_lock(parser)?;
    let item = if index.eq_ignore_ascii_case("PRIMARY") {
        AlterItem::DropPrimaryKey
    } else {
        AlterItem::DropIndex(index)
    };
    Ok(Statement::AlterTable {
        name: table,
        items: vec![item],
        options,
    })
}

/// ALGORITHM and LOCK of CREATE INDEX and DROP INDEX, each once, in any order.
fn algorithm_and_lock(parser: &mut Parser<'_>) -> Result<AlterOptions> {
    let (mut algorithm, mut lock) = (None, None);
    loop {
        if algorithm.is_none() && parser.eat(Kw::ALGORITHM) {
            algorithm = Some(alter_algorithm(parser)?);
        } else if lock.is_none() && parser.eat(Kw::LOCK) {
            lock = Some(alter_lock(parser)?);
        } else {
            return Ok(AlterOptions {
                algorithm: algorithm.unwrap_or_default(),
                lock: lock.unwrap_or_default(),
                is_index_statement: true,
                ..AlterOptions::default()
            });
        }
    }
}

/// `[=] algorithm`
pub fn alter_algorithm(parser: &mut Parser<'_>) -> Result<AlterAlgorithm> {
    parser.eat_kind(Kind::Equal);
    let name = way_name(parser)?;
    match name.to_ascii_uppercase().as_str() {
        "DEFAULT" => Ok(AlterAlgorithm::Default),
        "INSTANT" => Ok(AlterAlgorithm::Instant),
        "INPLACE" => Ok(AlterAlgorithm::Inplace),
        "COPY" => Ok(AlterAlgorithm::Copy),
        _ => Err(Error::new(
            errno::ER_UNKNOWN_ALTER_ALGORITHM,
            format!("Unknown ALGORITHM '{name}'"),
        )),
    }
}

/// `[=] lock`
pub fn alter_lock(parser: &mut Parser<'_>) -> Result<AlterLock> {
    parser.eat_kind(Kind::Equal);
    let name = way_name(parser)?;
    match name.to_ascii_uppercase().as_str() {
        "DEFAULT" => Ok(AlterLock::Default),
        "NONE" => Ok(AlterLock::None),
        "SHARED" => Ok(AlterLock::Shared),
        "EXCLUSIVE" => Ok(AlterLock::Exclusive),
        _ => Err(Error::new(
            errno::ER_UNKNOWN_ALTER_LOCK,
            format!("Unknown LOCK type '{name}'"),
        )),
    }
}

fn way_name(parser: &mut Parser<'_>) -> Result<String> {
    match parser.eat(Kw::DEFAULT) {
        true => Ok("DEFAULT".to_owned()),
        false => parser.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::NumberText;
    use crate::parse_one;
    use crate::testing::sql_mode;

    fn create(text: &str) -> CreateTable {
        match parse_one(text, sql_mode()).unwrap().statement {
            Statement::CreateTable(create) => *create,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn attributes_come_in_any_order() {
        let table = create(
            "create table t (a int comment 'x' unique not null default -5 key, b datetime(3) on update now(3) default now(3), \
             constraint c unique key (a, b(10)), key using btree (b) comment 'i')",
        );
        let TableElement::Column(a) = &table.elements[0] else {
            panic!()
        };
        assert!(a.primary && a.unique && a.nullable == Some(false));
        assert_eq!(
            a.default,
            Some(DefaultClause::Literal(Expr::Unary {
                op: UnaryOp::Minus,
                operand: Box::new(Expr::Number(NumberText::Integer("5".into())))
            }))
        );
        let TableElement::Column(b) = &table.elements[1] else {
            panic!()
        };
        assert_eq!(
            (b.default.clone(), b.on_update),
            (Some(DefaultClause::Now(3)), Some(3))
        );
        let TableElement::Index(c) = &table.elements[2] else {
            panic!()
        };
        assert_eq!((c.name.as_deref(), c.parts[1].prefix), (Some("c"), Some(10)));
        let TableElement::Index(d) = &table.elements[3] else {
            panic!()
        };
        assert_eq!((d.name.as_deref(), d.comment.as_str()), (None, "i"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (text, code) in [
            ("create table t (a enum())", 1064),
            ("create table t (a set('x', 1))", 1064),
            ("create table t (a point)", 1235),
            (
                "create table t (a int, foreign key (a) references u(a) on delete cascade on delete cascade)",
                1064,
            ),
            ("create temporary t (a int)", 1064),
            ("alter temporary table t add b int", 1064),
            ("create table t", 4028),
            ("create table t ()", 1064),
            ("create table t (a)", 1064),
            ("create table t (a int,)", 1064),
            ("create table t (a double(5))", 1064),
            ("create table t (a varchar)", 1064),
            ("create table t (a int default b)", 1064),
        ] {
            let error = parse_one(text, sql_mode()).unwrap_err();
            assert_eq!(error.code, code, "{text}: {}", error.message);
        }
    }
}
