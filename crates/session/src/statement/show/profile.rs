//! SHOW PROFILES and SHOW PROFILE.

use syntax::ast::{ProfileKind, ProfileShow};
use types::{SqlType, Value};

use crate::events::tables::stages;
use crate::listing::{Listing, int_type, text, text_type};
use crate::session::Session;

/// The columns of SHOW PROFILE, each with what has to be named to see it. They are the columns of
/// `information_schema.PROFILING` from the third on.
const COLUMNS: [(&str, Option<ProfileKind>); 16] = [
    ("Status", None),
    ("Duration", None),
    ("CPU_user", Some(ProfileKind::Cpu)),
    ("CPU_system", Some(ProfileKind::Cpu)),
    ("Context_voluntary", Some(ProfileKind::ContextSwitches)),
    ("Context_involuntary", Some(ProfileKind::ContextSwitches)),
    ("Block_ops_in", Some(ProfileKind::BlockIo)),
    ("Block_ops_out", Some(ProfileKind::BlockIo)),
    ("Messages_sent", Some(ProfileKind::Ipc)),
    ("Messages_received", Some(ProfileKind::Ipc)),
    ("Page_faults_major", Some(ProfileKind::PageFaults)),
    ("Page_faults_minor", Some(ProfileKind::PageFaults)),
    ("Swaps", Some(ProfileKind::Swaps)),
    ("Source_function", Some(ProfileKind::Source)),
    ("Source_file", Some(ProfileKind::Source)),
    ("Source_line", Some(ProfileKind::Source)),
];

/// How many columns of the table come before these: the numbers of the statement and of the stage.
const NUMBERS: usize = 2;

/// SHOW PROFILES: the durations in seconds.
pub fn profiles(session: &Session) -> Listing {
    let mut listing = Listing::new(&[
        ("Query_ID", int_type(11)),
        ("Duration", SqlType::DOUBLE),
        ("Query", text_type(300)),
    ])
    .all_never_null();
    for profile in session.profiles.last(session.settings.profiling_history) {
        listing.push(vec![
            Value::Int(i64::try_from(profile.id).unwrap_or(i64::MAX)),
            Value::Double(profile.took.as_secs_f64()),
            text(profile.text.as_str()),
        ]);
    }
    listing
}

/// SHOW PROFILE. A statement that is not among the last ones has no stages.
pub fn profile(session: &Session, show: &ProfileShow) -> Listing {
    let is_shown = |kind: Option<ProfileKind>| {
        kind.is_none_or(|kind| show.kinds.contains(&kind) || show.kinds.contains(&ProfileKind::All))
    };
    let shown: Vec<usize> = (0..COLUMNS.len()).filter(|at| is_shown(COLUMNS[*at].1)).collect();
    let columns: Vec<(&str, SqlType)> = shown.iter().map(|at| (COLUMNS[*at].0, type_of(*at))).collect();
    let mut listing = Listing::new(&columns).never_null(&["Status", "Duration"]);
    for column in &mut listing.columns {
        // MySQL answers with a query of this table.
        "PROFILING".clone_into(&mut column.table);
        "PROFILING".clone_into(&mut column.original_table);
        column.original_name = match column.name.as_str() {
            "Status" => "STATE".to_owned(),
            name => name.to_uppercase(),
        };
    }
    let rows = session
        .profiles
        .find(show.query)
        .map(|profile| stages(&profile))
        .unwrap_or_default();
    let limit = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let rows = rows
        .into_iter()
        .skip(limit(show.offset))
        .take(show.count.map_or(usize::MAX, limit));
    for row in rows {
        listing.push(shown.iter().map(|at| row[NUMBERS + at].clone()).collect());
    }
    listing
}

fn type_of(column: usize) -> SqlType {
    match COLUMNS[column].0 {
        "Status" | "Source_function" => text_type(30),
        "Source_file" => text_type(20),
        "Duration" | "CPU_user" | "CPU_system" => SqlType::decimal(9, 6),
        _ => int_type(21),
    }
}
