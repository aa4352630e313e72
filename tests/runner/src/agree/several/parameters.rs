//! The numbers of rows in frames and of LIMIT as parameters of a prepared statement.

/// The statements that prepare and execute the query with parameters; `None` if it has no such numbers.
pub fn prepared(query: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = query.split(' ').collect();
    let mut values: Vec<&str> = Vec::new();
    let mut text: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let number = word.trim_end_matches(')');
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let before = at
            .checked_sub(1)
            .and_then(|at| words.get(at))
            .copied()
            .unwrap_or_default();
        let after = words.get(at + 1).copied().unwrap_or_default();
        let is_frame = after.starts_with("PRECEDING") || after.starts_with("FOLLOWING");
        let is_count = matches!(before, "LIMIT" | "OFFSET");
        if is_number && (is_frame || is_count) {
            values.push(number);
            text.push(word.replacen(number, "?", 1));
        } else {
            text.push((*word).to_owned());
        }
    }
    if values.is_empty() {
        return None;
    }
    let names: Vec<String> = (0..values.len()).map(|number| format!("@p{number}")).collect();
    let set = names
        .iter()
        .zip(&values)
        .map(|(name, value)| format!("{name} = {value}"));
    Some(vec![
        format!("SET {}", set.collect::<Vec<_>>().join(", ")),
        format!("PREPARE p FROM '{}'", text.join(" ").replace('\'', "''")),
        format!("EXECUTE p USING {}", names.join(", ")),
    ])
}

#[cfg(test)]
mod tests {
    use super::prepared;

    #[test]
    fn numbers_of_rows_become_parameters() {
        assert_eq!(prepared("SELECT 1, 'a' FROM t"), None);
        let made = prepared(
            "SELECT (SELECT 'x' LIMIT 1) ... ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) LIMIT 3 OFFSET 4",
        )
        .unwrap();
        assert_eq!(
            made,
            [
                "SET @p0 = 1, @p1 = 2, @p2 = 3, @p3 = 4",
                "PREPARE p FROM 'SELECT (SELECT ''x'' LIMIT ?) ... ROWS BETWEEN ? PRECEDING AND CURRENT ROW) LIMIT ? OFFSET ?'",
                "EXECUTE p USING @p0, @p1, @p2, @p3",
            ]
        );
    }
}
