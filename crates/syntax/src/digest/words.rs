//! The words and signs of MySQL's grammar, with the numbers of their tokens in MySQL 8.0.33.

use std::sync::LazyLock;

use crate::lexer::keywords::Keyword;
use crate::lexer::token::Kind;

/// A word of the grammar.
pub struct Word {
    pub number: u16,
    /// How a digest writes it. Of several words that mean the same, MySQL writes the last.
    pub text: &'static str,
    /// It is a keyword only directly before a parenthesis.
    pub is_function: bool,
}

/// The words that [`super`] treats specially.
pub const IN: u16 = 504;
pub const IS: u16 = 509;
pub const NOT: u16 = 622;
pub const DEFAULT: u16 = 380;

/// Indexed by the number of the keyword.
static WORDS: LazyLock<Vec<Option<Word>>> = LazyLock::new(|| {
    let mut words = Vec::new();
    for line in include_str!("words.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let mut parts = line.split(' ');
        let (Some(word), Some(number)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (Some(keyword), Ok(number)) = (Keyword::of(word.as_bytes()), number.parse()) else {
            continue;
        };
        let at = keyword as usize;
        if words.len() <= at {
            words.resize_with(at + 1, || None);
        }
        words[at] = Some(Word {
            number,
            text: parts.next().unwrap_or(word),
            is_function: FUNCTIONS.contains(&word),
        });
    }
    words
});

const FUNCTIONS: &[&str] = &[
    "ADDDATE",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "CAST",
    "COUNT",
    "CURDATE",
    "CURTIME",
    "DATE_ADD",
    "DATE_SUB",
    "EXTRACT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MID",
    "MIN",
    "NOW",
    "POSITION",
    "SESSION_USER",
    "ST_COLLECT",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "SUBDATE",
    "SUBSTR",
    "SUBSTRING",
    "SUM",
    "SYSDATE",
    "SYSTEM_USER",
    "TRIM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// The character sets that MySQL has: `_name` introduces a text of one.
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
    "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
    "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
    "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
];

pub fn of(keyword: Keyword) -> Option<&'static Word> {
    WORDS.get(keyword as usize)?.as_ref()
}

pub fn is_charset(name: &str) -> bool {
    CHARSETS.iter().any(|charset| charset.eq_ignore_ascii_case(name))
}

/// The number of a sign of one character.
pub const fn sign(byte: u8) -> u16 {
    byte as u16
}

/// The number and the text of an operator or another sign, whose first byte is given.
pub fn of_sign(kind: Kind, first: u8) -> (u16, &'static str) {
    match kind {
        Kind::Equal => (415, "="),
        Kind::NullSafeEqual => (416, "<=>"),
        Kind::GreaterOrEqual => (456, ">="),
        Kind::Greater => (469, ">"),
        Kind::Arrow => (514, "->"),
        Kind::LessOrEqual => (522, "<="),
        Kind::Less => (549, "<"),
        Kind::NotEqual => (614, "!="),
        Kind::PipePipe => (642, "||"),
        Kind::Assign => (757, ":="),
        Kind::ShiftLeft => (759, "<<"),
        Kind::ShiftRight => (760, ">>"),
        Kind::AndAnd => (273, "&&"),
        Kind::LongArrow => (907, "->>"),
        _ => (sign(first), text_of_sign(first)),
    }
}

fn text_of_sign(byte: u8) -> &'static str {
    const SIGNS: &str = "+-*/%^~!(){},.;:&|@?";
    let at = SIGNS.find(char::from(byte));
    at.and_then(|at| SIGNS.get(at..=at)).unwrap_or_default()
}

/// Whether a token is a comparison or an assignment.
pub fn is_comparison(number: u16) -> bool {
    [415, 416, 456, 469, 522, 549, 614, 757].contains(&number)
}

/// Whether an expression begins after a token. A sign there belongs to the number that follows.
pub fn starts(number: u16) -> bool {
    STARTS.contains(&number)
}

static STARTS: LazyLock<Vec<u16>> = LazyLock::new(|| {
    const WORDS_BEFORE: [Keyword; 18] = [
        Keyword::EVERY,
        Keyword::AT,
        Keyword::STARTS,
        Keyword::ENDS,
        Keyword::DEFAULT,
        Keyword::RETURN,
        Keyword::IF,
        Keyword::ELSEIF,
        Keyword::CASE,
        Keyword::WHEN,
        Keyword::WHILE,
        Keyword::UNTIL,
        Keyword::SELECT,
        Keyword::OR,
        Keyword::XOR,
        Keyword::AND,
        Keyword::NOT,
        Keyword::BETWEEN,
    ];
    const MORE: [Keyword; 5] = [
        Keyword::LIKE,
        Keyword::REGEXP,
        Keyword::DIV,
        Keyword::MOD,
        Keyword::INTERVAL,
    ];
    let words = WORDS_BEFORE
        .iter()
        .chain(&MORE)
        .filter_map(|word| Some(of(*word)?.number));
    let operators = [Kind::PipePipe, Kind::AndAnd, Kind::ShiftLeft, Kind::ShiftRight];
    let operators = operators.map(|kind| of_sign(kind, 0).0);
    let signs = b"(,|&+-*/%^".map(sign);
    words.chain(operators).chain(signs).collect()
});
