//! What of the optimizer can be off: each rule, by one name.

/// Declares the rules with their names.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal,)*) => {
        /// A way to make a plan cheaper, which may be off. No answer depends on it: the random queries of
        /// `stemdb-tests agree` run without each of them in turn.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// The names of all rules, as `stemdb_optimizer_rules` lists them. A rule with a file of its own in
            /// `rules` has the name of the file.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            const ALL: &'static [Self] = &[$(Self::$rule),*];
        }
    };
}

rules! {
    /// A common table expression that is used once becomes a derived table.
    CommonTables = "common_tables",
    /// An order that nothing depends on is dropped.
    Sorts = "sorts",
    /// What all branches of an OR have in common becomes conditions of its own.
    Disjunctions = "disjunctions",
    /// Conditions go down to the tables that they are about. Without it there are no semi joins and no inferred
    /// constants, and outer joins stay outer joins.
    PushFilters = "push_filters",
    /// They go below grouping, DISTINCT, windows and set operations too.
    PushBelowGroups = "push_below_groups",
    /// Constants are inferred over equalities.
    Infer = "infer",
    /// Outer joins whose NULLs are left out become inner joins.
    OuterJoin = "outer_join",
    /// EXISTS and IN become semi joins, NOT EXISTS and NOT IN anti joins.
    SemiJoin = "semi_join",
    /// Select lists of derived tables are put in the place of their columns.
    DerivedTables = "derived_tables",
    /// Correlated aggregates become joins with their groups.
    ScalarAggregate = "scalar_aggregate",
    /// Tables are joined in the cheapest order, not in the order in which they are written.
    JoinOrder = "join_order",
    /// Joins by keys read one side into a hash table.
    HashJoin = "hash_join",
    /// Joins find the partners of a row by an index.
    LookupJoin = "lookup_join",
    /// MIN and MAX read one row from the end of an index.
    Extreme = "extreme",
    /// Of each group only the ends are read, if an index has them.
    GroupEnds = "group_ends",
    /// The parts of an OR are served by an index each.
    IndexUnion = "index_union",
    /// An index that gives the order under a LIMIT is weighed against those that serve conditions.
    OrderingIndex = "ordering_index",
    /// A sort under a LIMIT holds no more rows than that.
    TopRows = "top_rows",
    /// The stores compute what they can.
    Pushed = "pushed",
}

/// The rules that are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// A bit for each rule that is off.
    off: u32,
}

impl Rules {
    /// The rules with these names.
    pub fn named(names: &[&str]) -> Self {
        let mut rules = Self::default();
        for (rule, name) in Rule::ALL.iter().zip(Rule::NAMES) {
            if !names.contains(name) {
                rules.switch_off(*rule);
            }
        }
        rules
    }

    /// Turns a rule off.
    pub fn switch_off(&mut self, rule: Rule) {
        self.off |= 1 << rule as u32;
    }

    /// Whether a rule is on.
    pub fn has(self, rule: Rule) -> bool {
        self.off >> rule as u32 & 1 == 0
    }
}

/// What a session has chosen of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    pub rules: Rules,
    /// Indexes that are INVISIBLE are used.
    pub use_invisible_indexes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rules_are_on_but_for_those_that_are_not_named() {
        assert_eq!(Rules::named(Rule::NAMES), Rules::default());
        assert!(Rule::ALL.len() <= u32::BITS as usize);
        let without: Vec<&str> = Rule::NAMES
            .iter()
            .copied()
            .filter(|name| *name != "infer")
            .collect();
        let rules = Rules::named(&without);
        assert!(!rules.has(Rule::Infer) && rules.has(Rule::SemiJoin) && rules.has(Rule::Pushed));
    }

    #[test]
    fn each_rewrite_can_be_off() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(
                name == "mod" || Rule::NAMES.contains(&name),
                "{name} has no switch"
            );
        }
    }
}
