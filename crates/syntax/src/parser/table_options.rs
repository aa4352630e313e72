//! Options after a table's definition.

use types::{Error, Result, errno};

use super::{Parser, database};
use crate::ast::TableOptions;
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Options without an effect in StemDB: `NAME [=] value`. SHOW CREATE TABLE shows some of them.
const IGNORED: &[Kw] = &[
    Kw::ROW_FORMAT,
    Kw::KEY_BLOCK_SIZE,
    Kw::STATS_PERSISTENT,
    Kw::STATS_AUTO_RECALC,
    Kw::STATS_SAMPLE_PAGES,
    Kw::AVG_ROW_LENGTH,
    Kw::MAX_ROWS,
    Kw::MIN_ROWS,
    Kw::CHECKSUM,
    Kw::DELAY_KEY_WRITE,
    Kw::PACK_KEYS,
    Kw::COMPRESSION,
    Kw::INSERT_METHOD,
    Kw::TABLE_CHECKSUM,
    Kw::PASSWORD,
    Kw::CONNECTION,
    Kw::SECONDARY_ENGINE,
];

const ROW_FORMATS: &[Kw] = &[
    Kw::DEFAULT,
    Kw::DYNAMIC,
    Kw::FIXED,
    Kw::COMPRESSED,
    Kw::REDUNDANT,
    Kw::COMPACT,
];

/// The options of CREATE TABLE, separated by blanks or commas.
pub fn table_options(parser: &mut Parser<'_>) -> Result<TableOptions> {
    let mut options = TableOptions::default();
    while !parser.at_statement_end() {
        if !table_option(parser, &mut options)? {
            break;
        }
        parser.eat_kind(Kind::Comma);
    }
    Ok(options)
}

/// Reads one option. Returns false if none begins here.
pub fn table_option(parser: &mut Parser<'_>, options: &mut TableOptions) -> Result<bool> {
    if parser.eat(Kw::ENGINE) {
        parser.eat_kind(Kind::Equal);
        options.engine = Some(parser.name_or_text()?);
    } else if parser.eat(Kw::AUTO_INCREMENT) {
        parser.eat_kind(Kind::Equal);
        options.auto_increment = Some(parser.truncated_unsigned()?);
    } else if parser.eat(Kw::AUTO_RANDOM_BASE) {
        parser.eat_kind(Kind::Equal);
        options.auto_random_base = Some(parser.unsigned()?);
    } else if parser.eat(Kw::SHARD_ROW_ID_BITS) {
        parser.eat_kind(Kind::Equal);
        options.shard_row_id_bits = Some(parser.unsigned()?);
    } else if parser.eat(Kw::PRE_SPLIT_REGIONS) {
        parser.eat_kind(Kind::Equal);
        options.pre_split_regions = Some(parser.unsigned()?);
    } else if parser.eat(Kw::COMMENT) {
        parser.eat_kind(Kind::Equal);
        options.comment = Some(parser.comment()?);
    } else if parser.is(Kw::DEFAULT) || parser.is_any(&[Kw::CHARACTER, Kw::CHARSET, Kw::CHAR, Kw::COLLATE]) {
        parser.eat(Kw::DEFAULT);
        charset_option(parser, options)?;
    } else if parser.is_any(IGNORED) {
        let name = parser.word().to_uppercase();
        parser.advance();
        parser.eat_kind(Kind::Equal);
        let start = parser.start();
        if name == "ROW_FORMAT" && !parser.is_any(ROW_FORMATS) {
            return parser.fail();
        }
        let value = match parser.kind() {
            Kind::Integer | Kind::Decimal | Kind::Float => parser.truncated_unsigned()?.to_string(),
            Kind::Text => parser.text_literal()?,
            Kind::Word | Kind::QuotedWord => {
                let word = parser.word().to_owned();
                parser.advance();
                word
            }
            _ => return parser.fail(),
        };
        check_number(parser, &name, &value, start)?;
        options.shown.push((name, value));
    } else if parser.is_any(&[Kw::DATA, Kw::INDEX]) && parser.peek_is(Kw::DIRECTORY) {
        options.directories.push(match parser.is(Kw::DATA) {
            true => "DATA DIRECTORY",
            false => "INDEX DIRECTORY",
        });
        parser.advance();
        parser.advance();
        parser.eat_kind(Kind::Equal);
        parser.text_literal()?;
    } else if parser.eat(Kw::ENCRYPTION) {
        parser.eat_kind(Kind::Equal);
        if parser.text_literal()?.eq_ignore_ascii_case("y") {
            return Err(Error::not_supported("ENCRYPTION", "encrypt the file system"));
        }
    } else {
        return option_of_storage(parser, options);
    }
    Ok(true)
}

