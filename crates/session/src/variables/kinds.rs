//! What a system variable may be: where it has values, which, and what setting it does.

use super::flags::Flags;

/// Where a variable has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    Both,
}

/// The values of a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// ON or OFF, which are 1 and 0 in a SELECT.
    Bool,
    /// A range. A value out of it is changed to the nearest one, with warning 1292.
    Int(u64, u64),
    /// A range, and the size of which a value is a multiple. Another one is rounded down, with warning 1292.
    Blocks(u64, u64, u64),
    SignedInt,
    /// A range.
    Double(f64, f64),
    /// A number of entries; -1: as many as are needed.
    SizeOrAuto,
    Text,
    /// The empty text stands for NULL.
    TextOrNull,
    /// NULL sets the empty text.
    TextOrEmpty,
    Enum(&'static [&'static str]),
    /// A list of some of these.
    Set(&'static [&'static str]),
    /// The same, with one of them at least.
    NonEmptySet(&'static [&'static str]),
    /// `name=on,...`: each of them is on or off, and SET changes those that it names.
    Flags(Flags<'static>),
    Charset,
    CharsetOrNull,
    Collation,
    /// A name or a number.
    Locale,
    /// A storage engine of MySQL.
    Engine,
    SqlMode,
    TimeZone,
    Isolation,
}

/// The effect of setting a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It takes effect.
    Live,
    /// It tunes parts of MySQL that StemDB does not have, and changes no result. It can be set, and is shown.
    Hint,
    /// StemDB has only one form of this behaviour. Any other value is refused (1235).
    Same,
    /// Read only (1238).
    Fixed,
    /// Another name of a variable. See [`super::definitions::Definition::canonical`].
    Alias,
}
