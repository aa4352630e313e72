//! PARTITION BY, and the actions of ALTER TABLE on partitions.

use types::{Error, Result};

use super::Parser;
use crate::ast::{
    AlterItem, Maintenance, PartitionAction, PartitionBound, PartitionBy, PartitionDefinition,
    PartitionNames, PartitionOptions, PartitionValues, Partitioning, SubpartitionDefinition, Subpartitioning,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// An optional `PARTITION BY ...`.
pub fn partitioning(parser: &mut Parser<'_>) -> Result<Option<Partitioning>> {
    if !parser.is(Kw::PARTITION) || !parser.peek_is(Kw::BY) {
        return Ok(None);
    }
    parser.advance();
    parser.advance();
    let by = partition_by(parser)?;
    let count = match parser.eat(Kw::PARTITIONS) {
        true => Some(parser.unsigned()?),
        false => None,
    };
    let subpartitioning = match parser.eat(Kw::SUBPARTITION) {
        true => Some(subpartitioning(parser)?),
        false => None,
    };
    let partitions = match parser.kind() == Kind::LeftParen {
        true => partition_definitions(parser, &by, count, subpartitioning.as_ref())?,
        false => Vec::new(),
    };
    Ok(Some(Partitioning {
        by,
        count,
        subpartitioning,
        partitions,
    }))
}

fn partition_by(parser: &mut Parser<'_>) -> Result<PartitionBy> {
    if parser.eat(Kw::RANGE) {
        return match parser.eat(Kw::COLUMNS) {
            true => partition_columns(parser).map(PartitionBy::RangeColumns),
            false => partition_function(parser).map(PartitionBy::Range),
        };
    }
    if parser.eat(Kw::LIST) {
        return match parser.eat(Kw::COLUMNS) {
            true => partition_columns(parser).map(PartitionBy::ListColumns),
            false => partition_function(parser).map(PartitionBy::List),
        };
    }
    hash_or_key(parser)
}

fn hash_or_key(parser: &mut Parser<'_>) -> Result<PartitionBy> {
    let linear = parser.eat(Kw::LINEAR);
    if parser.eat(Kw::HASH) {
        let expr = partition_function(parser)?;
        return Ok(PartitionBy::Hash { linear, expr });
    }
    parser.expect(Kw::KEY)?;
    let mut algorithm = None;
    if parser.eat(Kw::ALGORITHM) {
        parser.expect_kind(Kind::Equal)?;
        let start = parser.start();
        algorithm = match parser.unsigned()? {
            number @ (1 | 2) => Some(number),
            _ => return Err(parser.error_at(start)),
        };
    }
    let columns = match parser.kind() == Kind::LeftParen && parser.peek().kind == Kind::RightParen {
        true => {
            parser.advance();
            parser.advance();
            Vec::new()
        }
        false => partition_columns(parser)?,
    };
    Ok(PartitionBy::Key {
        linear,
        algorithm,
        columns,
    })
}

fn subpartitioning(parser: &mut Parser<'_>) -> Result<Subpartitioning> {
    parser.expect(Kw::BY)?;
    let by = hash_or_key(parser)?;
    let count = match parser.eat(Kw::SUBPARTITIONS) {
        true => Some(parser.unsigned()?),
        false => None,
    };
    Ok(Subpartitioning { by, count })
}

fn partition_function(parser: &mut Parser<'_>) -> Result<crate::ast::Expr> {
    parser.expect_kind(Kind::LeftParen)?;
    let expr = parser.expression()?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(expr)
}

fn partition_columns(parser: &mut Parser<'_>) -> Result<Vec<String>> {
    parser.expect_kind(Kind::LeftParen)?;
    let columns = parser.comma_separated(Parser::name)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(columns)
}

/// The list of PARTITION BY. MySQL's parser compares how many partitions and subpartitions are listed with
/// the numbers given.
fn partition_definitions(
    parser: &mut Parser<'_>,
    by: &PartitionBy,
    count: Option<u64>,
    sub: Option<&Subpartitioning>,
) -> Result<Vec<PartitionDefinition>> {
    let start = parser.start();
    let width = by.columns().map(<[String]>::len);
    let partitions = listed_partitions(parser, width)?;
    if count.is_some_and(|count| count != partitions.len() as u64) {
        return Err(parser.error_at(start));
    }
    let subpartitions = |partition: &PartitionDefinition| partition.subpartitions.len();
    let wanted = match sub.and_then(|sub| sub.count) {
        Some(count) => count as usize,
        None => partitions.first().map_or(0, subpartitions),
    };
    let is_other = |p: &PartitionDefinition| match sub.and_then(|sub| sub.count) {
        // If their number is given, they need not be listed.
        Some(_) => !p.subpartitions.is_empty() && subpartitions(p) != wanted,
        None => subpartitions(p) != wanted,
    };
    if sub.is_some() && partitions.iter().any(is_other) {
        return Err(parser.error_at(start));
    }
    Ok(partitions)
}

/// `(PARTITION ..., ...)`. `width`: how many columns the values have, if the partitioning is by columns.
fn listed_partitions(parser: &mut Parser<'_>, width: Option<usize>) -> Result<Vec<PartitionDefinition>> {
    parser.expect_kind(Kind::LeftParen)?;
    let partitions = parser.comma_separated(|parser| partition_definition(parser, width))?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(partitions)
}

fn partition_definition(parser: &mut Parser<'_>, width: Option<usize>) -> Result<PartitionDefinition> {
    parser.expect(Kw::PARTITION)?;
    let name = parser.name()?;
    let values = partition_values(parser, width)?;
    let options = partition_options(parser)?;
    let mut subpartitions = Vec::new();
    if parser.eat_kind(Kind::LeftParen) {
        subpartitions = parser.comma_separated(|parser| {
            parser.expect(Kw::SUBPARTITION)?;
            Ok(SubpartitionDefinition {
                name: parser.name_or_text()?,
                options: partition_options(parser)?,
            })
        })?;
        parser.expect_kind(Kind::RightParen)?;
    }
    Ok(PartitionDefinition {
        name,
        values,
        options,
        subpartitions,
    })
}

fn partition_values(parser: &mut Parser<'_>, width: Option<usize>) -> Result<PartitionValues> {
    if !parser.eat(Kw::VALUES) {
        return Ok(PartitionValues::None);
    }
    if parser.eat(Kw::LESS) {
        parser.expect(Kw::THAN)?;
        let start = parser.start();
        if parser.eat(Kw::MAXVALUE) {
            return match width {
                Some(2..) => Err(parser.error_at(start)),
                _ => Ok(PartitionValues::LessThanMaxvalue),
            };
        }
        let bounds = partition_bounds(parser)?;
        if width.is_some_and(|width| width != bounds.len()) {
            return Err(parser.error_at(start));
        }
        return Ok(PartitionValues::LessThan(bounds));
    }
    parser.expect(Kw::IN)?;
    parser.expect_kind(Kind::LeftParen)?;
    let start = parser.start();
    let tuples = parser.kind() == Kind::LeftParen && width.is_none_or(|width| width > 1);
    let values = parser.comma_separated(|parser| match tuples {
        true => partition_bounds(parser),
        false => Ok(vec![partition_bound(parser)?]),
    })?;
    parser.expect_kind(Kind::RightParen)?;
    let is_wrong = |value: &Vec<PartitionBound>| {
        value
            .iter()
            .any(|bound| matches!(bound, PartitionBound::Maxvalue))
            || width.is_some_and(|width| value.len() != width)
    };
    let is_row = width.is_none() && values.iter().any(|value| value.len() > 1);
    if is_row || values.iter().any(is_wrong) {
        return Err(parser.error_at(start));
    }
    Ok(PartitionValues::In { values, tuples })
}

fn partition_bounds(parser: &mut Parser<'_>) -> Result<Vec<PartitionBound>> {
    parser.expect_kind(Kind::LeftParen)?;
    let bounds = parser.comma_separated(partition_bound)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(bounds)
}

fn partition_bound(parser: &mut Parser<'_>) -> Result<PartitionBound> {
    match parser.eat(Kw::MAXVALUE) {
        true => Ok(PartitionBound::Maxvalue),
        false => parser.expression().map(PartitionBound::Value),
    }
}

fn partition_options(parser: &mut Parser<'_>) -> Result<PartitionOptions> {
    let mut options = PartitionOptions::default();
    loop {
        if parser.is(Kw::STORAGE) && parser.peek_is(Kw::ENGINE) {
            parser.advance();
        }
        if parser.eat(Kw::ENGINE) {
            parser.eat_kind(Kind::Equal);
            options.engine = Some(parser.name_or_text()?);
        } else if parser.eat(Kw::COMMENT) {
            parser.eat_kind(Kind::Equal);
            options.comment = Some(parser.text_literal()?);
        } else if parser.eat(Kw::MAX_ROWS) {
            parser.eat_kind(Kind::Equal);
            options.max_rows = Some(parser.unsigned()?);
        } else if parser.eat(Kw::MIN_ROWS) {
            parser.eat_kind(Kind::Equal);
            options.min_rows = Some(parser.unsigned()?);
        } else if parser.eat(Kw::NODEGROUP) {
            parser.eat_kind(Kind::Equal);
            options.nodegroup = Some(parser.unsigned()?);
        } else if parser.eat(Kw::TABLESPACE) {
            parser.eat_kind(Kind::Equal);
            options.tablespace = Some(parser.name()?);
        } else if parser.is_any(&[Kw::DATA, Kw::INDEX]) && parser.peek_is(Kw::DIRECTORY) {
            return Err(Error::not_supported("DATA DIRECTORY", "leave it out"));
        } else {
            return Ok(options);
        }
    }
}

/// An optional `PARTITION (name, ...)` after the name of a table. Empty if it is missing.
pub fn partition_selection(parser: &mut Parser<'_>) -> Result<Vec<String>> {
    if !parser.eat(Kw::PARTITION) {
        return Ok(Vec::new());
    }
    parser.expect_kind(Kind::LeftParen)?;
    let names = parser.comma_separated(Parser::name)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(names)
}

/// `ALL`, or names.
fn partition_names(parser: &mut Parser<'_>) -> Result<PartitionNames> {
    match parser.eat(Kw::ALL) {
        true => Ok(PartitionNames::All),
        false => Ok(PartitionNames::Named(parser.comma_separated(Parser::name)?)),
    }
}

/// `ADD PARTITION ...`, after the word ADD.
pub fn add_partition(parser: &mut Parser<'_>) -> Result<AlterItem> {
    parser.expect(Kw::PARTITION)?;
    no_write_to_binlog(parser);
    let action = match parser.eat(Kw::PARTITIONS) {
        true => PartitionAction::AddCount(parser.unsigned()?),
        false => PartitionAction::Add(listed_partitions(parser, None)?),
    };
    Ok(partition(action))
}

/// `DROP PARTITION name, ...`, after the word DROP.
pub fn drop_partition(parser: &mut Parser<'_>) -> Result<AlterItem> {
    parser.expect(Kw::PARTITION)?;
    Ok(partition(PartitionAction::Drop(
        parser.comma_separated(Parser::name)?,
    )))
}

fn no_write_to_binlog(parser: &mut Parser<'_>) {
    parser.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
}

/// Any other action of ALTER TABLE on partitions, if one begins here.
pub fn partition_action(parser: &mut Parser<'_>) -> Result<Option<AlterItem>> {
    if parser.eat_all(&[Kw::REMOVE, Kw::PARTITIONING]) {
        return Ok(Some(partition(PartitionAction::Remove)));
    }
    if !parser.peek_is(Kw::PARTITION) {
        return Ok(None);
    }
    let verbs = [
        Kw::TRUNCATE,
        Kw::COALESCE,
        Kw::REORGANIZE,
        Kw::EXCHANGE,
        Kw::REBUILD,
        Kw::ANALYZE,
        Kw::CHECK,
        Kw::OPTIMIZE,
        Kw::REPAIR,
    ];
    let Some(verb) = parser.eat_any(&verbs) else {
        if parser.is_any(&[Kw::DISCARD, Kw::IMPORT]) {
            return Err(Error::not_supported(
                "tablespaces of partitions",
                "leave TABLESPACE out",
            ));
        }
        return Ok(None);
    };
    parser.advance();
    no_write_to_binlog(parser);
    let maintain = |action, names| AlterItem::MaintainPartitions(action, names);
    Ok(Some(match verb {
        Kw::TRUNCATE => partition(PartitionAction::Truncate(partition_names(parser)?)),
        Kw::COALESCE => partition(PartitionAction::Coalesce(parser.unsigned()?)),
        Kw::REBUILD => partition(PartitionAction::Rebuild(partition_names(parser)?)),
        Kw::REORGANIZE => partition(reorganize(parser)?),
        Kw::EXCHANGE => partition(exchange(parser)?),
        Kw::ANALYZE => maintain(Maintenance::Analyze, partition_names(parser)?),
        Kw::CHECK => {
            let names = partition_names(parser)?;
            let kinds = [Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED];
            while parser.eat_any(&kinds).is_some() || parser.eat_all(&[Kw::FOR, Kw::UPGRADE]) {}
            maintain(Maintenance::Check, names)
        }
        Kw::OPTIMIZE => maintain(Maintenance::Optimize, partition_names(parser)?),
        _ => {
            let names = partition_names(parser)?;
            while parser.eat_any(&[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM]).is_some() {}
            maintain(Maintenance::Repair, names)
        }
    }))
}

fn reorganize(parser: &mut Parser<'_>) -> Result<PartitionAction> {
    if parser.at_statement_end() || parser.kind() == Kind::Comma {
        return Ok(PartitionAction::Reorganize {
            names: Vec::new(),
            into: Vec::new(),
        });
    }
    let names = parser.comma_separated(Parser::name)?;
    parser.expect(Kw::INTO)?;
    let into = listed_partitions(parser, None)?;
    Ok(PartitionAction::Reorganize { names, into })
}

fn exchange(parser: &mut Parser<'_>) -> Result<PartitionAction> {
    let partition = parser.name()?;
    parser.expect(Kw::WITH)?;
    parser.expect(Kw::TABLE)?;
    let table = parser.object_name()?;
    let validates = !parser.eat_all(&[Kw::WITHOUT, Kw::VALIDATION]);
    if validates {
        parser.eat_all(&[Kw::WITH, Kw::VALIDATION]);
    }
    Ok(PartitionAction::Exchange {
        partition,
        table,
        validates,
    })
}

impl PartitionBy {
    /// The columns of RANGE COLUMNS and LIST COLUMNS.
    fn columns(&self) -> Option<&[String]> {
        match self {
            Self::RangeColumns(columns) | Self::ListColumns(columns) => Some(columns),
            _ => None,
        }
    }
}

fn partition(action: PartitionAction) -> AlterItem {
    AlterItem::Partition(Box::new(action))
}
