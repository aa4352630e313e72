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
    let name: Vec<Part> = name.chars().map(Part::Char).collect();
    matches(&parts(pattern), &name)
}

/// Whether a pattern matches all names that another one does.
pub(crate) fn covers(pattern: &str, other: &str) -> bool {
    matches(&parts(pattern), &parts(other))
}

/// Whether there are names that both patterns match.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    let (a, b) = (parts(a), parts(b));
    // `ends[j]`: whether what is left of `a` and `b[j..]` can match the same text.
    let mut ends = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let below = ends.clone();
        for j in (0..=b.len()).rev() {
            ends[j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(Part::Any), right) => below[j] || right.is_some() && ends[j + 1],
                (left, Some(Part::Any)) => ends[j + 1] || left.is_some() && below[j],
                (Some(left), Some(right)) => {
                    (left == right || *left == Part::One || *right == Part::One) && below[j + 1]
                }
                (None, Some(_)) | (Some(_), None) => false,
            };
        }
    }
    ends[0]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Char(char),
    One,
    Any,
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        parts.push(match c {
            '%' => Part::Any,
            '_' => Part::One,
            '\\' => Part::Char(chars.next().unwrap_or(c)),
            c => Part::Char(c),
        });
    }
    parts
}

/// Goes back to the last `%` only, so the time is bounded by the product of the lengths.
fn matches(pattern: &[Part], name: &[Part]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    let mut last_any: Option<(usize, usize)> = None;
    while in_name < name.len() {
        let fits = match pattern.get(at) {
            Some(Part::Any) => {
                last_any = Some((at, in_name));
                at += 1;
                continue;
            }
            Some(Part::One) => name[in_name] != Part::Any,
            Some(part) => *part == name[in_name],
            None => false,
        };
        match (fits, last_any) {
            (true, _) => {
                at += 1;
                in_name += 1;
            }
            (false, Some((any, from))) => {
                at = any + 1;
                in_name = from + 1;
                last_any = Some((any, in_name));
            }
            (false, None) => return false,
        }
    }
    pattern[at..].iter().all(|part| *part == Part::Any)
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
    fn patterns_overlap_where_a_name_matches_both() {
        for (a, b, expected) in [
            ("p%1", "pq%", true),
            ("p%1", "q%", false),
            ("my_app", "my_app2", false),
            ("my_app", "my%", true),
            ("%a", "b%", true),
            ("%a", "b", false),
            ("%", "", true),
            ("a\\%", "a%", true),
            ("a\\%", "a_b", false),
        ] {
            assert_eq!(overlap(a, b), expected, "{a} {b}");
            assert_eq!(overlap(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn a_pattern_covers_another_one() {
        for (pattern, other, expected) in [
            ("my\\_%", "my\\_1", true),
            ("my\\_%", "my\\_%", true),
            ("my\\_%", "my_%", false),
            ("my_%", "my\\_%", true),
            ("my%", "my_%", true),
            ("my_", "my%", false),
            ("%", "a%b_", true),
            ("shop", "sho_", false),
        ] {
            assert_eq!(covers(pattern, other), expected, "{pattern} {other}");
        }
    }

    #[test]
    fn an_escaped_name_is_plain() {
        assert_eq!(plain_name(&escaped("a_b%c\\d")), Some("a_b%c\\d".to_owned()));
        assert_eq!(plain_name("a_b"), None);
        assert!(specificity("abc") > specificity("ab_") && specificity("ab_") > specificity("a%"));
    }
}
