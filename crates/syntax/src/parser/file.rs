//! LOAD DATA, and the clauses about a file's format.

use types::{Error, Result};

use super::{Parser, names, partition, values};
use crate::ast::{Expr, FileFormat, IntoFile, LoadData, LoadDuplicates, LoadField, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// LOAD DATA, from LOAD on.
pub fn load(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    if parser.is(Kw::XML) {
        return Err(Error::not_supported(
            "LOAD XML",
            "convert the file to CSV, and use LOAD DATA",
        ));
    }
    parser.expect(Kw::DATA)?;
    // Both concern table locks, which InnoDB does not take either.
    parser.eat_any(&[Kw::LOW_PRIORITY, Kw::CONCURRENT]);
    parser.eat(Kw::FROM);
    let local = parser.eat(Kw::LOCAL);
    parser.expect(Kw::INFILE)?;
    let file = parser.text_literal()?;
    let duplicates = match parser.eat_any(&[Kw::REPLACE, Kw::IGNORE]) {
        Some(Kw::REPLACE) => LoadDuplicates::Replace,
        Some(_) => LoadDuplicates::Ignore,
        None => LoadDuplicates::Unspecified,
    };
    parser.expect(Kw::INTO)?;
    parser.expect(Kw::TABLE)?;
    let table = parser.object_name()?;
    let partitions = partition::partition_selection(parser)?;
    let charset = charset_of_file(parser)?;
    let format = file_format(parser)?;
    let mut ignored_lines = 0;
    if parser.eat(Kw::IGNORE) {
        ignored_lines = parser.unsigned()?;
        if parser.eat_any(&[Kw::LINES, Kw::ROWS]).is_none() {
            return parser.fail();
        }
    }
    let mut fields = Vec::new();
    if parser.eat_kind(Kind::LeftParen) {
        if parser.kind() != Kind::RightParen {
            fields = parser.comma_separated(load_field)?;
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    let assignments = match parser.eat(Kw::SET) {
        true => parser.comma_separated(values::assignment)?,
        false => Vec::new(),
    };
    Ok(Statement::LoadData(Box::new(LoadData {
        local,
        file,
        duplicates,
        table,
        partitions,
        charset,
        format,
        ignored_lines,
        fields,
        assignments,
    })))
}

/// The file of SELECT ... INTO, from OUTFILE or DUMPFILE on.
pub fn target_file(parser: &mut Parser<'_>) -> Result<IntoFile> {
    let is_dump = parser.eat(Kw::DUMPFILE);
    if !is_dump {
        parser.expect(Kw::OUTFILE)?;
    }
    let file = parser.text_literal()?;
    if is_dump {
        return Ok(IntoFile {
            file,
            format: None,
            charset: None,
        });
    }
    Ok(IntoFile {
        file,
        charset: charset_of_file(parser)?,
        format: Some(file_format(parser)?),
    })
}

fn load_field(parser: &mut Parser<'_>) -> Result<LoadField> {
    match parser.kind() {
        Kind::At => names::user_variable_name(parser).map(LoadField::Variable),
        _ => names::column_name(parser).map(LoadField::Column),
    }
}

/// `CHARACTER SET name`
pub fn charset_of_file(parser: &mut Parser<'_>) -> Result<Option<String>> {
    if !parser.eat(Kw::CHARSET)
        && !parser.eat_all(&[Kw::CHARACTER, Kw::SET])
        && !parser.eat_all(&[Kw::CHAR, Kw::SET])
    {
        return Ok(None);
    }
    if parser.eat(Kw::BINARY) {
        return Ok(Some("binary".to_owned()));
    }
    parser.name_or_text().map(Some)
}

/// FIELDS (or COLUMNS) and LINES, each with its clauses in any order.
pub fn file_format(parser: &mut Parser<'_>) -> Result<FileFormat> {
    let mut format = FileFormat::default();
    if parser.eat_any(&[Kw::FIELDS, Kw::COLUMNS]).is_some() {
        let start = parser.start();
        loop {
            if parser.eat(Kw::TERMINATED) {
                parser.expect(Kw::BY)?;
                format.fields_terminated = Some(separator(parser)?);
            } else if parser.is_any(&[Kw::OPTIONALLY, Kw::ENCLOSED]) {
                format.optionally_enclosed = parser.eat(Kw::OPTIONALLY);
                parser.expect(Kw::ENCLOSED)?;
                parser.expect(Kw::BY)?;
                format.fields_enclosed = Some(separator(parser)?);
            } else if parser.eat(Kw::ESCAPED) {
                parser.expect(Kw::BY)?;
                format.fields_escaped = Some(separator(parser)?);
            } else if parser.start() == start {
                return parser.fail();
            } else {
                break;
            }
        }
    }
    if parser.eat(Kw::LINES) {
        let start = parser.start();
        loop {
            if parser.eat(Kw::TERMINATED) {
                parser.expect(Kw::BY)?;
                format.lines_terminated = Some(separator(parser)?);
            } else if parser.eat(Kw::STARTING) {
                parser.expect(Kw::BY)?;
                format.lines_starting = Some(separator(parser)?);
            } else if parser.start() == start {
                return parser.fail();
            } else {
                break;
            }
        }
    }
    Ok(format)
}

/// A separator as a string, hexadecimal or bit literal.
fn separator(parser: &mut Parser<'_>) -> Result<Vec<u8>> {
    if parser.kind() == Kind::Text {
        return parser.text_literal().map(String::into_bytes);
    }
    if !matches!(parser.kind(), Kind::Hex | Kind::Bits) {
        return parser.fail();
    }
    match parser.expression()? {
        Expr::Bytes(bytes) => Ok(bytes),
        _ => parser.fail(),
    }
}
