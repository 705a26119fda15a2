//! What keeps a host reachable: its packet filter and its interfaces.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "firewall",
        reason: "It can open the host to everyone, or lock everyone out, this session included. Show the rules in the report and leave the change to an operator.",
        matches: &[
            "ssh root@ie01 'iptables -t nat -F'",
            "iptables -P INPUT DROP",
            "ssh root@ie01 nft flush ruleset",
            "ufw --force reset",
            "ssh root@ie01 'firewall-cmd --panic-on'",
        ],
        differs: &[
            "iptables -nvL",
            "iptables -A INPUT -s 192.168.5.7 -j DROP",
            "nft -c flush ruleset",
            "nft list ruleset",
            "ufw status verbose",
            "ufw --dry-run enable",
            "firewall-cmd --query-panic",
        ],
        ..RULE
    },
    DefaultRule {
        name: "interface-down",
        reason: "Without its network, the host is unreachable, and no session can bring it back. Report what is wrong with the connection and leave it to an operator.",
        matches: &[
            "ssh root@pie02 'ip link set wlan0 down && ip link set wlan0 up'",
            "ip addr flush dev eth0",
            "ifconfig eth0 down",
            "ifdown eth0",
            "nmcli con down 'Wired connection 1'",
            "ssh root@ie01 wg-quick down wg0",
            "tailscale logout",
        ],
        differs: &[
            "ip link show eth0",
            "ip link set eth0 up",
            "nmcli con show",
            "nmcli dev status",
            "ifdown --no-act eth0",
            "tailscale status",
            "ip addr show",
        ],
        ..RULE
    },
];
