//! Lists of IP addresses and networks.

use std::net::IpAddr;
use std::str::FromStr;

/// Networks of IP addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addresses(Vec<(IpAddr, u8)>);

/// A word that is no IP address and no network.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an IP address or a network such as 10.0.0.0/8")]
pub struct AddressError(String);

impl Addresses {
    /// Whether no network is listed.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the address is in one of the networks.
    pub fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|(network, bits)| network_of(address, *bits) == network_of(*network, *bits))
    }
}

impl FromStr for Addresses {
    type Err = AddressError;

    fn from_str(list: &str) -> Result<Self, AddressError> {
        let words = list.split([',', ' ']).filter(|word| !word.is_empty());
        words.map(network).collect::<Result<_, _>>().map(Self)
    }
}

fn network(word: &str) -> Result<(IpAddr, u8), AddressError> {
    let wrong = || AddressError(word.to_owned());
    let (address, bits) = word.split_once('/').map_or((word, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
    if bits <= most { Ok((address.to_canonical(), bits)) } else { Err(wrong()) }
}

/// The first `bits` of an address, with its family.
pub fn network_of(address: IpAddr, bits: u8) -> (bool, u128) {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            (true, u128::from(address.to_bits().checked_shr(32 - u32::from(bits.min(32))).unwrap_or(0)))
        }
        IpAddr::V6(address) => {
            (false, address.to_bits().checked_shr(128 - u32::from(bits.min(128))).unwrap_or(0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_addresses_of_listed_networks() {
        let list: Addresses = "10.0.0.0/8, 192.0.2.7 2001:db8::/32,::1".parse().unwrap();
        for inside in ["10.255.0.1", "192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1", "::1"] {
            assert!(list.contain(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["11.0.0.1", "192.0.2.8", "2001:db9::1", "::2", "127.0.0.1"] {
            assert!(!list.contain(outside.parse().unwrap()), "{outside}");
        }
        assert!("0.0.0.0/0".parse::<Addresses>().unwrap().contain("8.8.8.8".parse().unwrap()));
        assert!(!"0.0.0.0/0".parse::<Addresses>().unwrap().contain("::1".parse().unwrap()));
        for wrong in ["x", "10.0.0.0/33", "10.0.0.0/", "::1/129"] {
            assert!(wrong.parse::<Addresses>().is_err(), "{wrong}");
        }
    }
}
