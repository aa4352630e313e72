//! `optimizer_switch`: a list of flags, of which SET changes those that it names (manual 8.9.2 "Switchable
//! Optimizations").

use optimizer::Switches;

/// Every flag of MySQL 8.0 in the order in which it prints them, with its default in StemDB: on if StemDB has
/// the optimization.
const FLAGS: &[(&str, bool)] = &[
    ("index_merge", true),
    ("index_merge_union", true),
    ("index_merge_sort_union", false),
    ("index_merge_intersection", false),
    ("engine_condition_pushdown", true),
    ("index_condition_pushdown", false),
    ("mrr", false),
    ("mrr_cost_based", false),
    ("block_nested_loop", false),
    ("batched_key_access", false),
    ("materialization", false),
    ("semijoin", true),
    ("loosescan", false),
    ("firstmatch", false),
    ("duplicateweedout", false),
    ("subquery_materialization_cost_based", false),
    ("use_index_extensions", false),
    ("condition_fanout_filter", false),
    ("derived_merge", true),
    ("use_invisible_indexes", false),
    ("skip_scan", false),
    ("hash_join", true),
    ("subquery_to_derived", true),
    ("prefer_ordering_index", true),
    ("hypergraph_optimizer", false),
    ("derived_condition_pushdown", true),
];

/// The list as it is printed.
fn printed(is_on: impl Fn(usize) -> bool) -> String {
    let flags = FLAGS.iter().enumerate();
    let one =
        |(at, (name, _)): (usize, &(&str, bool))| format!("{name}={}", if is_on(at) { "on" } else { "off" });
    flags.map(one).collect::<Vec<_>>().join(",")
}

pub fn default_text() -> String {
    printed(|at| FLAGS[at].1)
}

/// The flags for the bits of a number.
pub fn of_bits(bits: u64) -> Option<String> {
    // The bit after the last flag means `default`.
    (bits >> (FLAGS.len() + 1) == 0).then(|| printed(|at| bits >> at & 1 == 1))
}

/// Applies a list to `current`: `flag=on|off|default, ...`. The word `default` sets all flags that the list
/// does not name to their defaults. Fails with the first invalid item.
pub fn changed(current: &str, list: &str) -> Result<String, String> {
    let mut named: Vec<Option<bool>> = vec![None; FLAGS.len()];
    let mut all_default = false;
    for item in list.split(',').filter(|_| !list.is_empty()) {
        let wrong = || item.to_owned();
        if item.eq_ignore_ascii_case("default") {
            if all_default {
                return Err(wrong());
            }
            all_default = true;
            continue;
        }
        let (name, value) = item.split_once('=').ok_or_else(wrong)?;
        let at = FLAGS.iter().position(|(flag, _)| flag.eq_ignore_ascii_case(name));
        let at = at.filter(|at| named[*at].is_none()).ok_or_else(wrong)?;
        named[at] = Some(match value.to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            "default" => FLAGS[at].1,
            _ => return Err(wrong()),
        });
    }
    let on = flags_on(current);
    Ok(printed(|at| {
        let otherwise = if all_default {
            FLAGS[at].1
        } else {
            on.contains(&FLAGS[at].0)
        };
        named[at].unwrap_or(otherwise)
    }))
}

/// The flags that are on.
fn flags_on(text: &str) -> Vec<&str> {
    text.split(',')
        .filter_map(|item| item.strip_suffix("=on"))
        .collect()
}

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
        let text = changed(&default_text(), "SemiJoin=OFF,mrr=on").unwrap();
        assert!(!parsed(&text).semijoin && parsed(&text).derived_merge && flags_on(&text).contains(&"mrr"));
        let text = changed(&text, "derived_merge=off").unwrap();
        assert!(!parsed(&text).semijoin && !parsed(&text).derived_merge);
        assert_eq!(changed(&text, "default").unwrap(), default_text());
        assert!(!parsed(&changed(&text, "semijoin=off,default,mrr=off").unwrap()).semijoin);
        assert_eq!(changed(&text, "").unwrap(), text);
        assert_eq!(of_bits(3).unwrap().matches("=on").count(), 2);
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
            assert_eq!(changed(&default_text(), list).unwrap_err(), bad);
        }
    }
}
