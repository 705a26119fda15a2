//! `opsctl gate install` and `uninstall` through a real sshd, into folders of the test.

use std::process::{Command, Output};

use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;

use crate::support::{Lan, Outcome, lan};

const HOSTS: &str = "
hosts:
  nas: {address: 127.0.0.1, ssh: root@nas-by-ssh}
";

/// A host with sshd that lets the operator in, whose system folders belong to the test.
fn host(lan: &Lan) {
    let folder = lan.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    lan.write("hosts.yaml", HOSTS);
    lan.write("tests.yaml", "tests:\n  - {command: reboot, expect: {decision: deny}}\n");
    lan.sh(&format!(
        "mkdir -p ssh bin host/etc host/lib /run/sshd
         cp -a /etc/. host/etc; mount --bind host/etc /etc
         for tmp in /home /root /usr/local/bin /var/lib; do mount -t tmpfs none $tmp; done
         chmod 755 /home /usr/local/bin /var/lib; chmod 700 /root
         ssh-keygen -q -t ed25519 -N '' -f ssh/host
         ssh-keygen -q -t ed25519 -N '' -C operator -f ssh/operator
         ssh-keygen -q -t ed25519 -N '' -C agent -f ssh/agent
         echo \"[127.0.0.1]:2222 $(cut -d' ' -f1,2 ssh/host.pub)\" > ssh/known_hosts
         mkdir -m 700 /root/.ssh; cp ssh/operator.pub /root/.ssh/authorized_keys
         printf '%s\n' '#!/bin/sh' 'exec /usr/bin/ssh -F {folder}/ssh/config \"$@\"' > bin/ssh; chmod +x bin/ssh
         chmod 755 {folder}"
    ));
    lan.write("ssh/config", &format!(
        "Host nas-by-ssh\n HostName 127.0.0.1\n Port 2222\n IdentityFile {folder}/ssh/operator\n UserKnownHostsFile {folder}/ssh/known_hosts\n GlobalKnownHostsFile none\n IdentitiesOnly yes\n"
    ));
    lan.write("ssh/agents_config", &format!(
        "Host nas\n HostName 127.0.0.1\n Port 2222\n IdentityFile {folder}/ssh/agent\n UserKnownHostsFile {folder}/ssh/known_hosts\n GlobalKnownHostsFile none\n IdentitiesOnly yes\n"
    ));
    lan.write("ssh/sshd_config", &format!(
        "ListenAddress 127.0.0.1:2222\nHostKey {folder}/ssh/host\nPidFile none\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n"
    ));
    lan.start("/usr/sbin/sshd", ["-D", "-e", "-f", &format!("{folder}/ssh/sshd_config")]);
    lan.until("grep -q 'Server listening' sshd.log");
}

fn gate(lan: &Lan, words: &[&str]) -> Outcome {
    let mut command = lan.command(&[&["gate"], words].concat());
    command.env("CLAUDEOPS_APPROVAL_KEY", lan.path("approval.key"));
    lan.run(&mut command)
}

/// A command of the agent, as this account.
fn agent(lan: &Lan, account: &str, command: &str) -> Output {
    let config = lan.path("ssh/agents_config");
    let mut ssh = Command::new("ssh");
    ssh.arg("-F").arg(config).args(["-o", "BatchMode=yes", "-l", account, "nas", command]).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn installs_updates_and_removes_the_gate() {
    lan(|lan| {
        // In a user namespace, there is no second account.
        let has_accounts = lan.sh("cat /proc/self/uid_map").contains("4294967295");
        let account = if has_accounts { "agent" } else { "root" };
        host(lan);
        let words = ["install", "nas", "--key", "ssh/agent.pub", "--tier", "2", "--account", account];
        let without = gate(lan, &words);
        assert!(without.exit_code == Some(1) && without.stderr.contains("opsctl key"), "{without:?}");
        write_approval_key(lan);
        let printed = gate(lan, &[&words[..], &["--print"]].concat());
        assert!(
            printed.stdout.contains("1/7 check the host")
                && printed.stdout.contains("    mkdir -p /etc/opsctl"),
            "{printed:?}"
        );
        lan.sh("[ ! -e /etc/opsctl ]");

        for _ in 0..2 {
            let ran = gate(lan, &words);
            assert_eq!(ran.exit_code, Some(0), "{ran:?} {}", lan.sh("cat sshd.log"));
            for line in [
                "7/7 try ten commands",
                "allow    uptime\n",
                "deny     reboot: Never allowed",
                "ok 1 - reboot",
            ] {
                assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
            }
        }
        let keys = lan.sh(&format!("cat ~{account}/.ssh/authorized_keys"));
        assert_eq!(keys.matches("opsctl gate ssh --tier 2").count(), 1, "{keys}");
        let allowed = agent(lan, account, "echo here");
        assert_eq!(
            (allowed.status.code(), &*allowed.stdout),
            (Some(0), &b"here\n"[..]),
            "{}",
            stderr(&allowed)
        );
        let refused = agent(lan, account, "reboot");
        assert!(refused.status.code() == Some(126) && stderr(&refused).contains("rule power"), "{refused:?}");

        // An older policy, one of another host, and one of another key.
        lan.sh("cp /etc/opsctl/policy.json old.json");
        lan.sh("sleep 1; echo '# newer' >> hosts.yaml");
        assert_eq!(gate(lan, &words).exit_code, Some(0));
        lan.sh("grep -q newer /etc/opsctl/hosts.yaml");
        let key = lan.sh("sed 's/.*\"key\":\"//; s/\".*//' /etc/opsctl/host.json");
        let accept = |host: &str| {
            lan.sh(&format!(
                "/usr/local/bin/opsctl gate accept --host {host} --key {} < old.json 2>&1 || true",
                key.trim()
            ))
        };
        assert!(accept("nas").contains("before the one in force"), "{}", accept("nas"));
        assert!(accept("pi").contains("accepts policies for `nas` only"), "{}", accept("pi"));
        lan.sh("rm approval.key");
        write_approval_key(lan);
        let other = gate(lan, &words);
        assert!(
            other.exit_code == Some(1)
                && other.stderr.contains("step 5 of 7")
                && other.stderr.contains("another key"),
            "{other:?}"
        );

        for _ in 0..2 {
            let removed = gate(lan, &["uninstall", "nas", "--account", account]);
            assert_eq!(removed.exit_code, Some(0), "{removed:?}");
        }
        lan.sh("[ ! -e /etc/opsctl ] && [ ! -e /var/lib/opsctl ] && [ ! -e /usr/local/bin/opsctl ]");
        assert_eq!(agent(lan, account, "echo here").status.code(), Some(255));
        assert_eq!(lan.sh("cat /root/.ssh/authorized_keys"), lan.sh("cat ssh/operator.pub"));
        assert!(account == "root" || lan.sh("id agent 2>&1 || true").contains("no such user"));
    });
}

fn write_approval_key(lan: &Lan) {
    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let key = data_encoding::BASE64.encode(key.as_ref());
    lan.write("approval.key", &format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n"));
    lan.sh("chmod 600 approval.key");
}
