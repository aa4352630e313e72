//! The text of a query as a tree that says which parts can be cut out.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Text(String),
    All(Vec<Node>),
    /// `whole`, or one of the smaller texts `instead`. Either way the query has exactly one correct result.
    Cut {
        whole: Box<Node>,
        instead: Vec<Node>,
    },
}

impl Node {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A template whose `{}` are replaced by the parts, in order.
    pub fn of<const N: usize>(template: &str, parts: [Self; N]) -> Self {
        let mut parts = parts.into_iter();
        let mut all = Vec::new();
        for (number, text) in template.split("{}").enumerate() {
            if number > 0 {
                all.extend(parts.next());
            }
            if !text.is_empty() {
                all.push(Self::text(text));
            }
        }
        Self::All(all)
    }

    pub fn list(nodes: Vec<Self>, separator: &str) -> Self {
        let mut all = Vec::new();
        for (number, node) in nodes.into_iter().enumerate() {
            if number > 0 {
                all.push(Self::text(separator));
            }
            all.push(node);
        }
        Self::All(all)
    }

    /// Smaller texts that may replace it.
    pub fn or<const N: usize>(self, instead: [Self; N]) -> Self {
        Self::Cut {
            whole: Box::new(self),
            instead: instead.into(),
        }
    }

    /// Marks it as a part that can be left out.
    pub fn optional(self) -> Self {
        self.or([Self::text("")])
    }

    /// The trees with one more cut, the largest cuts first.
    pub fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Text(_) => Vec::new(),
            Self::All(parts) => parts
                .iter()
                .enumerate()
                .flat_map(|(number, part)| {
                    part.smaller().into_iter().map(move |smaller| {
                        let mut parts = parts.clone();
                        parts[number] = smaller;
                        Self::All(parts)
                    })
                })
                .collect(),
            Self::Cut { whole, instead } => instead
                .iter()
                .cloned()
                .chain(whole.smaller().into_iter().map(|whole| Self::Cut {
                    whole: Box::new(whole),
                    instead: instead.clone(),
                }))
                .collect(),
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::All(parts) => parts.iter().try_for_each(|part| write!(f, "{part}")),
            Self::Cut { whole, .. } => write!(f, "{whole}"),
        }
    }
}

/// Finds the smallest text that still `fails`, by one cut after another. Runs `fails` at most `tries` times.
pub fn minimise<E>(
    query: &Node,
    mut tries: usize,
    mut fails: impl FnMut(&str) -> Result<bool, E>,
) -> Result<Node, E> {
    let mut best = query.clone();
    'shrink: loop {
        let length = best.to_string().len();
        for candidate in best.smaller() {
            let text = candidate.to_string();
            if text.len() >= length {
                continue;
            }
            if tries == 0 {
                return Ok(best);
            }
            tries -= 1;
            if fails(&text)? {
                best = candidate;
                continue 'shrink;
            }
        }
        return Ok(best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Node {
        let condition = |name: &str| Node::text(format!("{name} = 1")).or([Node::text("TRUE")]);
        let both =
            Node::of("({} AND {})", [condition("a"), condition("bb")]).or([condition("a"), condition("bb")]);
        let limit = Node::text(" LIMIT 1").optional();
        Node::of("SELECT * FROM t WHERE {}{}", [both, limit])
    }

    #[test]
    fn a_tree_reads_as_the_whole_query() {
        assert_eq!(
            sample().to_string(),
            "SELECT * FROM t WHERE (a = 1 AND bb = 1) LIMIT 1"
        );
        assert_eq!(
            Node::list(vec![Node::text("a"), Node::text("b")], ", ").to_string(),
            "a, b"
        );
    }

    #[test]
    fn what_does_not_matter_is_cut() {
        let found = minimise(&sample(), 100, |text| Ok::<_, ()>(text.contains("bb = 1"))).unwrap();
        assert_eq!(found.to_string(), "SELECT * FROM t WHERE bb = 1");
        let all = minimise(&sample(), 100, |_| Ok::<_, ()>(true)).unwrap();
        assert_eq!(all.to_string(), "SELECT * FROM t WHERE TRUE");
    }

    #[test]
    fn the_search_ends_with_its_tries() {
        let mut runs = 0;
        let found = minimise(&sample(), 2, |_| {
            runs += 1;
            Ok::<_, ()>(false)
        });
        assert_eq!(found.unwrap(), sample());
        assert_eq!(runs, 2);
    }
}
