//! Tokens: the words and signs of a statement, as byte ranges of its text.

use super::keywords::Keyword;

/// What a token is. Keywords are [`Kind::Word`]: whether a word is a keyword or a name depends on its
/// context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An unquoted identifier or a keyword.
    Word,
    /// `` `name` ``, or `"name"` under ANSI_QUOTES; the range includes the delimiters.
    QuotedWord,
    /// `'text'` or `"text"`, delimiters included.
    Text,
    /// `N'text'`, the `N` and the delimiters included.
    NationalText,
    /// Digits only.
    Integer,
    /// Digits with a point.
    Decimal,
    /// Digits with an exponent.
    Float,
    /// `x'4142'` or `0x4142`.
    Hex,
    /// `b'01'` or `0b01`.
    Bits,
    /// `?`
    Parameter,
    At,
    AtAt,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Comma,
    Dot,
    Semicolon,
    Colon,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    Ampersand,
    AndAnd,
    Pipe,
    PipePipe,
    /// `:=`
    Assign,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
    /// A character that begins no token, or a quote or comment that never ends. The token reaches to the end
    /// of the text.
    Bad,
    /// The end of the text.
    End,
}

/// One token: bytes `start..end` of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    /// What a [`Kind::Word`] is if it is not a name.
    pub keyword: Option<Keyword>,
    pub start: usize,
    pub end: usize,
}
