//! Operators: arithmetic, comparison, logic, bits, and the control flow functions.

pub(crate) mod arithmetic;
pub(crate) mod arithmetic_vector;
pub(crate) mod bits;
pub(crate) mod by_search;
pub(crate) mod comparison;
pub(crate) mod comparison_vector;
pub(crate) mod constants;
pub(crate) mod control;
pub(crate) mod logic;
pub(crate) mod membership;
