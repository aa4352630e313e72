//! Global transaction ids: which transactions are applied, whatever file of whatever server has them.
//!
//! MySQL's sets are `UUID:1-5:7[:TAG:1-3]`, a server's transactions by number; MariaDB's positions
//! `DOMAIN-SERVER-NUMBER`, the last transaction of each domain.

use std::collections::BTreeMap;
use std::fmt;

use mysql_common::packets::Sid;

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gtid {
    MySql {
        server: [u8; 16],
        number: u64,
    },
    MariaDb {
        domain: u32,
        server: u32,
        number: u64,
    },
    /// One with a tag, which is not read here.
    Tagged,
}

/// The transactions that are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GtidSet {
    /// By server and tag: ranges, first and last.
    MySql(BTreeMap<(String, String), Vec<(u64, u64)>>),
    /// By domain: server and number.
    MariaDb(BTreeMap<u32, (u32, u64)>),
}

impl GtidSet {
    /// `None`: the text is not a set.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        if parts.iter().any(|part| part.contains(':')) {
            let mut set = BTreeMap::new();
            for part in parts {
                add_server(part, &mut set)?;
            }
            return Some(Self::MySql(set));
        }
        let mut set = BTreeMap::new();
        for part in parts {
            let mut numbers = part.split('-');
            let domain = numbers.next()?.parse().ok()?;
            let server = numbers.next()?.parse().ok()?;
            set.insert(domain, (server, numbers.next()?.parse().ok()?));
            if numbers.next().is_some() {
                return None;
            }
        }
        (!set.is_empty()).then_some(Self::MariaDb(set))
    }

    /// Adds a transaction. `false`: the set is not known any more.
    pub(crate) fn add(&mut self, gtid: &Gtid) -> bool {
        match (self, gtid) {
            (Self::MySql(set), Gtid::MySql { server, number }) => {
                let ranges = set.entry((uuid(server), String::new())).or_default();
                insert(ranges, *number, *number);
                true
            }
            (
                Self::MariaDb(set),
                Gtid::MariaDb {
                    domain,
                    server,
                    number,
                },
            ) => {
                set.insert(*domain, (*server, *number));
                true
            }
            _ => false,
        }
    }

    /// MySQL's set as the request for its log has it; `None` for MariaDB's.
    pub(crate) fn sids(&self) -> Option<Vec<Sid<'static>>> {
        match self {
            Self::MySql(set) => {
                let sid = |((server, tag), ranges): (&(String, String), &Vec<(u64, u64)>)| {
                    format!(
                        "{server}{}{tag}{}",
                        if tag.is_empty() { "" } else { ":" },
                        shown(ranges)
                    )
                    .parse()
                    .ok()
                };
                set.iter().map(sid).collect()
            }
            Self::MariaDb(_) => None,
        }
    }
}

/// `UUID:1-5:7:TAG:1-3`
fn add_server(text: &str, set: &mut BTreeMap<(String, String), Vec<(u64, u64)>>) -> Option<()> {
    let (server, rest) = text.split_once(':')?;
    let is_uuid = server.len() == 36
        && server
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if !is_uuid {
        return None;
    }
    let mut tag = String::new();
    for part in rest.split(':').map(str::trim) {
        if !part.starts_with(|first: char| first.is_ascii_digit()) {
            tag = part.to_ascii_lowercase();
            continue;
        }
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first == 0 || first > last {
            return None;
        }
        insert(
            set.entry((server.to_ascii_lowercase(), tag.clone())).or_default(),
            first,
            last,
        );
    }
    Some(())
}

/// Adds a range to others, and joins those that touch.
fn insert(ranges: &mut Vec<(u64, u64)>, first: u64, last: u64) {
    // The usual case: the next number of the last range.
    if let Some(end) = ranges.last_mut()
        && end.1.checked_add(1) == Some(first)
    {
        end.1 = last;
        return;
    }
    ranges.push((first, last));
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for &(first, last) in ranges.iter() {
        match joined.last_mut() {
            Some(end) if first <= end.1.saturating_add(1) => end.1 = end.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    *ranges = joined;
}

fn shown(ranges: &[(u64, u64)]) -> String {
    let range = |(first, last): &(u64, u64)| match first == last {
        true => format!(":{first}"),
        false => format!(":{first}-{last}"),
    };
    ranges.iter().map(range).collect()
}

fn uuid(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (position, byte) in bytes.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = match self {
            Self::MySql(set) => (set.iter())
                .map(|((server, tag), ranges)| match tag.is_empty() {
                    true => format!("{server}{}", shown(ranges)),
                    false => format!("{server}:{tag}{}", shown(ranges)),
                })
                .collect(),
            Self::MariaDb(set) => (set.iter())
                .map(|(domain, (server, number))| format!("{domain}-{server}-{number}"))
                .collect(),
        };
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    #[test]
    fn sets_are_read_and_written() {
        for (text, expected) in [
            (format!("{SERVER}:1-5:7"), format!("{SERVER}:1-5:7")),
            (format!("{SERVER}:7:1-5:6, {SERVER}:9"), format!("{SERVER}:1-7:9")),
            (
                format!("{SERVER}:1-3:blue:1-2:5"),
                format!("{SERVER}:1-3,{SERVER}:blue:1-2:5"),
            ),
            ("0-1-100,2-5-7".to_owned(), "0-1-100,2-5-7".to_owned()),
        ] {
            assert_eq!(GtidSet::parse(&text).unwrap().to_string(), expected);
        }
        for text in [
            "",
            "x",
            "1-2",
            "1-2-3-4",
            &format!("{SERVER}:5-1"),
            &format!("{SERVER}:0"),
            "ab:1",
        ] {
            assert_eq!(GtidSet::parse(text), None, "{text}");
        }
    }

    #[test]
    fn transactions_are_added() {
        let mut set = GtidSet::parse(&format!("{SERVER}:1-5:7")).unwrap();
        let server = *b"\x3e\x11\xfa\x47\x71\xca\x11\xe1\x9e\x33\xc8\x0a\xa9\x42\x95\x62";
        assert!(set.add(&Gtid::MySql { server, number: 6 }));
        assert!(set.add(&Gtid::MySql { server, number: 8 }));
        assert_eq!(set.to_string(), format!("{SERVER}:1-8"));
        assert_eq!(set.sids().map(|sids| sids.len()), Some(1));
        let other = Gtid::MariaDb {
            domain: 0,
            server: 1,
            number: 2,
        };
        assert!(!set.add(&other));
        let mut set = GtidSet::parse("0-1-1").unwrap();
        assert!(set.add(&other));
        assert_eq!(set.to_string(), "0-1-2");
    }
}
