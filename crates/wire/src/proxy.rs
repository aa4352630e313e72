//! The PROXY protocol, version 2: a load balancer's header that names the client it forwards.
//!
//! This module only reads the header. `server` decides which peers may send one. Version 1, which is text,
//! is refused.
//!
//! Source: "The PROXY protocol, Versions 1 & 2", section 2.2, in the documentation of HAProxy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use types::{Error, Result};

/// The first bytes of every header of version 2.
pub const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family, length.
const FIXED_BYTES: usize = 16;
/// Addresses and extensions. A longer body is refused.
const BODY_BYTES_MAX: usize = 4096;

/// The contents of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxiedPeer {
    /// The balancer's own connection (a health check): the peer is the client.
    Local,
    /// The client's address.
    Address(SocketAddr),
    /// A client of an address family without addresses (a UNIX socket on the balancer's side).
    Unknown,
}

/// The result of [`parse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// At least so many bytes are needed.
    Incomplete(usize),
    /// The header took so many bytes.
    Complete(ProxiedPeer, usize),
}

/// Whether the bytes (at least one) can be the beginning of a header. No MySQL client sends anything before
/// the server does.
pub fn looks_like_header(bytes: &[u8]) -> bool {
    let length = bytes.len().min(SIGNATURE.len());
    bytes[..length] == SIGNATURE[..length] || bytes.starts_with(b"PROXY")
}

/// Reads a header from the first bytes of a connection. Fails with 1105 on anything else, including version
/// 1.
pub fn parse(bytes: &[u8]) -> Result<Parsed> {
    if bytes.starts_with(b"PROXY") {
        return Err(invalid(
            "version 1 is not supported; configure the balancer to send version 2",
        ));
    }
    let known = bytes.len().min(SIGNATURE.len());
    if bytes[..known] != SIGNATURE[..known] {
        return Err(invalid("expected a PROXY protocol header"));
    }
    let Some(&[version_and_command, family, length_high, length_low]) = bytes.get(12..FIXED_BYTES) else {
        return Ok(Parsed::Incomplete(FIXED_BYTES));
    };
    if version_and_command >> 4 != 2 {
        return Err(invalid("unknown version"));
    }
    let length = usize::from(u16::from_be_bytes([length_high, length_low]));
    if length > BODY_BYTES_MAX {
        return Err(invalid("header too long"));
    }
    let total = FIXED_BYTES + length;
    let Some(body) = bytes.get(FIXED_BYTES..total) else {
        return Ok(Parsed::Incomplete(total));
    };
    let peer = match version_and_command & 0x0f {
        0 => ProxiedPeer::Local,
        1 => address(family, body)?,
        _ => return Err(invalid("unknown command")),
    };
    Ok(Parsed::Complete(peer, total))
}

fn address(family: u8, body: &[u8]) -> Result<ProxiedPeer> {
    let too_short = || invalid("addresses cut short");
    let port = |at: usize| -> Result<u16> {
        let bytes = body.get(at..at + 2).ok_or_else(too_short)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    match family {
        // TCP over IPv4: source and destination address, source and destination port.
        0x11 => {
            let source: [u8; 4] = *body.first_chunk().ok_or_else(too_short)?;
            Ok(ProxiedPeer::Address(SocketAddr::new(
                IpAddr::V4(Ipv4Addr::from(source)),
                port(8)?,
            )))
        }
        0x21 => {
            let source: [u8; 16] = *body.first_chunk().ok_or_else(too_short)?;
            let ip = IpAddr::V6(Ipv6Addr::from(source)).to_canonical();
            Ok(ProxiedPeer::Address(SocketAddr::new(ip, port(32)?)))
        }
        0x00 | 0x31 => Ok(ProxiedPeer::Unknown),
        _ => Err(invalid("unknown address family")),
    }
}

fn invalid(reason: &str) -> Error {
    Error::new(
        types::errno::ER_UNKNOWN_ERROR,
        format!("Invalid PROXY protocol header: {reason}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend([0x20 | command, family]);
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn addresses_of_both_families() {
        let v4 = header(1, 0x11, &[192, 0, 2, 7, 192, 0, 2, 1, 0x30, 0x39, 0x0f, 0xa0]);
        let peer = ProxiedPeer::Address("192.0.2.7:12345".parse().unwrap());
        assert_eq!(parse(&v4).unwrap(), Parsed::Complete(peer, v4.len()));
        let mut body = [0u8; 36];
        body[..16].copy_from_slice(&"2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
        body[32..34].copy_from_slice(&[0, 80]);
        let v6 = [header(1, 0x21, &body), b"next".to_vec()].concat();
        let peer = ProxiedPeer::Address("[2001:db8::1]:80".parse().unwrap());
        assert_eq!(parse(&v6).unwrap(), Parsed::Complete(peer, v6.len() - 4));
        let local = header(0, 0, &[]);
        assert_eq!(parse(&local).unwrap(), Parsed::Complete(ProxiedPeer::Local, 16));
    }

    #[test]
    fn what_arrives_in_pieces_is_waited_for() {
        let v4 = header(1, 0x11, &[192, 0, 2, 7, 192, 0, 2, 1, 0x30, 0x39, 0x0f, 0xa0]);
        assert_eq!(parse(&v4[..1]).unwrap(), Parsed::Incomplete(16));
        assert_eq!(parse(&v4[..16]).unwrap(), Parsed::Incomplete(28));
    }

    #[test]
    fn everything_else_is_refused() {
        assert!(parse(b"PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n").is_err());
        assert!(parse(b"\x20\0\0\x01\x85").is_err());
        assert!(parse(&header(1, 0x11, &[1, 2, 3])).is_err());
        assert!(parse(&header(2, 0x11, &[0; 12])).is_err());
        assert!(parse(&header(1, 0x11, &[0; 5000])).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>, with_signature: bool) {
            let mut all = if with_signature { SIGNATURE.to_vec() } else { Vec::new() };
            all.extend(bytes);
            let _ = parse(&all);
            let _ = looks_like_header(&all);
        }
    }
}
