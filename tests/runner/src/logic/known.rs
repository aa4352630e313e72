//! Records of which the corpus says something else than MySQL 8.0.33, from `known.tsv`: a file, the line of the record, what
//! MySQL's result is, and why. A server must agree with MySQL there.

use std::collections::HashMap;

/// Which result a record really has, by file and line.
#[derive(Debug, Default)]
pub struct Known(HashMap<(String, usize), String>);

impl Known {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut known = HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [file, number, result, _reason] = fields.as_slice() else {
                return Err(format!("known.tsv: not four fields: {line}"));
            };
            let number = number.parse().map_err(|e| format!("known.tsv: {e}: {line}"))?;
            if known
                .insert((file.to_string(), number), result.to_string())
                .is_some()
            {
                return Err(format!("known.tsv: twice: {line}"));
            }
        }
        Ok(Self(known))
    }

    /// MySQL's result, if it is not the corpus's.
    pub fn result(&self, file: &str, line: usize) -> Option<&str> {
        self.0.get(&(file.to_string(), line)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_one_record() {
        let known = Known::parse("# a comment\na.test\t7\terror\twhy\n").expect("it is well-formed");
        assert_eq!(known.result("a.test", 7), Some("error"));
        assert_eq!(known.result("a.test", 8), None);
        for bad in [
            "a.test\t7\terror\n",
            "a\tb\terror\twhy\n",
            "a\t1\tok\tx\na\t1\tok\tx\n",
        ] {
            assert!(Known::parse(bad).is_err(), "{bad}");
        }
    }
}
