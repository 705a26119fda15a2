//! `opsctl hosts` against hosts that answer, drop, reject, or have no address.

use crate::support::{Lan, Outcome, lan};
use serde_json::{Value, json};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// The setup of a peer that drops every packet.
const DROPS: &str =
    "nft add table inet f; nft \"add chain inet f i { type filter hook input priority 0; policy drop; }\"";

fn hosts(lan: &Lan, inventory: &str, arguments: &[&str]) -> Outcome {
    lan.write("hosts.yaml", inventory);
    let ran = lan.opsctl(&[&["hosts", "--json"], arguments].concat());
    let is_down = |(_, state): &(String, String)| state == "unreachable" || state == "unresolved";
    assert_eq!(ran.exit_code, Some(i32::from(states(&ran).iter().any(is_down))), "{ran:?}");
    ran
}

fn states(ran: &Outcome) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let hosts = ran.json()["hosts"].as_array().unwrap().clone();
    hosts.iter().map(|host| (text(&host["name"]), text(&host["state"]))).collect()
}

#[track_caller]
fn assert_states(ran: &Outcome, expected: &[(&str, &str)]) {
    let found = states(ran);
    let found: Vec<(&str, &str)> =
        found.iter().map(|(name, state)| (name.as_str(), state.as_str())).collect();
    assert_eq!(found, expected, "{ran:?}");
}

/// All kinds of hosts, over both kinds of sockets.
fn hosts_of_every_kind(lan: &Lan) -> Outcome {
    lan.peer(1, "");
    lan.peer(2, DROPS);
    lan.peer(
        3,
        "nft add table inet f; nft \"add chain inet f i { type filter hook input priority 0; }\";
         nft add rule inet f i icmp type echo-request reject with icmp type host-unreachable;
         nft add rule inet f i icmpv6 type echo-request reject with icmpv6 type admin-prohibited",
    );
    lan.sh("ip route add unreachable 10.9.9.9; ip -6 route add unreachable fd00:9::9");
    hosts(
        lan,
        "hosts:
           answers: {address: 10.0.1.2}
           answers6: {address: 'fd00:0:0:1::2'}
           drops: {address: 10.0.2.2}
           rejects: {address: 10.0.3.2}
           rejects6: {address: 'fd00:0:0:3::2'}
           absent: {address: 10.0.1.99}
           no-route: {address: 10.9.9.9}
           no-route6: {address: 'fd00:9::9'}
           nowhere: {address: 192.0.2.1}
           same-as-answers: {address: 10.0.1.2}\n",
        &["--deadline", "1s"],
    )
}

const OF_EVERY_KIND: [(&str, &str); 10] = [
    ("answers", "reachable"),
    ("answers6", "reachable"),
    ("drops", "unreachable"),
    ("rejects", "unreachable"),
    ("rejects6", "unreachable"),
    ("absent", "unreachable"),
    ("no-route", "unreachable"),
    ("no-route6", "unreachable"),
    ("nowhere", "unreachable"),
    ("same-as-answers", "reachable"),
];

#[test]
fn distinguishes_answering_dropping_rejecting_and_missing_hosts_over_datagram_sockets() {
    lan(|lan| {
        lan.permit_pings();
        let ran = hosts_of_every_kind(lan);
        assert_states(&ran, &OF_EVERY_KIND);
        assert!(ran.elapsed < Duration::from_secs(4), "{ran:?}");
        let rtt = ran.json()["hosts"][0]["rtt_ms"].as_f64().unwrap();
        assert!(rtt > 0.0 && rtt < 1000.0, "{rtt}");
    });
}

/// A raw socket also receives the messages of routers and firewalls. None of them is an answer of the host.
#[test]
fn distinguishes_answering_dropping_rejecting_and_missing_hosts_over_raw_sockets() {
    lan(|lan| assert_states(&hosts_of_every_kind(lan), &OF_EVERY_KIND));
}

