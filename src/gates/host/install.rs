//! The steps that install the gate on a host, and those that remove it: POSIX sh, run by root through the operator's own ssh.

use opsctl_probe::health::quoted;

/// A step.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does, for people.
    pub title: String,
    /// What runs on the host.
    pub script: String,
    /// Its standard input.
    pub input: Vec<u8>,
}

impl Step {
    fn new(title: impl Into<String>, script: String, input: Vec<u8>) -> Self {
        Self { title: title.into(), script, input }
    }
}

/// What is installed.
pub struct Plan<'a> {
    /// The host, by its name in the inventory.
    pub host: &'a str,
    /// The account of the agent on the host.
    pub account: &'a str,
    /// The public key of the agent: its kind and its data.
    pub key: [&'a str; 2],
    /// The tier of the key.
    pub tier: u8,
    /// The program.
    pub program: Vec<u8>,
    /// The signed policy.
    pub policy: String,
    /// The key with which the policy is signed.
    pub signer: String,
}

/// Whether a word may be the name of an account.
pub fn is_account(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c))
}

/// The steps of an installation. Each may run again.
pub fn install(plan: Plan<'_>) -> Vec<Step> {
    let Plan { host, account, key: [kind, data], tier, program, policy, signer } = plan;
    let architecture = std::env::consts::ARCH;
    let digest = ring::digest::digest(&ring::digest::SHA256, &program);
    let digest = data_encoding::HEXLOWER.encode(digest.as_ref());
    let line = format!(
        "restrict,command=\"/usr/local/bin/opsctl gate ssh --tier {tier}\" {kind} {data} opsctl-gate"
    );
    let check = format!("/usr/local/bin/opsctl gate ssh --check --tier {tier}");
    let check =
        if account == "root" { check } else { format!("su -s /bin/sh {account} -c {}", quoted(&check)) };
    vec![
        Step::new(
            "check the host",
            format!(
                "[ \"$(uname -s) $(uname -m)\" = 'Linux {architecture}' ] || {{ echo 'this host is not Linux on {architecture}: name another program with --binary' >&2; exit 1; }}\n\
                 [ \"$(id -u)\" = 0 ] || {{ echo 'this is not root: name a destination of root, or use --sudo' >&2; exit 1; }}"
            ),
            vec![],
        ),
        Step::new(
            format!("create the account {account}, if it is missing"),
            format!(
                "mkdir -p /etc/opsctl\n\
                 id -u {account} >/dev/null 2>&1 || {{\n  \
                 if command -v useradd >/dev/null; then useradd -m -p '*' -s /bin/sh {account}; else adduser -D -s /bin/sh {account}; fi && echo {account} > /etc/opsctl/created-account\n}}"
            ),
            vec![],
        ),
        Step::new(
            "copy opsctl to /usr/local/bin",
            format!(
                "[ \"$(sha256sum < /usr/local/bin/opsctl 2>/dev/null)\" = '{digest}  -' ] || {{\n  \
                 cat > /usr/local/bin/.opsctl.new && chmod 755 /usr/local/bin/.opsctl.new && mv /usr/local/bin/.opsctl.new /usr/local/bin/opsctl\n}}"
            ),
            program,
        ),
        Step::new(
            "create the folder of the ledger, /var/lib/opsctl",
            format!(
                "mkdir -p /var/lib/opsctl && chown {account} /var/lib/opsctl && chmod 700 /var/lib/opsctl"
            ),
            vec![],
        ),
        Step::new(
            "install the signed policy in /etc/opsctl",
            format!("/usr/local/bin/opsctl gate accept --host {} --key {}", quoted(host), quoted(&signer)),
            policy.into_bytes(),
        ),
        Step::new(
            format!("allow the key of the agent for {account}, at tier {tier}"),
            format!(
                "home=$(eval echo ~{account}) && umask 077 && mkdir -p \"$home/.ssh\" && cd \"$home/.ssh\" && touch authorized_keys || exit 1\n\
                 grep -vF {} authorized_keys > authorized_keys.new\n\
                 echo {} >> authorized_keys.new && cat authorized_keys.new > authorized_keys && rm authorized_keys.new && chown {account} . authorized_keys",
                quoted(data),
                quoted(&line)
            ),
            vec![],
        ),
        Step::new("try ten commands", check, vec![]),
    ]
}

/// The steps that remove a gate. What is missing already is no failure.
pub fn uninstall(account: &str) -> Vec<Step> {
    vec![
        Step::new(
            format!("remove keys with the gate from {account}"),
            format!(
                "id -u {account} >/dev/null 2>&1 || exit 0\n\
                 file=$(eval echo ~{account})/.ssh/authorized_keys\n\
                 [ -e \"$file\" ] || exit 0\n\
                 umask 077; grep -v 'command=\"/usr/local/bin/opsctl gate ssh' \"$file\" > \"$file.new\"\n\
                 cat \"$file.new\" > \"$file\" && rm \"$file.new\""
            ),
            vec![],
        ),
        Step::new(
            "remove the account that the installation has created",
            format!(
                "[ \"$(cat /etc/opsctl/created-account 2>/dev/null)\" = {account} ] || exit 0\n\
                 if command -v userdel >/dev/null; then userdel -r {account} 2>/dev/null; else deluser --remove-home {account}; fi\n\
                 ! id -u {account} >/dev/null 2>&1"
            ),
            vec![],
        ),
        Step::new(
            "remove opsctl, its policy and its ledger",
            "rm -rf /etc/opsctl /var/lib/opsctl /usr/local/bin/opsctl".to_owned(),
            vec![],
        ),
    ]
}
