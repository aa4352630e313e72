//! CREATE TABLE, CREATE and DROP INDEX: columns, indexes.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{
    AlterAlgorithm, AlterItem, AlterLock, AlterOptions, AutoRandomBits, CheckDefinition, ColumnDefinition,
    CreateSelect, CreateTable, DefaultClause, DuplicateRows, Expr, GeneratedClause, IndexDefinition,
    IndexKind, IndexPart, IndexType, Statement, TableElement, TypeName, UnaryOp,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// The cursor is behind TABLE.
    pub fn create_table(&mut self, temporary: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        if self.eat(Kw::LIKE) {
            let source = self.object_name()?;
            return Ok(Statement::CreateTableLike {
                name,
                source,
                if_not_exists,
                temporary,
            });
        }
        let mut elements = Vec::new();
        if self.kind() == Kind::LeftParen && self.peek_is(Kw::LIKE) {
            self.advance();
            self.advance();
            let source = self.object_name()?;
            self.expect_kind(Kind::RightParen)?;
            return Ok(Statement::CreateTableLike {
                name,
                source,
                if_not_exists,
                temporary,
            });
        }
        if self.kind() == Kind::LeftParen && !self.peek_is(Kw::SELECT) {
            self.advance();
            elements = self.comma_separated(Self::table_element)?;
            self.expect_kind(Kind::RightParen)?;
        }
        let options = self.table_options()?;
        let partitioning = self.partitioning()?.map(Box::new);
        let select = self.create_select()?;
        if elements.is_empty() && select.is_none() {
            if !self.at_statement_end() {
                return self.fail();
            }
            return Err(Error::new(
                errno::ER_TABLE_MUST_HAVE_COLUMNS,
                "A table must have at least 1 column",
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

    /// `[IGNORE | REPLACE] [AS] query`, where it is there.
    fn create_select(&mut self) -> Result<Option<CreateSelect>> {
        let duplicates = match self.eat_any(&[Kw::IGNORE, Kw::REPLACE]) {
            Some(Kw::IGNORE) => DuplicateRows::LeftOut,
            Some(_) => DuplicateRows::Replacing,
            None => DuplicateRows::Refused,
        };
        let is_named = self.eat(Kw::AS) || duplicates != DuplicateRows::Refused;
        if !is_named && !self.at_query() && self.kind() != Kind::LeftParen {
            return Ok(None);
        }
        Ok(Some(CreateSelect {
            query: Box::new(self.query()?),
            duplicates,
        }))
    }

    fn table_element(&mut self) -> Result<TableElement> {
        if let Some(key) = self.foreign_key()? {
            return Ok(TableElement::ForeignKey(key));
        }
        if let Some(element) = self.index_or_constraint()? {
            return Ok(element);
        }
        let name = self.name()?;
        Ok(TableElement::Column(self.column_definition(name)?))
    }

    /// An index or constraint, where one begins.
    pub fn index_or_constraint(&mut self) -> Result<Option<TableElement>> {
        let mut constraint_name = None;
        if self.eat(Kw::CONSTRAINT) && !self.is_any(&[Kw::PRIMARY, Kw::UNIQUE, Kw::FOREIGN, Kw::CHECK]) {
            constraint_name = Some(self.index_name()?);
            if !self.is_any(&[Kw::PRIMARY, Kw::UNIQUE, Kw::FOREIGN, Kw::CHECK]) {
                return self.fail();
            }
        }
        if self.is(Kw::CHECK) {
            return Ok(Some(TableElement::Check(self.check(constraint_name)?)));
        }
        self.refuse_constraint()?;
        let kind = if self.eat(Kw::PRIMARY) {
            self.expect(Kw::KEY)?;
            IndexKind::Primary
        } else if self.eat(Kw::UNIQUE) {
            self.eat_any(&[Kw::INDEX, Kw::KEY]);
            IndexKind::Unique
        } else if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
            IndexKind::Plain
        } else {
            return Ok(None);
        };
        let name = if self.kind() != Kind::LeftParen && !self.is_any(&[Kw::USING, Kw::TYPE]) {
            Some(self.index_name()?)
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
            using: self.index_type()?,
            invisible: false,
        };
        self.index_parts(&mut index)?;
        if kind == IndexKind::Primary {
            self.clustered()?;
        }
        Ok(Some(TableElement::Index(index)))
    }

    /// `CHECK (condition) [[NOT] ENFORCED]`
    fn check(&mut self, name: Option<String>) -> Result<CheckDefinition> {
        self.expect(Kw::CHECK)?;
        let condition = self.parenthesized()?;
        Ok(CheckDefinition {
            name,
            condition,
            enforced: self.enforced()?.unwrap_or(true),
        })
    }

    /// `ENFORCED` or `NOT ENFORCED`, where one of them follows.
    pub fn enforced(&mut self) -> Result<Option<bool>> {
        if self.eat(Kw::ENFORCED) {
            return Ok(Some(true));
        }
        Ok(self.eat_all(&[Kw::NOT, Kw::ENFORCED]).then_some(false))
    }

    /// An expression in parentheses.
    fn parenthesized(&mut self) -> Result<Expr> {
        self.expect_kind(Kind::LeftParen)?;
        let expr = self.expression()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(expr)
    }

    fn refuse_constraint(&self) -> Result<()> {
        if self.is(Kw::FULLTEXT) {
            return Err(Error::not_supported("full-text indexes", "use LIKE"));
        }
        if self.is(Kw::SPATIAL) {
            return Err(Error::not_supported(
                "spatial indexes",
                "index coordinates as numbers",
            ));
        }
        Ok(())
    }

    /// `USING BTREE | HASH`, where it follows.
    fn index_type(&mut self) -> Result<Option<IndexType>> {
        if self.eat_any(&[Kw::USING, Kw::TYPE]).is_none() {
            return Ok(None);
        }
        match self.eat_any(&[Kw::BTREE, Kw::HASH, Kw::RTREE]) {
            Some(Kw::RTREE) => Err(Error::not_supported(
                "spatial indexes",
                "index coordinates as numbers",
            )),
            Some(Kw::HASH) => Ok(Some(IndexType::Hash)),
            Some(_) => Ok(Some(IndexType::BTree)),
            None => self.fail(),
        }
    }

    /// `(column[(length)] [ASC | DESC], ...) options`
    fn index_parts(&mut self, index: &mut IndexDefinition) -> Result<()> {
        self.expect_kind(Kind::LeftParen)?;
        index.parts = self.comma_separated(Self::index_part)?;
        self.expect_kind(Kind::RightParen)?;
        self.index_options(index)?;
        if index.using == Some(IndexType::Hash) && index.parts.iter().any(|part| part.ordered) {
            return Err(Error::new(
                errno::ER_WRONG_USAGE,
                "Incorrect usage of spatial/fulltext/hash index and explicit index order",
            ));
        }
        Ok(())
    }

    fn index_options(&mut self, index: &mut IndexDefinition) -> Result<()> {
        loop {
            if self.eat(Kw::COMMENT) {
                index.comment = self.text_literal()?;
            } else if self.eat(Kw::KEY_BLOCK_SIZE) {
                self.eat_kind(Kind::Equal);
                self.unsigned()?;
            } else if self.is_any(&[Kw::USING, Kw::TYPE]) {
                index.using = self.index_type()?;
            } else if self.eat(Kw::INVISIBLE) {
                index.invisible = true;
            } else if self.is_any(&[Kw::ENGINE_ATTRIBUTE, Kw::SECONDARY_ENGINE_ATTRIBUTE]) {
                return Err(Error::not_supported("engine attributes", "leave them out"));
            } else if self.eat_all(&[Kw::WITH, Kw::PARSER]) {
                return Err(Error::not_supported("full-text indexes", "use LIKE"));
            } else if self.eat(Kw::VISIBLE) {
                index.invisible = false;
            } else {
                return Ok(());
            }
        }
    }

    fn index_part(&mut self) -> Result<IndexPart> {
        if self.kind() == Kind::LeftParen {
            let expression = self.parenthesized()?;
            let order = self.eat_any(&[Kw::ASC, Kw::DESC]);
            return Ok(IndexPart {
                column: String::new(),
                expression: Some(expression),
                prefix: None,
                descending: order == Some(Kw::DESC),
                ordered: order.is_some(),
            });
        }
        let column = self.name()?;
        let mut prefix = None;
        if self.eat_kind(Kind::LeftParen) {
            let length = self.unsigned_32()?;
            if length == 0 {
                return Err(Error::new(
                    errno::ER_KEY_PART_0,
                    format!("Key part '{column}' length cannot be 0"),
                ));
            }
            prefix = Some(length);
            self.expect_kind(Kind::RightParen)?;
        }
        let order = self.eat_any(&[Kw::ASC, Kw::DESC]);
        Ok(IndexPart {
            column,
            expression: None,
            prefix,
            descending: order == Some(Kw::DESC),
            ordered: order.is_some(),
        })
    }

    /// What follows a column's name.
    pub fn column_definition(&mut self, name: String) -> Result<ColumnDefinition> {
        let ty = self.data_type()?;
        let is_serial = ty.name == TypeName::Serial;
        let mut column = ColumnDefinition {
            name,
            ty,
            nullable: is_serial.then_some(false),
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
        if self.is(Kw::COLLATE) {
            self.column_attribute(&mut column)?;
        }
        if self.is(Kw::GENERATED) || self.is(Kw::AS) {
            column.generated = Some(self.generated_clause()?);
        }
        while self.column_attribute(&mut column)? {}
        self.column_references()?;
        Ok(column)
    }

    /// One attribute, in any order; false where none follows.
    fn column_attribute(&mut self, column: &mut ColumnDefinition) -> Result<bool> {
        if self.eat(Kw::NULL) {
            column.nullable = Some(true);
        } else if self.eat_all(&[Kw::NOT, Kw::NULL]) {
            column.nullable = Some(false);
        } else if self.eat(Kw::DEFAULT) {
            column.default = Some(self.default_clause()?);
        } else if self.eat_all(&[Kw::ON, Kw::UPDATE]) {
            column.on_update = match self.now()? {
                Some(precision) => Some(precision),
                None => return self.fail(),
            };
        } else if self.eat(Kw::AUTO_INCREMENT) {
            column.auto_increment = true;
        } else if self.eat(Kw::AUTO_RANDOM) {
            column.auto_random = Some(self.auto_random_bits()?);
        } else if self.eat_all(&[Kw::SERIAL, Kw::DEFAULT, Kw::VALUE]) {
            column.auto_increment = true;
            column.unique = true;
            column.nullable = Some(false);
        } else if self.eat_all(&[Kw::PRIMARY, Kw::KEY]) || self.eat(Kw::KEY) {
            column.primary = true;
            self.clustered()?;
        } else if self.eat(Kw::UNIQUE) {
            self.eat(Kw::KEY);
            column.unique = true;
        } else if self.eat(Kw::COMMENT) {
            column.comment = Some(self.text_literal()?);
        } else if self.eat(Kw::COLLATE) {
            column.ty.collation = Some(if self.eat(Kw::BINARY) {
                "binary".into()
            } else {
                self.name_or_text()?
            });
        } else if self.eat(Kw::COLUMN_FORMAT) {
            self.shown_attribute(&mut column.shown, Kw::COLUMN_FORMAT, &[Kw::FIXED, Kw::DYNAMIC])?;
        } else if self.eat(Kw::STORAGE) {
            self.shown_attribute(&mut column.shown, Kw::STORAGE, &[Kw::DISK, Kw::MEMORY])?;
        } else if self.is_any(&[Kw::CONSTRAINT, Kw::CHECK]) {
            let name = self.constraint_name()?;
            column.checks.push(self.check(name)?);
        } else if self.eat(Kw::VISIBLE) {
            column.invisible = false;
        } else if self.eat(Kw::INVISIBLE) {
            column.invisible = true;
        } else {
            return self.refuse_column_attribute();
        }
        Ok(true)
    }

    /// The value of an attribute that InnoDB only shows.
    fn shown_attribute(&mut self, shown: &mut Vec<(String, String)>, name: Kw, values: &[Kw]) -> Result<()> {
        let value = self.word().to_uppercase();
        if self.eat_any(values).is_none() && !self.eat(Kw::DEFAULT) {
            return self.fail();
        }
        shown.push((name.text().to_owned(), value));
        Ok(())
    }

    /// `CONSTRAINT [name]` before a CHECK of a column.
    fn constraint_name(&mut self) -> Result<Option<String>> {
        if !self.eat(Kw::CONSTRAINT) || self.is(Kw::CHECK) {
            return Ok(None);
        }
        self.index_name().map(Some)
    }

    /// `[GENERATED ALWAYS] AS (value) [VIRTUAL | STORED]`
    fn generated_clause(&mut self) -> Result<GeneratedClause> {
        if self.eat(Kw::GENERATED) {
            self.expect(Kw::ALWAYS)?;
        }
        self.expect(Kw::AS)?;
        let value = self.parenthesized()?;
        let stored = self.eat_any(&[Kw::VIRTUAL, Kw::STORED]) == Some(Kw::STORED);
        Ok(GeneratedClause { value, stored })
    }

    /// `[(shard bits[, range bits])]` of AUTO_RANDOM.
    fn auto_random_bits(&mut self) -> Result<AutoRandomBits> {
        let mut bits = AutoRandomBits::default();
        if self.eat_kind(Kind::LeftParen) {
            bits.shard = Some(self.unsigned()?);
            if self.eat_kind(Kind::Comma) {
                bits.range = Some(self.unsigned()?);
            }
            self.expect_kind(Kind::RightParen)?;
        }
        Ok(bits)
    }

    /// TiDB's `CLUSTERED` after a primary key. It changes nothing: every primary key of StemDB is clustered.
    fn clustered(&mut self) -> Result<()> {
        if self.is(Kw::NONCLUSTERED) {
            return Err(Error::not_supported(
                "NONCLUSTERED primary keys",
                "rows are stored by their primary key: make it a UNIQUE KEY of NOT NULL columns, and leave PRIMARY KEY out",
            ));
        }
        self.eat(Kw::CLUSTERED);
        Ok(())
    }

    fn refuse_column_attribute(&self) -> Result<bool> {
        if self.is_any(&[Kw::ENGINE_ATTRIBUTE, Kw::SECONDARY_ENGINE_ATTRIBUTE, Kw::SRID]) {
            return Err(Error::not_supported(self.word().to_uppercase(), "leave it out"));
        }
        Ok(false)
    }

    /// What follows DEFAULT: a literal, the time, or an expression in parentheses.
    pub fn default_clause(&mut self) -> Result<DefaultClause> {
        if let Some(precision) = self.now()? {
            return Ok(DefaultClause::Now(precision));
        }
        if self.kind() == Kind::LeftParen {
            return self.parenthesized().map(DefaultClause::Expression);
        }
        let sign = match self.kind() {
            Kind::Minus => Some(true),
            Kind::Plus => Some(false),
            _ => None,
        };
        if sign.is_some() {
            self.advance();
            if !matches!(self.kind(), Kind::Integer | Kind::Decimal | Kind::Float) {
                return self.fail();
            }
        }
        let is_literal = matches!(
            self.kind(),
            Kind::Integer
                | Kind::Decimal
                | Kind::Float
                | Kind::Text
                | Kind::NationalText
                | Kind::Hex
                | Kind::Bits
        ) || self.is_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE])
            || (self.is_any(&[Kw::DATE, Kw::TIME, Kw::TIMESTAMP]) && self.peek().kind == Kind::Text)
            || (self.kind() == Kind::Word && self.word().starts_with('_'));
        if !is_literal {
            return self.fail();
        }
        // A sign has been seen to stand before a number; everything else here is one operand without
        // operators.
        let literal = self.simple()?;
        Ok(DefaultClause::Literal(match (sign, literal) {
            (Some(true), literal @ Expr::Number(_)) => Expr::Unary {
                op: UnaryOp::Minus,
                operand: Box::new(literal),
            },
            (_, literal) => literal,
        }))
    }

    /// `CURRENT_TIMESTAMP[(n)]` and its synonyms: the precision, where one of them is there.
    fn now(&mut self) -> Result<Option<u8>> {
        let is_call = self.peek().kind == Kind::LeftParen;
        let is_word = self.is_any(&[Kw::CURRENT_TIMESTAMP, Kw::LOCALTIME, Kw::LOCALTIMESTAMP]);
        let is_now = is_word || (self.is(Kw::NOW) && is_call);
        if !is_now {
            return Ok(None);
        }
        self.advance();
        let mut precision = 0;
        if self.eat_kind(Kind::LeftParen) {
            if self.kind() == Kind::Integer {
                precision = u8::try_from(self.unsigned_32()?).unwrap_or(u8::MAX);
            }
            self.expect_kind(Kind::RightParen)?;
        }
        Ok(Some(precision))
    }

    /// `CREATE [UNIQUE] INDEX name ON table (...)`
    pub fn create_index(&mut self) -> Result<Statement> {
        let kind = if self.eat(Kw::UNIQUE) {
            IndexKind::Unique
        } else {
            IndexKind::Plain
        };
        self.expect(Kw::INDEX)?;
        let name = self.index_name()?;
        let using = self.index_type()?;
        self.expect(Kw::ON)?;
        let table = self.object_name()?;
        let mut index = IndexDefinition {
            kind,
            name: Some(name),
            parts: Vec::new(),
            comment: String::new(),
            using,
            invisible: false,
        };
        self.index_parts(&mut index)?;
        Ok(Statement::AlterTable {
            name: table,
            items: vec![AlterItem::AddIndex(index)],
            options: self.algorithm_and_lock()?,
        })
    }

    /// `DROP INDEX name ON table`, INDEX taken.
    pub fn drop_index(&mut self) -> Result<Statement> {
        let index = if self.eat(Kw::PRIMARY) {
            "PRIMARY".to_string()
        } else {
            self.name()?
        };
        self.expect(Kw::ON)?;
        let table = self.object_name()?;
        let options = self.algorithm_and_lock()?;
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
    fn algorithm_and_lock(&mut self) -> Result<AlterOptions> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            if algorithm.is_none() && self.eat(Kw::ALGORITHM) {
                algorithm = Some(self.alter_algorithm()?);
            } else if lock.is_none() && self.eat(Kw::LOCK) {
                lock = Some(self.alter_lock()?);
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
    pub fn alter_algorithm(&mut self) -> Result<AlterAlgorithm> {
        self.eat_kind(Kind::Equal);
        let name = self.way_name()?;
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
    pub fn alter_lock(&mut self) -> Result<AlterLock> {
        self.eat_kind(Kind::Equal);
        let name = self.way_name()?;
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

    fn way_name(&mut self) -> Result<String> {
        match self.eat(Kw::DEFAULT) {
            true => Ok("DEFAULT".to_owned()),
            false => self.name(),
        }
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
            ("create table t", 1113),
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
