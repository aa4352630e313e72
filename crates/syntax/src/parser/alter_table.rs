//! ALTER TABLE.

use types::{Error, Result, errno};

use super::{Parser, create_table, database, foreign_key, partition, table_options};
use crate::ast::{
    AlterItem, AlterOptions, ColumnPosition, DatabaseOptions, DefaultClause, PartitionAction, Statement,
    TableElement, TableOptions,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// TABLE has been taken.
pub fn alter_table(parser: &mut Parser<'_>) -> Result<Statement> {
    let name = parser.object_name()?;
    let mut items = Vec::new();
    let mut options = AlterOptions::default();
    if parser.is(Kw::REMOVE)
        && let Some(item) = partition::partition_action(parser)?
    {
        items.push(item);
    } else if !parser.at_statement_end() && !parser.is(Kw::PARTITION) {
        loop {
            // It follows without a comma.
            if parser.is(Kw::REMOVE) {
                return parser.fail();
            }
            alter_item(parser, &mut items, &mut options)?;
            if !parser.eat_kind(Kind::Comma) {
                break;
            }
        }
    }
    // PARTITION BY follows the other items without a comma, like REMOVE PARTITIONING.
    if let Some(partitioning) = partition::partitioning(parser)? {
        items.push(AlterItem::Partition(Box::new(PartitionAction::By(partitioning))));
    } else if parser.is(Kw::REMOVE)
        && let Some(item) = partition::partition_action(parser)?
    {
        items.push(item);
    }
    if options.validation.is_some() && !items.iter().any(changes_column) {
        return Err(Error::new(
            errno::ER_WRONG_USAGE,
            "Incorrect usage of ALTER and WITH VALIDATION",
        ));
    }
    Ok(Statement::AlterTable { name, items, options })
}

fn alter_item(parser: &mut Parser<'_>, items: &mut Vec<AlterItem>, options: &mut AlterOptions) -> Result<()> {
    if parser.eat(Kw::ADD) {
        return add(parser, items);
    }
    if let Some(item) = partition::partition_action(parser)? {
        items.push(item);
        return Ok(());
    }
    if parser.eat(Kw::DROP) {
        items.push(drop_item(parser)?);
    } else if parser.eat(Kw::MODIFY) {
        parser.eat(Kw::COLUMN);
        let name = parser.name()?;
        items.push(modify(parser, name.clone(), name)?);
    } else if parser.eat(Kw::CHANGE) {
        parser.eat(Kw::COLUMN);
        let from = parser.name()?;
        let to = parser.name()?;
        items.push(modify(parser, from, to)?);
    } else if parser.eat(Kw::ALTER) {
        items.push(alter_column(parser)?);
    } else if parser.eat(Kw::RENAME) {
        items.push(rename_item(parser)?);
    } else if parser.eat(Kw::CONVERT) {
        parser.expect(Kw::TO)?;
        let mut options = DatabaseOptions::default();
        // That of the database, which is also the one without a name.
        let _ = parser.eat_all(&[Kw::CHARACTER, Kw::SET, Kw::DEFAULT])
            || parser.eat_all(&[Kw::CHAR, Kw::SET, Kw::DEFAULT])
            || parser.eat_all(&[Kw::CHARSET, Kw::DEFAULT]);
        while database::charset_or_collation(parser, &mut options.charset, &mut options.collation)? {}
        items.push(AlterItem::ConvertTo(options));
    } else if parser.eat(Kw::ALGORITHM) {
        options.algorithm = create_table::alter_algorithm(parser)?;
    } else if parser.eat(Kw::LOCK) {
        options.lock = create_table::alter_lock(parser)?;
    } else if parser.eat(Kw::FORCE) {
        items.push(AlterItem::Force);
    } else if let Some(validates) = validation(parser) {
        options.validation = Some(validates);
    } else if parser.is_any(&[Kw::DISABLE, Kw::ENABLE]) {
        parser.advance();
        parser.expect(Kw::KEYS)?;
        items.push(AlterItem::Keys);
    } else if parser.eat_all(&[Kw::ORDER, Kw::BY]) {
        parser.comma_separated(|parser| {
            parser.object_name()?;
            parser.eat_any(&[Kw::ASC, Kw::DESC]);
            Ok(())
        })?;
        items.push(AlterItem::OrderBy);
    } else {
        items.push(AlterItem::Options(alter_table_options(parser)?));
    }
    Ok(())
}

fn validation(parser: &mut Parser<'_>) -> Option<bool> {
    let without = parser.eat_all(&[Kw::WITHOUT, Kw::VALIDATION]);
    (without || parser.eat_all(&[Kw::WITH, Kw::VALIDATION])).then_some(!without)
}

/// Only blanks separate options. A comma begins the next item.
fn alter_table_options(parser: &mut Parser<'_>) -> Result<TableOptions> {
    if parser.are(&[Kw::START, Kw::TRANSACTION]) {
        return Err(Error::new(
            3979,
            "START TRANSACTION clause cannot be used with ALTER TABLE command.",
        ));
    }
    let mut options = TableOptions::default();
    if !table_options::table_option(parser, &mut options)? {
        if parser.is_any(&[Kw::DISCARD, Kw::IMPORT, Kw::SECONDARY_LOAD, Kw::SECONDARY_UNLOAD]) {
            return Err(Error::not_supported(
                format!("ALTER TABLE ... {}", parser.word().to_uppercase()),
                "copy rows with INSERT ... SELECT, stemdb export and import",
            ));
        }
        return parser.fail();
    }
    while table_options::table_option(parser, &mut options)? {}
    Ok(options)
}

fn add(parser: &mut Parser<'_>, items: &mut Vec<AlterItem>) -> Result<()> {
    if parser.is(Kw::PARTITION) {
        items.push(partition::add_partition(parser)?);
        return Ok(());
    }
    if let Some(key) = foreign_key::foreign_key(parser)? {
        items.push(AlterItem::AddForeignKey(key));
        return Ok(());
    }
    if let Some(element) = create_table::index_or_constraint(parser)? {
        items.push(added(element));
        return Ok(());
    }
    parser.eat(Kw::COLUMN);
    if parser.eat_kind(Kind::LeftParen) {
        let columns = parser.comma_separated(|parser| {
            if let Some(key) = foreign_key::foreign_key(parser)? {
                return Ok(AlterItem::AddForeignKey(key));
            }
            if let Some(element) = create_table::index_or_constraint(parser)? {
                return Ok(added(element));
            }
            let name = parser.name()?;
            Ok(AlterItem::AddColumn(
                create_table::column_definition(parser, name)?,
                ColumnPosition::Last,
            ))
        })?;
        parser.expect_kind(Kind::RightParen)?;
        items.extend(columns);
        return Ok(());
    }
    let name = parser.name()?;
    let column = create_table::column_definition(parser, name)?;
    let position = position(parser)?.unwrap_or(ColumnPosition::Last);
    items.push(AlterItem::AddColumn(column, position));
    Ok(())
}

fn position(parser: &mut Parser<'_>) -> Result<Option<ColumnPosition>> {
    if parser.eat(Kw::FIRST) {
        return Ok(Some(ColumnPosition::First));
    }
    if parser.eat(Kw::AFTER) {
        return Ok(Some(ColumnPosition::After(parser.name()?)));
    }
    Ok(None)
}

fn modify(parser: &mut Parser<'_>, name: String, new_name: String) -> Result<AlterItem> {
    let definition = create_table::column_definition(parser, new_name)?;
    let position = position(parser)?;
    Ok(AlterItem::ModifyColumn {
        name,
        definition,
        position,
    })
}

fn drop_item(parser: &mut Parser<'_>) -> Result<AlterItem> {
    if parser.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
        let name = if parser.eat(Kw::PRIMARY) {
            "PRIMARY".to_string()
        } else {
            parser.name()?
        };
        return Ok(if name.eq_ignore_ascii_case("PRIMARY") {
            AlterItem::DropPrimaryKey
        } else {
            AlterItem::DropIndex(name)
        });
    }
    if parser.eat(Kw::PRIMARY) {
        parser.expect(Kw::KEY)?;
        return Ok(AlterItem::DropPrimaryKey);
    }
    if parser.eat_all(&[Kw::FOREIGN, Kw::KEY]) {
        return Ok(AlterItem::DropForeignKey(parser.name()?));
    }
    if parser.eat(Kw::CHECK) {
        return parser.name().map(AlterItem::DropCheck);
    }
    if parser.eat(Kw::CONSTRAINT) {
        let name = parser.name()?;
        return Ok(match name.eq_ignore_ascii_case("PRIMARY") {
            true => AlterItem::DropPrimaryKey,
            false => AlterItem::DropConstraint(name),
        });
    }
    if parser.is(Kw::PARTITION) {
        return partition::drop_partition(parser);
    }
    parser.eat(Kw::COLUMN);
    let name = parser.name()?;
    parser.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
    Ok(AlterItem::DropColumn(name))
}