#[test]
fn without_permission_hosts_are_unknown_and_the_remedy_is_named() {
    lan(|lan| {
        lan.write("hosts.yaml", "hosts: {here: {address: 127.0.0.1}, six: {address: '::1'}}\n");
        let opsctl = env!("CARGO_BIN_EXE_opsctl");
        let mut command = lan.command(&[]);
        let mut without = std::process::Command::new("setpriv");
        without.args(["--bounding-set=-net_raw", "--inh-caps=-net_raw", opsctl, "hosts"]);
        without.env_clear();
        without.envs(command.env("LANG", "C").get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = lan.run(&mut without);
        assert_eq!(
            ran.stdout,
            "HOST  ADDRESS    STATE    RTT\nhere  127.0.0.1  unknown  -\nsix   ::1        unknown  -\n"
        );
        assert!(
            ran.stderr.contains("net.ipv4.ping_group_range") && ran.stderr.contains("NET_RAW"),
            "{ran:?}"
        );
    });
}

/// dnsmasq in this network, and the system's resolver set to ask it.
pub fn name_server(lan: &Lan, records: &[&str]) {
    lan.instead_of("/etc/resolv.conf", "nameserver 127.0.0.53\noptions timeout:2 attempts:1\n");
    lan.instead_of("/etc/hosts", "127.0.0.1 localhost\n");
    let fixed = ["--keep-in-foreground", "--no-resolv", "--no-hosts", "--listen-address=127.0.0.53"];
    let more = [
        "--bind-interfaces",
        "--user=root",
        "--pid-file",
        "--local=/lan/",
        "--log-queries",
        "--log-facility=-",
    ];
    lan.start("dnsmasq", fixed.iter().chain(&more).chain(records));
    lan.until("grep -q started dnsmasq.log");
}

#[test]
fn a_name_is_reachable_if_one_of_its_addresses_answers() {
    lan(|lan| {
        lan.permit_pings();
        lan.peer(1, "");
        lan.peer(2, DROPS);
        name_server(
            lan,
            &[
                "--host-record=four.lan,10.0.1.2",
                "--host-record=six.lan,fd00:0:0:1::2",
                "--host-record=only-six-answers.lan,10.0.2.2,fd00:0:0:1::2",
                "--host-record=only-four-answers.lan,10.0.1.2,fd00:0:0:2::2",
                "--host-record=none-answers.lan,10.0.2.2,fd00:0:0:2::2",
            ],
        );
        let names = ["four", "six", "only-six-answers", "only-four-answers", "none-answers", "unheard-of"];
        let entry = |name: &&str| format!("  {name}: {{address: {name}.lan}}\n");
        let inventory = format!("hosts:\n{}", names.iter().map(entry).collect::<String>());
        let ran = hosts(lan, &inventory, &["--deadline", "2s"]);
        assert_states(
            &ran,
            &[
                ("four", "reachable"),
                ("six", "reachable"),
                ("only-six-answers", "reachable"),
                ("only-four-answers", "reachable"),
                ("none-answers", "unreachable"),
                ("unheard-of", "unresolved"),
            ],
        );
        let quick = hosts(lan, &inventory, &["--deadline", "20s", "only-six-answers", "only-four-answers"]);
        assert!(quick.elapsed < Duration::from_secs(10), "the other address is not waited for: {quick:?}");
    });
}

#[test]
fn a_hanging_name_server_affects_only_names() {
    lan(|lan| {
        lan.permit_pings();
        lan.peer(1, "");
        lan.instead_of("/etc/resolv.conf", "nameserver 127.0.0.53\noptions timeout:30 attempts:3\n");
        let _hangs = std::net::UdpSocket::bind("127.0.0.53:53").unwrap();
        let ran = hosts(
            lan,
            "hosts: {name: {address: some.lan}, plain: {address: 10.0.1.2}, dead: {address: 10.0.1.9}}\n",
            &["--deadline", "1s"],
        );
        assert_states(&ran, &[("name", "unresolved"), ("plain", "reachable"), ("dead", "unreachable")]);
        assert!(ran.elapsed < Duration::from_secs(4), "the lookup itself would take minutes: {ran:?}");
    });
}

#[test]
fn the_first_packet_may_get_lost() {
    lan(|lan| {
        lan.permit_pings();
        lan.peer(
            1,
            "nft add table inet f; nft \"add chain inet f i { type filter hook input priority 0; }\";
             nft \"add rule inet f i icmp type echo-request limit rate over 1/minute burst 1 packets accept\";
             nft add rule inet f i icmp type echo-request drop",
        );
        let inventory = "hosts: {lossy: {address: 10.0.1.2}}\n";
        assert_states(
            &hosts(lan, inventory, &["--probes", "1", "--deadline", "1s"]),
            &[("lossy", "unreachable")],
        );
        assert_states(
            &hosts(lan, inventory, &["--probes", "2", "--deadline", "1s"]),
            &[("lossy", "reachable")],
        );
    });
}

/// Answers every ping on this host by hand, and late.
fn answer_late(delay: Duration) {
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).unwrap();
    let mut packet = [0; 1500];
    while let Ok(length) = (&socket).read(&mut packet) {
        // The header of IPv4 without options, then that of ICMP, whose first byte is the type.
        let (header, icmp) = packet[..length].split_at_mut(20);
        if icmp[0] == 8 {
            icmp[0] = 0;
            let (sum, carry) = u16::from_be_bytes([icmp[2], icmp[3]]).overflowing_add(0x0800);
            icmp[2..4].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
            let sender = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
            std::thread::sleep(delay);
            socket.send_to(icmp, &SocketAddr::from((sender, 0)).into()).unwrap();
        }
    }
}

