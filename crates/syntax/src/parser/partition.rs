//! PARTITION BY, and what ALTER TABLE does with partitions.

use types::{Error, Result};

use super::Parser;
use crate::ast::{
    AlterItem, Maintenance, PartitionAction, PartitionBound, PartitionBy, PartitionDefinition,
    PartitionNames, PartitionOptions, PartitionValues, Partitioning, SubpartitionDefinition, Subpartitioning,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// `PARTITION BY ...`, where it is there.
    pub fn partitioning(&mut self) -> Result<Option<Partitioning>> {
        if !self.is(Kw::PARTITION) || !self.peek_is(Kw::BY) {
            return Ok(None);
        }
        self.advance();
        self.advance();
        let by = self.partition_by()?;
        let count = match self.eat(Kw::PARTITIONS) {
            true => Some(self.unsigned()?),
            false => None,
        };
        let subpartitioning = match self.eat(Kw::SUBPARTITION) {
            true => Some(self.subpartitioning()?),
            false => None,
        };
        let partitions = match self.kind() == Kind::LeftParen {
            true => self.partition_definitions(&by, count, subpartitioning.as_ref())?,
            false => Vec::new(),
        };
        Ok(Some(Partitioning {
            by,
            count,
            subpartitioning,
            partitions,
        }))
    }

    fn partition_by(&mut self) -> Result<PartitionBy> {
        if self.eat(Kw::RANGE) {
            return match self.eat(Kw::COLUMNS) {
                true => self.partition_columns().map(PartitionBy::RangeColumns),
                false => self.partition_function().map(PartitionBy::Range),
            };
        }
        if self.eat(Kw::LIST) {
            return match self.eat(Kw::COLUMNS) {
                true => self.partition_columns().map(PartitionBy::ListColumns),
                false => self.partition_function().map(PartitionBy::List),
            };
        }
        self.hash_or_key()
    }

    fn hash_or_key(&mut self) -> Result<PartitionBy> {
        let linear = self.eat(Kw::LINEAR);
        if self.eat(Kw::HASH) {
            let expr = self.partition_function()?;
            return Ok(PartitionBy::Hash { linear, expr });
        }
        self.expect(Kw::KEY)?;
        let mut algorithm = None;
        if self.eat(Kw::ALGORITHM) {
            self.expect_kind(Kind::Equal)?;
            let start = self.start();
            algorithm = match self.unsigned()? {
                number @ (1 | 2) => Some(number),
                _ => return Err(self.error_at(start)),
            };
        }
        let columns = match self.kind() == Kind::LeftParen && self.peek().kind == Kind::RightParen {
            true => {
                self.advance();
                self.advance();
                Vec::new()
            }
            false => self.partition_columns()?,
        };
        Ok(PartitionBy::Key {
            linear,
            algorithm,
            columns,
        })
    }

    fn subpartitioning(&mut self) -> Result<Subpartitioning> {
        self.expect(Kw::BY)?;
        let by = self.hash_or_key()?;
        let count = match self.eat(Kw::SUBPARTITIONS) {
            true => Some(self.unsigned()?),
            false => None,
        };
        Ok(Subpartitioning { by, count })
    }

    fn partition_function(&mut self) -> Result<crate::ast::Expr> {
        self.expect_kind(Kind::LeftParen)?;
        let expr = self.expression()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(expr)
    }

    fn partition_columns(&mut self) -> Result<Vec<String>> {
        self.expect_kind(Kind::LeftParen)?;
        let columns = self.comma_separated(Self::name)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(columns)
    }

    /// The list of PARTITION BY. MySQL's parser compares the numbers of what is listed.
    fn partition_definitions(
        &mut self,
        by: &PartitionBy,
        count: Option<u64>,
        sub: Option<&Subpartitioning>,
    ) -> Result<Vec<PartitionDefinition>> {
        let start = self.start();
        let width = by.columns().map(<[String]>::len);
        let partitions = self.listed_partitions(width)?;
        if count.is_some_and(|count| count != partitions.len() as u64) {
            return Err(self.error_at(start));
        }
        let subpartitions = |partition: &PartitionDefinition| partition.subpartitions.len();
        let wanted = match sub.and_then(|sub| sub.count) {
            Some(count) => count as usize,
            None => partitions.first().map_or(0, subpartitions),
        };
        let is_other = |p: &PartitionDefinition| match sub.and_then(|sub| sub.count) {
            // With a number they need not be listed.
            Some(_) => !p.subpartitions.is_empty() && subpartitions(p) != wanted,
            None => subpartitions(p) != wanted,
        };
        if sub.is_some() && partitions.iter().any(is_other) {
            return Err(self.error_at(start));
        }
        Ok(partitions)
    }

    /// `(PARTITION ..., ...)`. `width`: how many columns the values have, if the partitioning is by columns.
    fn listed_partitions(&mut self, width: Option<usize>) -> Result<Vec<PartitionDefinition>> {
        self.expect_kind(Kind::LeftParen)?;
        let partitions = self.comma_separated(|parser| parser.partition_definition(width))?;
        self.expect_kind(Kind::RightParen)?;
        Ok(partitions)
    }

    fn partition_definition(&mut self, width: Option<usize>) -> Result<PartitionDefinition> {
        self.expect(Kw::PARTITION)?;
        let name = self.name()?;
        let values = self.partition_values(width)?;
        let options = self.partition_options()?;
        let mut subpartitions = Vec::new();
        if self.eat_kind(Kind::LeftParen) {
            subpartitions = self.comma_separated(|parser| {
                parser.expect(Kw::SUBPARTITION)?;
                Ok(SubpartitionDefinition {
                    name: parser.name_or_text()?,
                    options: parser.partition_options()?,
                })
            })?;
            self.expect_kind(Kind::RightParen)?;
        }
        Ok(PartitionDefinition {
            name,
            values,
            options,
            subpartitions,
        })
    }

    fn partition_values(&mut self, width: Option<usize>) -> Result<PartitionValues> {
        if !self.eat(Kw::VALUES) {
            return Ok(PartitionValues::None);
        }
        if self.eat(Kw::LESS) {
            self.expect(Kw::THAN)?;
            let start = self.start();
            if self.eat(Kw::MAXVALUE) {
                return match width {
                    Some(2..) => Err(self.error_at(start)),
                    _ => Ok(PartitionValues::LessThanMaxvalue),
                };
            }
            let bounds = self.partition_bounds()?;
            if width.is_some_and(|width| width != bounds.len()) {
                return Err(self.error_at(start));
            }
            return Ok(PartitionValues::LessThan(bounds));
        }
        self.expect(Kw::IN)?;
        self.expect_kind(Kind::LeftParen)?;
        let start = self.start();
        let tuples = self.kind() == Kind::LeftParen && width.is_none_or(|width| width > 1);
        let values = self.comma_separated(|parser| match tuples {
            true => parser.partition_bounds(),
            false => Ok(vec![parser.partition_bound()?]),
        })?;
        self.expect_kind(Kind::RightParen)?;
        let is_wrong = |value: &Vec<PartitionBound>| {
            value
                .iter()
                .any(|bound| matches!(bound, PartitionBound::Maxvalue))
                || width.is_some_and(|width| value.len() != width)
        };
        let is_row = width.is_none() && values.iter().any(|value| value.len() > 1);
        if is_row || values.iter().any(is_wrong) {
            return Err(self.error_at(start));
        }
        Ok(PartitionValues::In { values, tuples })
    }

    fn partition_bounds(&mut self) -> Result<Vec<PartitionBound>> {
        self.expect_kind(Kind::LeftParen)?;
        let bounds = self.comma_separated(Self::partition_bound)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(bounds)
    }

    fn partition_bound(&mut self) -> Result<PartitionBound> {
        match self.eat(Kw::MAXVALUE) {
            true => Ok(PartitionBound::Maxvalue),
            false => self.expression().map(PartitionBound::Value),
        }
    }

    fn partition_options(&mut self) -> Result<PartitionOptions> {
        let mut options = PartitionOptions::default();
        loop {
            if self.is(Kw::STORAGE) && self.peek_is(Kw::ENGINE) {
                self.advance();
            }
            if self.eat(Kw::ENGINE) {
                self.eat_kind(Kind::Equal);
                options.engine = Some(self.name_or_text()?);
            } else if self.eat(Kw::COMMENT) {
                self.eat_kind(Kind::Equal);
                options.comment = Some(self.text_literal()?);
            } else if self.eat(Kw::MAX_ROWS) {
                self.eat_kind(Kind::Equal);
                options.max_rows = Some(self.unsigned()?);
            } else if self.eat(Kw::MIN_ROWS) {
                self.eat_kind(Kind::Equal);
                options.min_rows = Some(self.unsigned()?);
            } else if self.eat(Kw::NODEGROUP) {
                self.eat_kind(Kind::Equal);
                options.nodegroup = Some(self.unsigned()?);
            } else if self.eat(Kw::TABLESPACE) {
                self.eat_kind(Kind::Equal);
                options.tablespace = Some(self.name()?);
            } else if self.is_any(&[Kw::DATA, Kw::INDEX]) && self.peek_is(Kw::DIRECTORY) {
                return Err(Error::not_supported("DATA DIRECTORY", "leave it out"));
            } else {
                return Ok(options);
            }
        }
    }

    /// `PARTITION (name, ...)` after the name of a table; empty where it is not there.
    pub fn partition_selection(&mut self) -> Result<Vec<String>> {
        if !self.eat(Kw::PARTITION) {
            return Ok(Vec::new());
        }
        self.expect_kind(Kind::LeftParen)?;
        let names = self.comma_separated(Self::name)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(names)
    }

    /// `ALL`, or names.
    fn partition_names(&mut self) -> Result<PartitionNames> {
        match self.eat(Kw::ALL) {
            true => Ok(PartitionNames::All),
            false => Ok(PartitionNames::Named(self.comma_separated(Self::name)?)),
        }
    }

    /// `ADD PARTITION ...`; ADD has been taken.
    pub fn add_partition(&mut self) -> Result<AlterItem> {
        self.expect(Kw::PARTITION)?;
        self.no_write_to_binlog();
        let action = match self.eat(Kw::PARTITIONS) {
            true => PartitionAction::AddCount(self.unsigned()?),
            false => PartitionAction::Add(self.listed_partitions(None)?),
        };
        Ok(partition(action))
    }

    /// `DROP PARTITION name, ...`; DROP has been taken.
    pub fn drop_partition(&mut self) -> Result<AlterItem> {
        self.expect(Kw::PARTITION)?;
        Ok(partition(PartitionAction::Drop(
            self.comma_separated(Self::name)?,
        )))
    }

    fn no_write_to_binlog(&mut self) {
        self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
    }

    /// What else ALTER TABLE does with partitions, where it is there.
    pub fn partition_action(&mut self) -> Result<Option<AlterItem>> {
        if self.eat_all(&[Kw::REMOVE, Kw::PARTITIONING]) {
            return Ok(Some(partition(PartitionAction::Remove)));
        }
        if !self.peek_is(Kw::PARTITION) {
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
        let Some(verb) = self.eat_any(&verbs) else {
            if self.is_any(&[Kw::DISCARD, Kw::IMPORT]) {
                return Err(Error::not_supported(
                    "tablespaces of partitions",
                    "leave TABLESPACE out",
                ));
            }
            return Ok(None);
        };
        self.advance();
        self.no_write_to_binlog();
        let maintain = |action, names| AlterItem::MaintainPartitions(action, names);
        Ok(Some(match verb {
            Kw::TRUNCATE => partition(PartitionAction::Truncate(self.partition_names()?)),
            Kw::COALESCE => partition(PartitionAction::Coalesce(self.unsigned()?)),
            Kw::REBUILD => partition(PartitionAction::Rebuild(self.partition_names()?)),
            Kw::REORGANIZE => partition(self.reorganize()?),
            Kw::EXCHANGE => partition(self.exchange()?),
            Kw::ANALYZE => maintain(Maintenance::Analyze, self.partition_names()?),
            Kw::CHECK => {
                let names = self.partition_names()?;
                let kinds = [Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED];
                while self.eat_any(&kinds).is_some() || self.eat_all(&[Kw::FOR, Kw::UPGRADE]) {}
                maintain(Maintenance::Check, names)
            }
            Kw::OPTIMIZE => maintain(Maintenance::Optimize, self.partition_names()?),
            _ => {
                let names = self.partition_names()?;
                while self.eat_any(&[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM]).is_some() {}
                maintain(Maintenance::Repair, names)
            }
        }))
    }

    fn reorganize(&mut self) -> Result<PartitionAction> {
        if self.at_statement_end() || self.kind() == Kind::Comma {
            return Ok(PartitionAction::Reorganize {
                names: Vec::new(),
                into: Vec::new(),
            });
        }
        let names = self.comma_separated(Self::name)?;
        self.expect(Kw::INTO)?;
        let into = self.listed_partitions(None)?;
        Ok(PartitionAction::Reorganize { names, into })
    }

    fn exchange(&mut self) -> Result<PartitionAction> {
        let partition = self.name()?;
        self.expect(Kw::WITH)?;
        self.expect(Kw::TABLE)?;
        let table = self.object_name()?;
        let validates = !self.eat_all(&[Kw::WITHOUT, Kw::VALIDATION]);
        if validates {
            self.eat_all(&[Kw::WITH, Kw::VALIDATION]);
        }
        Ok(PartitionAction::Exchange {
            partition,
            table,
            validates,
        })
    }
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
