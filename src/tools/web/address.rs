//! Which addresses may be fetched from: public ones, and of the others those that the configuration allows.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are not public: this host, private, shared, loopback, link-local (where clouds keep their
/// metadata), protocol and documentation ranges, multicast, reserved (the IANA special-purpose registry), and the
/// address at which one cloud serves its machines.
const NOT_PUBLIC_4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// IPv6 networks within 2000::/3 that are not public: protocol assignments with Teredo, documentation, 6to4.
const NOT_PUBLIC_6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address is one of the public internet. What is not known to be public is not.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !NOT_PUBLIC_4.iter().any(|(network, length)| within_4(address, *network, *length))
        }
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public(IpAddr::V4(inner)),
            None => {
                within_6(address, Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)
                    && !NOT_PUBLIC_6.iter().any(|(network, length)| within_6(address, *network, *length))
            }
        },
    }
}

/// The IPv4 address that an IPv6 one stands for: mapped (::ffff:0:0/96), or translated (64:ff9b::/96).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let translated = within_6(address, Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
    let [.., a, b, c, d] = address.octets();
    address.to_ipv4_mapped().or_else(|| translated.then(|| Ipv4Addr::new(a, b, c, d)))
}

fn within_4(address: Ipv4Addr, network: Ipv4Addr, length: u32) -> bool {
    let differ = address.to_bits() ^ network.to_bits();
    differ.leading_zeros() >= length
}

fn within_6(address: Ipv6Addr, network: Ipv6Addr, length: u32) -> bool {
    let differ = address.to_bits() ^ network.to_bits();
    differ.leading_zeros() >= length
}

/// Something that is allowed though it is not public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// A network, or one address.
    Network(IpAddr, u32),
    /// A host by its name, wherever it is.
    Host(String),
}

impl Allowed {
    /// Reads `10.0.0.0/8`, `::1` or `intranet.example`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Allowed> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
            None => (text, None),
        };
        if let Ok(address) = address.parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let length = length.unwrap_or(most);
            return (length <= most).then_some(Allowed::Network(address, length));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name =
            !text.is_empty() && text.chars().all(plain) && text.contains(|c: char| c.is_ascii_alphabetic());
        is_name.then(|| Allowed::Host(text.to_ascii_lowercase()))
    }

    /// Whether it allows this address of this host.
    pub fn allows(&self, host: &str, address: IpAddr) -> bool {
        match (self, address.to_canonical()) {
            (Allowed::Host(name), _) => name.eq_ignore_ascii_case(host.trim_end_matches('.')),
            (Allowed::Network(IpAddr::V4(network), length), IpAddr::V4(address)) => {
                within_4(address, *network, *length)
            }
            (Allowed::Network(IpAddr::V6(network), length), IpAddr::V6(address)) => {
                within_6(address, *network, *length)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Network(address, length) => write!(f, "{address}/{length}"),
            Allowed::Host(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for public in
            ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let others = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "::127.0.0.1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "3fff::1",
            "100::1",
        ];
        for other in others {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn networks_addresses_and_hosts_are_allowed_by_name() {
        let allows = |allowed: &str, host: &str, address: &str| {
            Allowed::parse(allowed).unwrap().allows(host, address.parse().unwrap())
        };
        assert!(allows("10.0.0.0/8", "x", "10.9.9.9") && !allows("10.0.0.0/8", "x", "11.0.0.1"));
        assert!(allows("127.0.0.1", "x", "::ffff:127.0.0.1") && !allows("127.0.0.1", "x", "127.0.0.2"));
        assert!(allows("::1", "x", "::1") && allows("0.0.0.0/0", "x", "127.0.0.1"));
        assert!(
            allows("Intranet", "intranet.", "10.0.0.1") && !allows("intranet", "evil-intranet", "10.0.0.1")
        );
        for bad in ["", "10.0.0.0/33", "10.0.0.0/x", "10.0.0", "a b", "http://x", "x:80"] {
            assert_eq!(Allowed::parse(bad), None, "{bad}");
        }
    }
}