#[test]
fn an_answer_to_the_first_probe_counts_after_the_second_has_left() {
    lan(|lan| {
        lan.permit_pings();
        lan.peer(1, "echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all");
        lan.on_peer(1, || answer_late(Duration::from_millis(1200)));
        let ran = hosts(lan, "hosts: {slow: {address: 10.0.1.2}}\n", &["--deadline", "2s"]);
        assert_states(&ran, &[("slow", "reachable")]);
        // Counted from the second probe, it would be 200 ms.
        assert!(ran.json()["hosts"][0]["rtt_ms"].as_f64().unwrap() >= 1000.0, "{ran:?}");
    });
}

#[test]
fn a_thousand_hosts_lose_no_reply_over_either_kind_of_socket() {
    let names = 0..1000;
    let inventory: String =
        names.map(|n| format!("  h{n}: {{address: 127.0.{}.{}}}\n", n / 250 + 1, n % 250 + 1)).collect();
    for permitted in [true, false] {
        lan(|lan| {
            if permitted {
                lan.permit_pings();
            }
            let ran = hosts(lan, &format!("hosts:\n{inventory}"), &["--probes", "1"]);
            let answered = states(&ran).iter().filter(|(_, state)| state == "reachable").count();
            assert_eq!(answered, 1000);
        });
    }
}

#[test]
fn named_hosts_are_asked_and_no_others() {
    lan(|lan| {
        lan.permit_pings();
        let inventory =
            "hosts: {one: {address: 127.0.0.1}, two: {address: 127.0.0.2}, three: {address: 127.0.0.3}}\n";
        let ran = hosts(lan, inventory, &["three", "one"]);
        assert_states(&ran, &[("one", "reachable"), ("three", "reachable")]);
        let ran = lan.opsctl(&["hosts", "thre"]);
        assert_eq!(
            (ran.exit_code, ran.stderr.as_str()),
            (Some(1), "opsctl: no host `thre` in hosts.yaml; did you mean `three`?\n")
        );
        assert_eq!(hosts(lan, "hosts:\n", &[]).json(), json!({"hosts": []}));
    });
}

/// The output of `opsctl hosts` on a terminal, which `script` provides.
fn on_a_terminal(lan: &Lan, inventory: &str) -> String {
    lan.permit_pings();
    lan.write("hosts.yaml", inventory);
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &format!("{} hosts", env!("CARGO_BIN_EXE_opsctl")), "/dev/null"]);
    script.env("TERM", "xterm").env("CLAUDE_PROJECT_DIR", lan.path(""));
    lan.run(&mut script).stdout
}

