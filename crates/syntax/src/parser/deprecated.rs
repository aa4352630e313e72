//! Warnings of words and operators that a later MySQL may not have. MySQL gives them as it reads a statement, once for
//! each place, so executions of a prepared statement do not repeat them.

use types::{Warning, errno};

use super::Parser;

/// Warning 1287: what is deprecated, and what replaces it.
pub fn replaced(parser: &mut Parser<'_>, what: &str, instead: &str) {
    parser.warnings.push(Warning::warning(
        errno::ER_WARN_DEPRECATED_SYNTAX,
        format!(
            "'{what}' is deprecated and will be removed in a future release. Please use {instead} instead"
        ),
    ));
}

/// Warning 1681: what is deprecated, and has no replacement.
pub fn removed(parser: &mut Parser<'_>, what: &str) {
    parser.warnings.push(Warning::warning(
        errno::ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
        format!("'{what}' is deprecated and will be removed in a future release."),
    ));
}

/// Warning 4119.
pub fn full_as_name(parser: &mut Parser<'_>) {
    parser.warnings.push(Warning::warning(
        errno::ER_WARN_DEPRECATED_IDENT,
        "Using FULL as unquoted identifier is deprecated, please use quotes or rename the identifier.",
    ));
}

/// Warning 1287 of the order of the conditions of a JSON_TABLE's column.
pub fn empty_after_error(parser: &mut Parser<'_>) {
    parser.warnings.push(Warning::warning(
        errno::ER_WARN_DEPRECATED_SYNTAX,
        "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is deprecated syntax and \
         will be removed in a future release. Specify ON EMPTY before ON ERROR instead.",
    ));
}

#[cfg(test)]
mod tests {
    use crate::parse_one;
    use crate::testing::sql_mode;

    fn codes(text: &str) -> Vec<u16> {
        let parsed = parse_one(text, sql_mode()).unwrap();
        parsed.warnings.iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn each_place_warns_once() {
        assert_eq!(codes("select a || b || c and not d"), [1287, 1287]);
        assert_eq!(codes("select a or b and not c"), [0; 0]);
        assert_eq!(codes("select ! (a && b)"), [1287, 1287]);
        assert_eq!(
            codes("select sql_no_cache $a from t where t.$b = 1"),
            [1681, 1681, 1681]
        );
        assert_eq!(codes("select `$a` from t as b$"), [0; 0]);
        assert_eq!(codes("flush hosts"), [1287]);
        assert_eq!(codes("show slave status"), [1287]);
        assert_eq!(codes("show replica status"), [0; 0]);
        assert_eq!(codes("lock tables t low_priority write, u write"), [1287]);
    }

    #[test]
    fn full_warns_where_it_is_a_keyword() {
        assert_eq!(codes("select full.id, `full`, t.full from t full"), [4119]);
        assert_eq!(codes("select full . full, full.* from full"), [4119; 4]);
        assert_eq!(codes("with full(full) as (select 1) select 1"), [4119; 2]);
        assert_eq!(codes("select b as 'full', @full from d.full"), [0; 0]);
        assert_eq!(codes("show full tables"), [0; 0]);
    }

    #[test]
    fn pipes_as_concat_is_not_deprecated() {
        let mode = types::SqlMode {
            pipes_as_concat: true,
            ..sql_mode()
        };
        assert!(parse_one("select 'a' || 'b'", mode).unwrap().warnings.is_empty());
    }
}
