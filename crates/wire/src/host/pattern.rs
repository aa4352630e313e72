//! The host part of an account: which clients it matches, and how specific it is.

use super::{Network, Origin};

/// How specific a matching host is. The account with the largest value is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specificity {
    /// The empty host, which matches every client, as `%` does.
    Empty,
    /// `%`.
    Anything,
    /// A pattern, with the position of its first wildcard.
    Pattern(usize),
    /// A network, with the length of its prefix.
    Network(u8),
    /// A name or an address.
    Exact,
}

/// How specific the account host `pattern` is for a client from `origin`; `None` if it does not match.
pub fn host_specificity(pattern: &str, origin: Origin) -> Option<Specificity> {
    match pattern {
        "" => return Some(Specificity::Empty),
        "%" => return Some(Specificity::Anything),
        _ => {}
    }
    if let Ok(network) = pattern.parse::<Network>() {
        let ip = match origin {
            Origin::Address(ip) => ip,
            // A socket's client has the host `localhost`, and no address.
            Origin::Socket => return None,
        };
        let is_single = !pattern.contains('/');
        return network.contains(ip).then(|| {
            if is_single {
                Specificity::Exact
            } else {
                Specificity::Network(network.prefix_bits())
            }
        });
    }
    let fits = |host: &str| like(pattern.as_bytes(), host.as_bytes());
    let host = origin.host();
    let by_address = match origin {
        Origin::Address(ip) => fits(&ip.to_string()),
        Origin::Socket => false,
    };
    (fits(&host) || by_address).then(|| of_matching(pattern))
}

/// The same for something that runs in the name of an account with the host `host`, which may be a pattern itself.
pub fn host_specificity_for_host(pattern: &str, host: &str) -> Option<Specificity> {
    if let Ok(ip) = host.parse() {
        return host_specificity(pattern, Origin::Address(ip));
    }
    match pattern {
        "" => Some(Specificity::Empty),
        "%" => Some(Specificity::Anything),
        _ => like(pattern.as_bytes(), host.as_bytes()).then(|| of_matching(pattern)),
    }
}

fn of_matching(pattern: &str) -> Specificity {
    match first_wildcard(pattern) {
        Some(position) => Specificity::Pattern(position),
        None => Specificity::Exact,
    }
}

fn first_wildcard(pattern: &str) -> Option<usize> {
    let mut escaped = false;
    pattern.bytes().position(|byte| {
        let found = !escaped && matches!(byte, b'%' | b'_');
        escaped = byte == b'\\' && !escaped;
        found
    })
}

/// LIKE for host names (ASCII), ignoring case. Linear in practice, since only the last `%` is retried.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some(b'%') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'_') if t < text.len() => {
                p += 1;
                t += 1;
                continue;
            }
            Some(byte) => {
                let escaped = *byte == b'\\' && p + 1 < pattern.len();
                let wanted = if escaped { pattern.get(p + 1) } else { Some(byte) };
                if let (Some(wanted), Some(have)) = (wanted, text.get(t))
                    && *byte != b'_'
                    && wanted.eq_ignore_ascii_case(have)
                {
                    p += if escaped { 2 } else { 1 };
                    t += 1;
                    continue;
                }
            }
            None if t == text.len() => return true,
            None => {}
        }
        // No match here: the last `%` takes one character more.
        match retry {
            Some((after_percent, from)) if from < text.len() => {
                retry = Some((after_percent, from + 1));
                p = after_percent;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(like(b"192.0.2.%", b"192.0.2.17"));
        assert!(!like(b"192.0.2.%", b"192.0.3.17"));
        assert!(like(b"%.example.com", b"db1.EXAMPLE.com"));
        assert!(like(b"db_.%.com", b"db1.x.com"));
        assert!(!like(b"db_", b"db"));
        assert!(like(b"a\\_b", b"a_b"));
        assert!(!like(b"a\\_b", b"axb"));
        assert!(like(b"%%a%b", b"xaab"));
        assert!(!like(b"%a", b"ab"));
        assert!(like(b"%", b""));
    }

    #[test]
    fn local_clients_have_a_name_and_an_address() {
        let loopback = Origin::Address("127.0.0.1".parse().unwrap());
        assert_eq!(host_specificity("localhost", loopback), Some(Specificity::Exact));
        assert_eq!(host_specificity("127.0.0.1", loopback), Some(Specificity::Exact));
        assert_eq!(host_specificity("127.%", loopback), Some(Specificity::Pattern(4)));
        assert_eq!(
            host_specificity("LOCALHOST", Origin::Socket),
            Some(Specificity::Exact)
        );
        assert_eq!(host_specificity("127.0.0.1", Origin::Socket), None);
        assert_eq!(
            host_specificity("localhost", Origin::Address("192.0.2.1".parse().unwrap())),
            None
        );
    }
}
