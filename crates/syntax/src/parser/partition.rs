//! PARTITION BY, and the actions of ALTER TABLE on partitions.

use types::{Error, Result, errno};

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
        true => Some(whole_number(parser)?),
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
        true => Some(whole_number(parser)?),
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

/// What MySQL's parser compares a list of partitions with.
#[derive(Default)]
struct Expected {
    /// How many columns the values have; one for an expression. `None`: the statement does not name them.
    width: Option<usize>,
    /// What each partition needs, if the statement says how the table is partitioned.
    needs: Option<&'static str>,
    /// How many subpartitions each partition lists.
    subpartitions: Option<usize>,
    /// The number is given, so that they need not be listed.
    counted: bool,
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
    let counted = sub.and_then(|sub| sub.count);
    let partitions = listed_partitions(
        parser,
        Expected {
            width: by.width(),
            needs: by.needs(),
            subpartitions: counted.map(|count| count as usize),
            counted: counted.is_some(),
        },
    )?;
    if count.is_some_and(|count| count != partitions.len() as u64) {
        let message = "Wrong number of partitions defined, mismatch with previous setting";
        return Err(wrong(parser, message, start));
    }
    Ok(partitions)
}

/// `(PARTITION ..., ...)`
fn listed_partitions(parser: &mut Parser<'_>, mut expected: Expected) -> Result<Vec<PartitionDefinition>> {
    let mut before = parser.start();
    parser.expect_kind(Kind::LeftParen)?;
    let mut partitions = Vec::new();
    loop {
        let partition = partition_definition(parser, &expected, before)?;
        expected
            .subpartitions
            .get_or_insert(partition.subpartitions.len());
        partitions.push(partition);
        before = parser.start();
        if !parser.eat_kind(Kind::Comma) {
            break;
        }
    }
    parser.expect_kind(Kind::RightParen)?;
    Ok(partitions)
}

/// `before`: where the token before the definition is.
fn partition_definition(
    parser: &mut Parser<'_>,
    expected: &Expected,
    before: usize,
) -> Result<PartitionDefinition> {
    parser.expect(Kw::PARTITION)?;
    let name = parser.name()?;
    let values = partition_values(parser, expected.width)?;
    if let (PartitionValues::None, Some(message)) = (&values, expected.needs) {
        return Err(wrong(parser, message, before));
    }
    let options = partition_options(parser)?;
    let subpartitions = listed_subpartitions(parser, expected)?;
    Ok(PartitionDefinition {
        name,
        values,
        options,
        subpartitions,
    })
}

fn listed_subpartitions(parser: &mut Parser<'_>, expected: &Expected) -> Result<Vec<SubpartitionDefinition>> {
    let start = parser.start();
    let mut subpartitions = Vec::new();
    let mut first = start;
    if parser.eat_kind(Kind::LeftParen) {
        first = parser.start();
        subpartitions = parser.comma_separated(|parser| {
            parser.expect(Kw::SUBPARTITION)?;
            Ok(SubpartitionDefinition {
                name: parser.name_or_text()?,
                options: partition_options(parser)?,
            })
        })?;
        parser.expect_kind(Kind::RightParen)?;
    }
    let is_wrong = match expected.subpartitions {
        Some(wanted) => subpartitions.len() != wanted && !(expected.counted && subpartitions.is_empty()),
        None => false,
    };
    if is_wrong {
        let at = if expected.subpartitions == Some(0) {
            first
        } else {
            start
        };
        let message = "Wrong number of subpartitions defined, mismatch with previous setting";
        return Err(wrong(parser, message, at));
    }
    Ok(subpartitions)
}

/// Error 1064 with a message of its own.
fn wrong(parser: &Parser<'_>, message: &str, start: usize) -> Error {
    Error::new(errno::ER_PARSE_ERROR, format!("{message} {}", parser.near(start)))
}

fn whole_number(parser: &mut Parser<'_>) -> Result<u64> {
    match parser.kind() {
        Kind::Decimal | Kind::Float => Err(wrong(
            parser,
            "Only integers allowed as number here",
            parser.start(),
        )),
        _ => parser.unsigned(),
    }
}

const INCONSISTENT: &str = "Inconsistency in usage of column lists for partitioning";

