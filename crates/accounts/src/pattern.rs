//! Database names in GRANT: `%` and `_` match any characters unless a backslash precedes them.

/// The name that the pattern is, if it matches one name only.
pub(crate) fn plain_name(pattern: &str) -> Option<String> {
    let mut name = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '%' | '_' => return None,
            '\\' if chars.peek().is_some() => name.extend(chars.next()),
            c => name.push(c),
        }
    }
    Some(name)
}

/// The pattern that matches this name only.
pub fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '%' | '_' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Case-sensitive.
pub(crate) fn is_match(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    matches(&pattern, &name)
}

/// Goes back to the last `%` only, so the time is bounded by the product of the lengths.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    let mut last_any: Option<(usize, usize)> = None;
    while in_name < name.len() {
        let step = match pattern.get(at) {
            Some('%') => {
                last_any = Some((at, in_name));
                at += 1;
                continue;
            }
            Some('_') => Some(1),
            Some('\\') if at + 1 < pattern.len() => (pattern[at + 1] == name[in_name]).then_some(2),
            Some(c) => (*c == name[in_name]).then_some(1),
            None => None,
        };
        match (step, last_any) {
            (Some(step), _) => {
                at += step;
                in_name += 1;
            }
            (None, Some((any, from))) => {
                at = any + 1;
                in_name = from + 1;
                last_any = Some((any, in_name));
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|c| *c == '%')
}

/// Of two patterns, the one with the greater value is the more specific one: the first wildcard comes later.
pub(crate) fn specificity(pattern: &str) -> usize {
    let mut chars = pattern.chars().enumerate();
    while let Some((at, c)) = chars.next() {
        match c {
            '%' | '_' => return at,
            '\\' => {
                chars.next();
            }
            _ => {}
        }
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_and_escapes() {
        for (pattern, name, expected) in [
            ("shop", "shop", true),
            ("shop", "Shop", false),
            ("my_db", "myxdb", true),
            ("my\\_db", "myxdb", false),
            ("my\\_db", "my_db", true),
            ("a%", "a", true),
            ("%a%b", "xxaxxbxb", true),
            ("%a%b", "xxaxxbx", false),
            ("%", "", true),
            ("_", "", false),
        ] {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn an_escaped_name_is_plain() {
        assert_eq!(plain_name(&escaped("a_b%c\\d")), Some("a_b%c\\d".to_owned()));
        assert_eq!(plain_name("a_b"), None);
        assert!(specificity("abc") > specificity("ab_") && specificity("ab_") > specificity("a%"));
    }
}
