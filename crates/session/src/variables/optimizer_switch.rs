//! `optimizer_switch`: a list of flags, of which SET changes those that it names (manual 8.9.2 "Switchable
//! Optimizations"), and `stemdb_optimizer_rules`, the same for every rule of our optimizer.

use optimizer::{Rule, Rules, Switches};

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

/// The flags of `stemdb_optimizer_rules`: the rules of the optimizer by their own names.
pub const RULES: Flags<'_> = Flags {
    names: Rule::NAMES,
    on: Rule::NAMES,
};

/// The flags of `optimizer_trace`.
pub const TRACE: Flags<'_> = Flags {
    names: &["enabled", "one_line"],
    on: &[],
};

const FEATURES: &[&str] = &[
    "greedy_search",
    "range_optimizer",
    "dynamic_range",
    "repeated_subselect",
];

/// The flags of `optimizer_trace_features`.
pub const TRACE_FEATURES: Flags<'_> = Flags {
    names: FEATURES,
    on: FEATURES,
};

/// MySQL's flags for rules that the optimizer has.
const OF_RULES: [(&str, Rule); 9] = [
    ("index_merge", Rule::IndexUnion),
    ("index_merge_union", Rule::IndexUnion),
    ("engine_condition_pushdown", Rule::Pushed),
    ("semijoin", Rule::SemiJoin),
    ("derived_merge", Rule::DerivedTables),
    ("hash_join", Rule::HashJoin),
    ("subquery_to_derived", Rule::ScalarAggregate),
    ("prefer_ordering_index", Rule::OrderingIndex),
    ("derived_condition_pushdown", Rule::PushBelowGroups),
];

/// What `optimizer_switch` and `stemdb_optimizer_rules` say to the optimizer. A rule is off if one of them turns it
/// off.
pub fn parsed(switch: &str, rules: &str) -> Switches {
    let on = flags_on(switch);
    let mut rules = Rules::named(&flags_on(rules));
    for (flag, rule) in OF_RULES {
        if !on.contains(&flag) {
            rules.switch_off(rule);
        }
    }
    Switches {
        rules,
        use_invisible_indexes: on.contains(&"use_invisible_indexes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_changes_the_flags_that_it_names() {
        let has = |text: &str, rule| parsed(text, &RULES.default_text()).rules.has(rule);
        let text = FLAGS
            .changed(&FLAGS.default_text(), "SemiJoin=OFF,mrr=on")
            .unwrap();
        assert!(!has(&text, Rule::SemiJoin) && has(&text, Rule::DerivedTables));
        assert!(flags_on(&text).contains(&"mrr"));
        let text = FLAGS.changed(&text, "derived_merge=off").unwrap();
        assert!(!has(&text, Rule::SemiJoin) && !has(&text, Rule::DerivedTables));
        assert_eq!(FLAGS.changed(&text, "default").unwrap(), FLAGS.default_text());
        let text = FLAGS.changed(&text, "semijoin=off,default,mrr=off").unwrap();
        assert!(!has(&text, Rule::SemiJoin));
        assert_eq!(FLAGS.changed(&text, "").unwrap(), text);
        assert_eq!(FLAGS.of_bits(3).unwrap().matches("=on").count(), 2);
    }

    #[test]
    fn either_variable_turns_a_rule_off() {
        let (switch, rules) = (FLAGS.default_text(), RULES.default_text());
        assert_eq!(parsed(&switch, &rules), Switches::default());
        let off = RULES.changed(&rules, "infer=off,semi_join=off").unwrap();
        let found = parsed(&switch, &off).rules;
        assert!(!found.has(Rule::Infer) && !found.has(Rule::SemiJoin) && found.has(Rule::JoinOrder));
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
