//! ALTER TABLE.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{
    AlterItem, AlterOptions, ColumnPosition, DatabaseOptions, DefaultClause, PartitionAction, Statement,
    TableElement, TableOptions,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// TABLE has been taken.
    pub fn alter_table(&mut self) -> Result<Statement> {
        let name = self.object_name()?;
        let mut items = Vec::new();
        let mut options = AlterOptions::default();
        if self.is(Kw::REMOVE)
            && let Some(item) = self.partition_action()?
        {
            items.push(item);
        } else if !self.at_statement_end() && !self.is(Kw::PARTITION) {
            loop {
                // It follows without a comma.
                if self.is(Kw::REMOVE) {
                    return self.fail();
                }
                self.alter_item(&mut items, &mut options)?;
                if !self.eat_kind(Kind::Comma) {
                    break;
                }
            }
        }
        // PARTITION BY follows the other items without a comma; so does REMOVE PARTITIONING.
        if let Some(partitioning) = self.partitioning()? {
            items.push(AlterItem::Partition(Box::new(PartitionAction::By(partitioning))));
        } else if self.is(Kw::REMOVE)
            && let Some(item) = self.partition_action()?
        {
            items.push(item);
        }
        if options.validation && !items.iter().any(is_generated) {
            return Err(Error::new(
                errno::ER_WRONG_USAGE,
                "Incorrect usage of ALTER and WITH VALIDATION",
            ));
        }
        Ok(Statement::AlterTable { name, items, options })
    }

    fn alter_item(&mut self, items: &mut Vec<AlterItem>, options: &mut AlterOptions) -> Result<()> {
        if self.eat(Kw::ADD) {
            return self.add(items);
        }
        if let Some(item) = self.partition_action()? {
            items.push(item);
            return Ok(());
        }
        if self.eat(Kw::DROP) {
            items.push(self.drop_item()?);
        } else if self.eat(Kw::MODIFY) {
            self.eat(Kw::COLUMN);
            let name = self.name()?;
            items.push(self.modify(name.clone(), name)?);
        } else if self.eat(Kw::CHANGE) {
            self.eat(Kw::COLUMN);
            let from = self.name()?;
            let to = self.name()?;
            items.push(self.modify(from, to)?);
        } else if self.eat(Kw::ALTER) {
            items.push(self.alter_column()?);
        } else if self.eat(Kw::RENAME) {
            items.push(self.rename_item()?);
        } else if self.eat(Kw::CONVERT) {
            self.expect(Kw::TO)?;
            let mut options = DatabaseOptions::default();
            while self.charset_or_collation(&mut options.charset, &mut options.collation)? {}
            items.push(AlterItem::ConvertTo(options));
        } else if self.eat(Kw::ALGORITHM) {
            options.algorithm = self.alter_algorithm()?;
        } else if self.eat(Kw::LOCK) {
            options.lock = self.alter_lock()?;
        } else if self.eat(Kw::FORCE) {
            items.push(AlterItem::Force);
        } else if self.validation() {
            options.validation = true;
        } else if self.is_any(&[Kw::DISABLE, Kw::ENABLE]) {
            self.advance();
            self.expect(Kw::KEYS)?;
            items.push(AlterItem::Keys);
        } else if self.eat_all(&[Kw::ORDER, Kw::BY]) {
            self.comma_separated(|parser| {
                parser.object_name()?;
                parser.eat_any(&[Kw::ASC, Kw::DESC]);
                Ok(())
            })?;
            items.push(AlterItem::OrderBy);
        } else {
            items.push(AlterItem::Options(self.alter_table_options()?));
        }
        Ok(())
    }

    fn validation(&mut self) -> bool {
        self.eat_all(&[Kw::WITHOUT, Kw::VALIDATION]) || self.eat_all(&[Kw::WITH, Kw::VALIDATION])
    }

    /// Options follow each other with blanks between them; a comma begins the next item.
    fn alter_table_options(&mut self) -> Result<TableOptions> {
        let mut options = TableOptions::default();
        if !self.table_option(&mut options)? {
            if self.is_any(&[Kw::DISCARD, Kw::IMPORT, Kw::SECONDARY_LOAD, Kw::SECONDARY_UNLOAD]) {
                return Err(Error::not_supported(
                    format!("ALTER TABLE ... {}", self.word().to_uppercase()),
                    "copy rows with INSERT ... SELECT, stemdb export and import",
                ));
            }
            return self.fail();
        }
        while self.table_option(&mut options)? {}
        Ok(options)
    }

    fn add(&mut self, items: &mut Vec<AlterItem>) -> Result<()> {
        if self.is(Kw::PARTITION) {
            items.push(self.add_partition()?);
            return Ok(());
        }
        if let Some(key) = self.foreign_key()? {
            items.push(AlterItem::AddForeignKey(key));
            return Ok(());
        }
        if let Some(element) = self.index_or_constraint()? {
            items.push(added(element));
            return Ok(());
        }
        self.eat(Kw::COLUMN);
        if self.eat_kind(Kind::LeftParen) {
            let columns = self.comma_separated(|parser| {
                if let Some(key) = parser.foreign_key()? {
                    return Ok(AlterItem::AddForeignKey(key));
                }
                if let Some(element) = parser.index_or_constraint()? {
                    return Ok(added(element));
                }
                let name = parser.name()?;
                Ok(AlterItem::AddColumn(
                    parser.column_definition(name)?,
                    ColumnPosition::Last,
                ))
            })?;
            self.expect_kind(Kind::RightParen)?;
            items.extend(columns);
            return Ok(());
        }
        let name = self.name()?;
        let column = self.column_definition(name)?;
        let position = self.position()?.unwrap_or(ColumnPosition::Last);
        items.push(AlterItem::AddColumn(column, position));
        Ok(())
    }

    fn position(&mut self) -> Result<Option<ColumnPosition>> {
        if self.eat(Kw::FIRST) {
            return Ok(Some(ColumnPosition::First));
        }
        if self.eat(Kw::AFTER) {
            return Ok(Some(ColumnPosition::After(self.name()?)));
        }
        Ok(None)
    }

    fn modify(&mut self, name: String, new_name: String) -> Result<AlterItem> {
        let definition = self.column_definition(new_name)?;
        let position = self.position()?;
        Ok(AlterItem::ModifyColumn {
            name,
            definition,
            position,
        })
    }

    fn drop_item(&mut self) -> Result<AlterItem> {
        if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
            let name = if self.eat(Kw::PRIMARY) {
                "PRIMARY".to_string()
            } else {
                self.name()?
            };
            return Ok(if name.eq_ignore_ascii_case("PRIMARY") {
                AlterItem::DropPrimaryKey
            } else {
                AlterItem::DropIndex(name)
            });
        }
        if self.eat(Kw::PRIMARY) {
            self.expect(Kw::KEY)?;
            return Ok(AlterItem::DropPrimaryKey);
        }
        if self.eat_all(&[Kw::FOREIGN, Kw::KEY]) {
            return Ok(AlterItem::DropForeignKey(self.name()?));
        }
        if self.eat(Kw::CHECK) {
            return self.name().map(AlterItem::DropCheck);
        }
        if self.eat(Kw::CONSTRAINT) {
            let name = self.name()?;
            return Ok(match name.eq_ignore_ascii_case("PRIMARY") {
                true => AlterItem::DropPrimaryKey,
                false => AlterItem::DropConstraint(name),
            });
        }
        if self.is(Kw::PARTITION) {
            return self.drop_partition();
        }
        self.eat(Kw::COLUMN);
        let name = self.name()?;
        self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
        Ok(AlterItem::DropColumn(name))
    }

    fn alter_column(&mut self) -> Result<AlterItem> {
        if self.eat(Kw::INDEX) {
            let index = self.name()?;
            return match self.eat_any(&[Kw::VISIBLE, Kw::INVISIBLE]) {
                Some(written) => Ok(AlterItem::SetIndexVisibility {
                    index,
                    invisible: written == Kw::INVISIBLE,
                }),
                None => self.fail(),
            };
        }
        if let Some(kind) = self.eat_any(&[Kw::CHECK, Kw::CONSTRAINT]) {
            let name = self.name()?;
            return match self.enforced()? {
                Some(enforced) => Ok(AlterItem::AlterCheck {
                    name,
                    enforced,
                    of_any_kind: kind == Kw::CONSTRAINT,
                }),
                None => self.fail(),
            };
        }
        self.eat(Kw::COLUMN);
        let name = self.name()?;
        if self.eat_all(&[Kw::DROP, Kw::DEFAULT]) {
            return Ok(AlterItem::SetDefault(name, None));
        }
        self.expect(Kw::SET)?;
        if let Some(written) = self.eat_any(&[Kw::VISIBLE, Kw::INVISIBLE]) {
            return Ok(AlterItem::SetColumnVisibility {
                column: name,
                invisible: written == Kw::INVISIBLE,
            });
        }
        self.expect(Kw::DEFAULT)?;
        // Unlike in a column's definition, a literal in parentheses is a literal.
        let default = match self.default_clause()? {
            DefaultClause::Expression(literal) if literal.is_literal() => DefaultClause::Literal(literal),
            other => other,
        };
        Ok(AlterItem::SetDefault(name, Some(default)))
    }

    fn rename_item(&mut self) -> Result<AlterItem> {
        if self.eat(Kw::COLUMN) {
            let from = self.name()?;
            self.expect(Kw::TO)?;
            return Ok(AlterItem::RenameColumn(from, self.name()?));
        }
        if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
            let from = self.name()?;
            self.expect(Kw::TO)?;
            return Ok(AlterItem::RenameIndex(from, self.index_name()?));
        }
        self.eat_any(&[Kw::TO, Kw::AS]);
        self.eat_kind(Kind::Equal);
        Ok(AlterItem::RenameTable(self.object_name()?))
    }
}

/// Whether a generated column is added or changed.
fn is_generated(item: &AlterItem) -> bool {
    match item {
        AlterItem::AddColumn(definition, _) | AlterItem::ModifyColumn { definition, .. } => {
            definition.generated.is_some()
        }
        _ => false,
    }
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