#[test]
fn columns_are_aligned_on_a_terminal() {
    lan(|lan| {
        let shown =
            on_a_terminal(lan, "hosts: {a: {address: 127.0.0.1}, longer-name: {address: lost.invalid}}\n");
        assert!(shown.starts_with("\u{1b}[1mHOST"), "titles are bold: {shown:?}");
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "HOST         ADDRESS       STATE       RTT");
        assert!(
            lines[1].starts_with("a            127.0.0.1     reachable   ") && lines[1].ends_with(" ms"),
            "{shown}"
        );
        assert_eq!(lines[2], "longer-name  lost.invalid  unresolved  -");
        assert_eq!(lines.len(), 3, "few hosts need no progress bar: {shown:?}");
    });
}

#[test]
fn many_hosts_show_a_progress_bar_on_a_terminal() {
    lan(|lan| {
        dead_hosts(lan);
        let inventory: String = (1..=50).map(|n| format!("  h{n}: {{address: 10.99.0.{n}}}\n")).collect();
        let shown = on_a_terminal(lan, &format!("hosts:\n  here: {{address: 127.0.0.1}}\n{inventory}"));
        assert!(shown.contains("1/51 hosts"), "{shown:?}");
        let lan_piped = lan.opsctl(&["hosts"]);
        assert_eq!(lan_piped.stderr, "", "no progress bar without a terminal");
        assert_eq!(lan_piped.stdout.lines().count(), 52, "titles and hosts");
    });
}

/// Packets to 10.99.0.0/16 vanish.
fn dead_hosts(lan: &Lan) {
    lan.peer(9, DROPS);
    lan.sh("ip route add 10.99.0.0/16 via 10.0.9.2");
}

#[test]
fn a_thousand_silent_hosts_take_one_deadline_and_little_memory() {
    lan(|lan| {
        lan.permit_pings();
        dead_hosts(lan);
        let inventory: String =
            (0..1000).map(|n| format!("  h{n}: {{address: 10.99.{}.{}}}\n", n / 250, n % 250 + 1)).collect();
        let peak = |inventory: &str| {
            lan.write("hosts.yaml", &format!("hosts:\n{inventory}"));
            let mut command = lan.command(&["hosts", "--json"]);
            let mut opsctl = command.stdout(File::create(lan.path("found")).unwrap()).spawn().unwrap();
            let mut most = 0;
            while opsctl.try_wait().unwrap().is_none() {
                most = most.max(peak_kib(opsctl.id()).unwrap_or_default());
                std::thread::sleep(Duration::from_millis(20));
            }
            most
        };
        let of_one = peak("  h0: {address: 10.99.0.1}\n");
        let started = Instant::now();
        let most = peak(&inventory);
        let elapsed = started.elapsed();
        let found = std::fs::read_to_string(lan.path("found")).unwrap();
        assert_eq!(found.matches("\"unreachable\"").count(), 1000);
        // The rest is the program itself.
        assert!(of_one > 0 && most < of_one + 10 * 1024, "{most} KiB, and {of_one} KiB for one host");
        // The deadline is two seconds; the rest is for a busy machine. One after the other they would take half an hour.
        assert!(elapsed < Duration::from_secs(15), "{elapsed:?}");
    });
}

/// The peak memory of a process, in KiB.
fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// One after the other they would take eight seconds.
#[test]
fn dead_hosts_delay_the_start_of_a_session_by_one_deadline_in_total() {
    lan(|lan| {
        dead_hosts(lan);
        let hosts: String = (1..=4).map(|n| format!("  h{n}: {{address: 10.99.0.{n}}}\n")).collect();
        lan.write("hosts.yaml", &format!("hosts:\n{hosts}"));
        let ran = lan.hook("session-start", &json!({"session_id": "s", "source": "startup"}));
        assert_eq!(ran.stdout.matches(": unreachable\n").count(), 4, "{ran:?}");
        assert!(ran.elapsed < Duration::from_secs(4), "{ran:?}");
    });
}