fn alter_column(parser: &mut Parser<'_>) -> Result<AlterItem> {
    if parser.eat(Kw::INDEX) {
        let index = parser.name()?;
        return match parser.eat_any(&[Kw::VISIBLE, Kw::INVISIBLE]) {
            Some(written) => Ok(AlterItem::SetIndexVisibility {
                index,
                invisible: written == Kw::INVISIBLE,
            }),
            None => parser.fail(),
        };
    }
    if let Some(kind) = parser.eat_any(&[Kw::CHECK, Kw::CONSTRAINT]) {
        let name = parser.name()?;
        return match create_table::enforced(parser)? {
            Some(enforced) => Ok(AlterItem::AlterCheck {
                name,
                enforced,
                of_any_kind: kind == Kw::CONSTRAINT,
            }),
            None => parser.fail(),
        };
    }
    parser.eat(Kw::COLUMN);
    let name = parser.name()?;
    if parser.eat_all(&[Kw::DROP, Kw::DEFAULT]) {
        return Ok(AlterItem::SetDefault(name, None));
    }
    parser.expect(Kw::SET)?;
    if let Some(written) = parser.eat_any(&[Kw::VISIBLE, Kw::INVISIBLE]) {
        return Ok(AlterItem::SetColumnVisibility {
            column: name,
            invisible: written == Kw::INVISIBLE,
        });
    }
    parser.expect(Kw::DEFAULT)?;
    // Unlike in a column's definition, a literal in parentheses is a literal.
    let default = match create_table::default_clause(parser)? {
        DefaultClause::Expression(literal) if literal.is_literal() => DefaultClause::Literal(literal),
        other => other,
    };
    Ok(AlterItem::SetDefault(name, Some(default)))
}

