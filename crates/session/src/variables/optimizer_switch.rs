//! `optimizer_switch`: a list of flags, of which SET changes those that it names (manual 8.9.2 "Switchable
//! Optimizations").

use optimizer::Switches;

use super::flags::{Flags, flags_on};

/// Every flag of MySQL 8.0 in the order in which it prints them.
const NAMES: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "derived_merge",
    "use_invisible_indexes",
    "skip_scan",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "hypergraph_optimizer",
    "derived_condition_pushdown",
];

/// Those that are on by default: the optimizations that StemDB has.
const ON: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "engine_condition_pushdown",
    "semijoin",
    "derived_merge",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "derived_condition_pushdown",
];

/// The variable's flags.
pub const FLAGS: Flags<'_> = Flags { names: NAMES, on: ON };

/// The flags that the optimizer uses.
pub fn parsed(text: &str) -> Switches {
    let on = flags_on(text);
    let is_on = |flag: &str| on.contains(&flag);
    Switches {
        semijoin: is_on("semijoin"),
        derived_merge: is_on("derived_merge"),
        derived_condition_pushdown: is_on("derived_condition_pushdown"),
        subquery_to_derived: is_on("subquery_to_derived"),
        hash_join: is_on("hash_join"),
        prefer_ordering_index: is_on("prefer_ordering_index"),
        use_invisible_indexes: is_on("use_invisible_indexes"),
        index_union: is_on("index_merge") && is_on("index_merge_union"),
        engine_condition_pushdown: is_on("engine_condition_pushdown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_changes_the_flags_that_it_names() {
        let text = FLAGS
            .changed(&FLAGS.default_text(), "SemiJoin=OFF,mrr=on")
            .unwrap();
        assert!(!parsed(&text).semijoin && parsed(&text).derived_merge && flags_on(&text).contains(&"mrr"));
        let text = FLAGS.changed(&text, "derived_merge=off").unwrap();
        assert!(!parsed(&text).semijoin && !parsed(&text).derived_merge);
        assert_eq!(FLAGS.changed(&text, "default").unwrap(), FLAGS.default_text());
        assert!(!parsed(&FLAGS.changed(&text, "semijoin=off,default,mrr=off").unwrap()).semijoin);
        assert_eq!(FLAGS.changed(&text, "").unwrap(), text);
        assert_eq!(FLAGS.of_bits(3).unwrap().matches("=on").count(), 2);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (list, bad) in [
            ("nosuch=on", "nosuch=on"),
            ("semijoin=foo", "semijoin=foo"),
            ("semijoin", "semijoin"),
            ("mrr=off, semijoin=off", " semijoin=off"),
            ("semijoin=off,semijoin=on", "semijoin=on"),
            ("default,default", "default"),
        ] {
            assert_eq!(FLAGS.changed(&FLAGS.default_text(), list).unwrap_err(), bad);
        }
    }
}
