//! Networks: `192.0.2.0/24`, `192.0.2.0/255.255.255.0`, `2001:db8::/32`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// A range of addresses that share their first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

/// The text is not a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkError(String);

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is not a network; write it as 192.0.2.0/24, 2001:db8::/32 or a single address",
            self.0
        )
    }
}

impl std::error::Error for NetworkError {}

impl Network {
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.address, ip.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => {
                let differing = u32::from(network) ^ u32::from(ip);
                differing.leading_zeros() >= u32::from(self.prefix_bits)
            }
            (IpAddr::V6(network), IpAddr::V6(ip)) => {
                let differing = u128::from(network) ^ u128::from(ip);
                differing.leading_zeros() >= u32::from(self.prefix_bits)
            }
            _ => false,
        }
    }

    pub fn prefix_bits(&self) -> u8 {
        self.prefix_bits
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let error = || NetworkError(text.to_owned());
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| error())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match mask.map(str::trim) {
            None => bits_max,
            Some(mask) => match (mask.parse::<u8>(), mask.parse::<Ipv4Addr>()) {
                (Ok(bits), _) if bits <= bits_max => bits,
                (_, Ok(mask)) if address.is_ipv4() => {
                    let bits = u32::from(mask).leading_ones();
                    // A mask with holes is not a prefix.
                    if u32::from(mask).count_ones() != bits {
                        return Err(error());
                    }
                    bits as u8
                }
                _ => return Err(error()),
            },
        };
        Ok(Self { address, prefix_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, ip: &str) -> bool {
        network.parse::<Network>().unwrap().contains(ip.parse().unwrap())
    }

    #[test]
    fn ranges() {
        assert!(contains("192.0.2.0/24", "192.0.2.255"));
        assert!(!contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("192.0.2.0/255.255.255.0", "192.0.2.1"));
        assert!(contains("192.0.2.1", "192.0.2.1"));
        assert!(!contains("192.0.2.1", "192.0.2.2"));
        assert!(contains("0.0.0.0/0", "8.8.8.8"));
        assert!(contains("2001:db8::/32", "2001:db8:ffff::1"));
        assert!(!contains("2001:db8::/32", "192.0.2.1"));
        assert!(contains("192.0.2.0/24", "::ffff:192.0.2.9"));
    }

    #[test]
    fn what_is_none() {
        for text in [
            "",
            "localhost",
            "192.0.2.0/33",
            "192.0.2.0/255.0.255.0",
            "192.0.2.0/x",
            "::/129",
            "%",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
