//! Names of columns, indexes and aliases: MySQL compares them without case, in all scripts.

/// Whether two names are the same. `é` and `É` are, `e` and `é` are not.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && lower_case(a).eq(lower_case(b)))
}

/// The characters in lower case, each of them by itself.
fn lower_case(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|character| {
        let mut lower = character.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(only), None) => only,
            _ => character,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_count_and_accents_do() {
        for (a, b) in [
            ("id", "ID"),
            ("\u{e9}t\u{e9}", "\u{c9}T\u{c9}"),
            ("\u{43d}", "\u{41d}"),
            ("", ""),
        ] {
            assert!(same_name(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("e", "\u{e9}"),
            ("\u{e9}", "e"),
            ("ss", "\u{df}"),
            ("a", "ab"),
            ("\u{130}", "i"),
        ] {
            assert!(!same_name(a, b), "{a} {b}");
        }
    }
}