fn rename_item(parser: &mut Parser<'_>) -> Result<AlterItem> {
    if parser.eat(Kw::COLUMN) {
        let from = parser.name()?;
        parser.expect(Kw::TO)?;
        return Ok(AlterItem::RenameColumn(from, parser.name()?));
    }
    if parser.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
        let from = parser.name()?;
        parser.expect(Kw::TO)?;
        return Ok(AlterItem::RenameIndex(from, parser.index_name()?));
    }
    parser.eat_any(&[Kw::TO, Kw::AS]);
    parser.eat_kind(Kind::Equal);
    Ok(AlterItem::RenameTable(parser.object_name()?))
}

/// Whether a column is added or changed, generated or not.
fn changes_column(item: &AlterItem) -> bool {
    matches!(
        item,
        AlterItem::AddColumn(..) | AlterItem::ModifyColumn { .. } | AlterItem::RenameColumn(..)
    )
}

/// `ADD element`
fn added(element: TableElement) -> AlterItem {
    match element {
        TableElement::Column(column) => AlterItem::AddColumn(column, ColumnPosition::Last),
        TableElement::Index(index) => AlterItem::AddIndex(index),
        TableElement::Check(check) => AlterItem::AddCheck(check),
        TableElement::ForeignKey(key) => AlterItem::AddForeignKey(key),
    }
}