/// Fails if the value of an option, a number that begins at `start`, is none of those that the option has.
fn check_number(parser: &Parser<'_>, name: &str, value: &str, start: usize) -> Result<()> {
    let Ok(number) = value.parse::<u64>() else {
        return Ok(());
    };
    let limits = match name {
        "AVG_ROW_LENGTH" if number > u64::from(u32::MAX) => {
            "The valid range for avg_row_length is [0,4294967295]. Error"
        }
        "STATS_SAMPLE_PAGES" if !(1..=65_535).contains(&number) => {
            "The valid range for stats_sample_pages is [1, 65535]. Error"
        }
        "STATS_PERSISTENT" | "STATS_AUTO_RECALC" | "PACK_KEYS" if number > 1 => {
            return Err(parser.error_at(start));
        }
        _ => return Ok(()),
    };
    Err(Error::new(
        errno::ER_PARSE_ERROR,
        format!("{limits} {}", parser.near(start)),
    ))
}

/// Options about where and how MySQL would store the table.
fn option_of_storage(parser: &mut Parser<'_>, options: &mut TableOptions) -> Result<bool> {
    if parser.eat(Kw::AUTOEXTEND_SIZE) {
        parser.eat_kind(Kind::Equal);
        options.autoextend_size = Some(size(parser)?);
    } else if parser.eat(Kw::TABLESPACE) {
        parser.eat_kind(Kind::Equal);
        options.tablespace = Some(parser.name_or_text()?);
    } else if parser.eat(Kw::UNION) {
        // An option of the MERGE engine, which InnoDB ignores.
        parser.eat_kind(Kind::Equal);
        parser.expect_kind(Kind::LeftParen)?;
        if parser.kind() != Kind::RightParen {
            parser.comma_separated(Parser::object_name)?;
        }
        parser.expect_kind(Kind::RightParen)?;
    } else if parser.eat(Kw::ENGINE_ATTRIBUTE) {
        parser.eat_kind(Kind::Equal);
        parser.text_literal()?;
        return Err(Error::new(
            3981,
            "Storage engine 'InnoDB' does not support ENGINE_ATTRIBUTE.",
        ));
    } else if parser.are(&[Kw::START, Kw::TRANSACTION]) {
        return Err(Error::not_supported(
            "CREATE TABLE ... START TRANSACTION",
            "leave it out: a definition is atomic by itself",
        ));
    } else if parser.is_any(&[Kw::SECONDARY_ENGINE_ATTRIBUTE, Kw::STORAGE]) {
        return Err(Error::not_supported(
            format!("the table option {}", parser.word().to_uppercase()),
            "leave it out",
        ));
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// A number of bytes: `4194304`, `4M`.
fn size(parser: &mut Parser<'_>) -> Result<u64> {
    if parser.kind() == Kind::Integer {
        return parser.unsigned();
    }
    let word = parser.word().to_owned();
    let (digits, unit) = word
        .split_at_checked(word.len().saturating_sub(1))
        .unwrap_or_default();
    let shift = match unit {
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        _ => return parser.fail(),
    };
    let Ok(number) = digits.parse::<u64>() else {
        return parser.fail();
    };
    parser.advance();
    number.checked_mul(1 << shift).map_or_else(|| parser.fail(), Ok)
}

fn charset_option(parser: &mut Parser<'_>, options: &mut TableOptions) -> Result<()> {
    match database::charset_or_collation(parser, &mut options.charset, &mut options.collation)? {
        true => Ok(()),
        false => parser.fail(),
    }
}