fn partition_values(parser: &mut Parser<'_>, width: Option<usize>) -> Result<PartitionValues> {
    let start = parser.start();
    if !parser.eat(Kw::VALUES) {
        return Ok(PartitionValues::None);
    }
    if parser.eat(Kw::LESS) {
        parser.expect(Kw::THAN)?;
        if parser.eat(Kw::MAXVALUE) {
            return match width {
                Some(2..) => Err(wrong(parser, INCONSISTENT, start)),
                _ => Ok(PartitionValues::LessThanMaxvalue),
            };
        }
        let bounds = partition_bounds(parser, width.filter(|width| *width > 1), true)?;
        return Ok(PartitionValues::LessThan(bounds));
    }
    parser.expect(Kw::IN)?;
    let start = parser.start();
    parser.expect_kind(Kind::LeftParen)?;
    let tuples = parser.kind() == Kind::LeftParen;
    let mut wanted = width;
    let values = parser.comma_separated(|parser| {
        let value = match tuples {
            true => partition_bounds(parser, wanted.filter(|width| *width > 1), false)?,
            false => vec![partition_bound(parser, false)?],
        };
        wanted.get_or_insert(value.len());
        Ok(value)
    })?;
    let end = parser.start();
    parser.expect_kind(Kind::RightParen)?;
    match width {
        _ if tuples && wanted == Some(1) => Err(wrong(
            parser,
            "Row expressions in VALUES IN only allowed for multi-field column partitioning",
            end,
        )),
        Some(2..) if !tuples => Err(wrong(parser, INCONSISTENT, start)),
        _ => Ok(PartitionValues::In { values, tuples }),
    }
}

/// The values of all columns. `width`: how many these are, if that is known.
///
/// # Errors
/// 1653 if there are more of them, 1064 if there are fewer.
fn partition_bounds(
    parser: &mut Parser<'_>,
    width: Option<usize>,
    maxvalue: bool,
) -> Result<Vec<PartitionBound>> {
    parser.expect_kind(Kind::LeftParen)?;
    let bounds = parser.comma_separated(|parser| partition_bound(parser, maxvalue))?;
    let end = parser.start();
    parser.expect_kind(Kind::RightParen)?;
    match width {
        Some(width) if bounds.len() > width => Err(Error::new(1653, INCONSISTENT)),
        Some(width) if bounds.len() < width => Err(wrong(parser, INCONSISTENT, end)),
        _ => Ok(bounds),
    }
}

fn partition_bound(parser: &mut Parser<'_>, maxvalue: bool) -> Result<PartitionBound> {
    let start = parser.start();
    match parser.eat(Kw::MAXVALUE) {
        true if !maxvalue => Err(wrong(parser, "Cannot use MAXVALUE as value in VALUES IN", start)),
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
            options.comment = Some(parser.comment()?);
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
        true => PartitionAction::AddCount(whole_number(parser)?),
        false if parser.kind() == Kind::LeftParen => {
            PartitionAction::Add(listed_partitions(parser, Expected::default())?)
        }
        // Nothing behind it is no partition at all, which is an error of the table's method.
        false => PartitionAction::AddCount(0),
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
        Kw::COALESCE => partition(PartitionAction::Coalesce(whole_number(parser)?)),
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
    let into = listed_partitions(parser, Expected::default())?;
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
    /// How many columns the values have; one for an expression.
    fn width(&self) -> Option<usize> {
        match self {
            Self::RangeColumns(columns) | Self::ListColumns(columns) => Some(columns.len()),
            Self::Range(_) | Self::List(_) => Some(1),
            Self::Hash { .. } | Self::Key { .. } => None,
        }
    }

    /// The error of a partition without values.
    fn needs(&self) -> Option<&'static str> {
        match self {
            Self::Range(_) | Self::RangeColumns(_) => Some(
                "Syntax error: RANGE PARTITIONING requires definition of VALUES LESS THAN for each partition",
            ),
            Self::List(_) | Self::ListColumns(_) => {
                Some("Syntax error: LIST PARTITIONING requires definition of VALUES IN for each partition")
            }
            Self::Hash { .. } | Self::Key { .. } => None,
        }
    }
}

fn partition(action: PartitionAction) -> AlterItem {
    AlterItem::Partition(Box::new(action))
}
