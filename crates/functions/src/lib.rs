//! MySQL's arithmetic, comparison, casts, built-in and aggregate functions, and the order of rows, over Arrow
//! arrays: one implementation, used by both executors.
//!
//! The planner binds calls with [`bind`], which types each call and makes every implicit conversion explicit.
//! The result is an [`Expr`]. [`mod@eval`] computes it for one row or for a batch, with the session's state
//! in an [`EvalContext`].
//!
//! Not here: names and plans (`planner`), operators over rows (`executor`, `analytics`), values and their
//! types (`types`).
//!
//! Where to go next: start at [`expr`], which defines expressions and what functions are called with.
//! [`registry`] finds functions and operators. To add one, add an entry to the table of its family, for
//! example in `string/basic.rs`. [`aggregate`] has the aggregate functions, [`window`] the window functions,
//! [`order`] the order of rows, and [`assign`] converts values for columns in INSERT and UPDATE.

pub mod aggregate;
pub mod assign;
pub mod bind;
mod cast;
mod charset;
pub mod coercibility;
pub mod comparable;
mod compare;
pub mod context;
mod date;
pub mod datum;
mod digest;
pub mod eval;
pub mod expr;
pub mod full_text;
mod info;
pub mod input;
mod interruption;
mod json;
mod math;
mod ops;
pub mod order;
mod pace;
mod pattern;
mod print;
mod quotient;
mod read_counters;
pub mod registry;
mod server;
mod sizes;
pub mod state;
mod string;
mod temporal;
pub mod timezone;
mod truth;
mod user_lock;
mod user_variable;
mod warnings;
pub mod window;
mod work;
mod xml;

pub use bind::common_type;
pub use cast::text::{cannot_convert_message as cannot_convert_text, shown_text};
pub use cast::{copied_decimal, copied_integer, copied_json_integer};
pub use charset::{decode as text_of, encode as encoded};
pub use context::{EvalContext, Identity, InsertId, Strictness};
pub use date::locale::Locale;
pub use digest::digest_of;
pub use eval::{
    append_row, assigns, eval, eval_array, eval_assigned, eval_predicate, eval_row, eval_row_predicate,
    eval_truths, eval_value, fold, has_effects, hoist, is_deterministic, is_fallible, is_known_when_planned,
    is_silent, makes_longer_texts, reads_assigned,
};
pub use expr::{Expr, Function, FunctionDef};
pub use input::{ColumnarValue, Row};
pub use interruption::{Interrupted, WorksFor, work_for};
pub use json::loss::json_name;
pub use json::multi_valued;
pub use json::table as json_table;
pub use ops::bits::is_binary as is_binary_of_bits;
pub use ops::by_search::{SEARCHED_ROWS, arranged};
pub use pattern::operators::show_like as like;
pub use pattern::operators::stored_like;
pub use read_counters::{ByPlace, ReadCounters, ReadCounts, RowPlace, RowUses};
pub use server::{FileContents, Server};
pub use string::block_cipher::{BLOCK_ENCRYPTION_MODES, BlockEncryption};
pub use string::char_padding::{pad as pad_char, padded_char};
pub use string::ill_formed::ill_formed_text;
pub use temporal::{is_date_constant, spells_point_in_time, spells_time_of_day};
pub use timezone::TimeZone;
pub use user_lock::UserLocks;
pub use user_variable::UserVariable;
pub use warnings::{TakenBack, Warnings};

/// The tables of all families of functions.
fn families() -> &'static [&'static registry::Family] {
    static FAMILIES: &[&registry::Family] = &[
        &ops::arithmetic::FAMILY,
        &ops::bits::FAMILY,
        &ops::comparison::FAMILY,
        &ops::constants::FAMILY,
        &ops::control::FAMILY,
        &ops::logic::FAMILY,
        &ops::membership::FAMILY,
        &pattern::operators::FAMILY,
        &pattern::regexp::FAMILY,
        &json::multi_valued::FAMILY,
        &full_text::FAMILY,
        &json::read::FAMILY,
        &json::write::FAMILY,
        &date::difference::FAMILY,
        &date::fields::FAMILY,
        &date::format::FAMILY,
        &date::interval::FAMILY,
        &date::make::FAMILY,
        &date::now::FAMILY,
        &date::parse_format::FAMILY,
        &date::unix::FAMILY,
        &info::FAMILY,
        &digest::FAMILY,
        &sizes::FAMILY,
        &math::bases::FAMILY,
        &math::random::FAMILY,
        &math::rounding::FAMILY,
        &math::transcendental::FAMILY,
        &string::aes::FAMILY,
        &string::basic::FAMILY,
        &string::char_padding::FAMILY,
        &string::collation::FAMILY,
        &string::encode::FAMILY,
        &string::weight_string::FAMILY,
        &string::compress::FAMILY,
        &string::hash::FAMILY,
        &string::ill_formed::FAMILY,
        &string::network::FAMILY,
        &string::number::FAMILY,
        &string::parts::FAMILY,
        &string::search::FAMILY,
        &string::uuid::FAMILY,
        &user_lock::functions::FAMILY,
        &xml::FAMILY,
        &aggregate::FAMILY,
        &assign::stored::FAMILY,
    ];
    FAMILIES
}
