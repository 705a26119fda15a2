//! Every kind of secret in every place to which a command, a message or output can carry it.

use std::io::Read as _;
use std::time::Duration;

use serde_json::json;

use crate::sandbox::{Sandbox, denied};

/// The kinds: a text with the secret in it, and the parts of which none may remain. `·` is removed, so that scanners of
/// secrets find none in this file.
const KINDS: [(&str, &str, &[&str]); 107] = [
    ("AWS access key", "AKIA·IOSFODNN7EXAMPLE", &["IOSFODNN7"]),
    ("AWS session key", "ASIA·IOSFODNN7EXAMPLE", &["IOSFODNN7"]),
    (
        "AWS secret key",
        "AWS_SECRET_ACCESS_KEY=wJalr·XUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        &["wJalr", "K7MDENG"],
    ),
    (
        "AWS secret key in a file",
        "aws_secret_access_key = wJalr·XUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        &["wJalr"],
    ),
    ("AWS secret key alone", "key wJalr·XUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE012", &["wJalr", "K7MDENG"]),
    ("AWS session token", "aws_session_token=FwoGZX·IvYXdzEBYaDHqa0AP", &["IvYXdz"]),
    ("Slack bot token", "xoxb-·012345678901-abcdefABCDEF", &["abcdefABCDEF"]),
    ("Slack user token", "xoxp-·012345678901-abcdefABCDEF", &["abcdefABCDEF"]),
    ("Slack app token", "xapp-·1-A012345-012345-abcdefABCDEF", &["abcdefABCDEF"]),
    ("Slack webhook", "https://hooks.slack·.com/services/T0000/B0000/abcdefABCDEF", &["abcdefABCDEF"]),
    ("Discord webhook", "https://discord·.com/api/webhooks/123456789/abcdefABCDEF", &["abcdefABCDEF"]),
    (
        "Discord bot token",
        "MTk4NjIyNDgzNDcxOTI1MjQ4·.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        &["ZnCjm1XVW7", "MTk4NjIy"],
    ),
    ("Telegram bot token", "123456789·:AAabcdefghijklmnopqrstuvwxyz0123456", &["AAabcdefgh"]),
    (
        "Telegram URL",
        "https://api.telegram·.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/x",
        &["AAabcdefgh"],
    ),
    ("mysql -p", "mysql -u root -phunter2xyz shop", &["hunter2xyz"]),
    ("mysqldump --password", "mysqldump --password=hunter2xyz shop", &["hunter2xyz"]),
    ("curl -u", "curl -u bob:hunter2xyz http://nas.lan", &["hunter2xyz"]),
    ("curl -su", "curl -su bob:hunter2xyz http://nas.lan", &["hunter2xyz"]),
    ("sshpass -p", "sshpass -p hunter2xyz ssh root@ie01", &["hunter2xyz"]),
    ("sshpass -pX", "sshpass -phunter2xyz ssh root@ie01", &["hunter2xyz"]),
    ("redis-cli -a", "redis-cli -a hunter2xyz ping", &["hunter2xyz"]),
    ("mongosh -p", "mongosh -u root -p hunter2xyz", &["hunter2xyz"]),
    ("docker login -p", "docker login -u bob -p hunter2xyz ghcr.io", &["hunter2xyz"]),
    ("smbclient -U", "smbclient -U bob%hunter2xyz //nas/x", &["hunter2xyz"]),
    ("openssl pass:", "openssl rsa -passin pass:hunter2xyz -in k", &["hunter2xyz"]),
    (
        "kubectl --from-literal",
        "kubectl create secret generic x --from-literal=k=hunter2xyz",
        &["hunter2xyz"],
    ),
    ("password on stdin", "echo hunter2xyz | docker login --password-stdin x", &["hunter2xyz"]),
    ("Cookie header", "Cookie: session=hunter2xyz; a=b", &["hunter2xyz"]),
    ("Set-Cookie header", "Set-Cookie: sid=hunter2xyz; HttpOnly", &["hunter2xyz"]),
    ("API key header", "X-Api-Key: hunter2xyz", &["hunter2xyz"]),
    ("Authorization: Bearer", "Authorization: Bearer abcdef0123456789", &["abcdef0123"]),
    ("Authorization: Basic", "Authorization: Basic Ym9iOmh1bnRlcjI=", &["Ym9iOmh1"]),
    ("bearer token alone", "bearer abcdef0123456789", &["abcdef0123"]),
    ("OpenAI project key", "sk-·proj-abcdef0123456789abcd", &["abcdef0123"]),
    ("OpenAI key", "sk-·abcdef0123456789abcdT3BlbkFJabcdef0123456789abcd", &["abcdef0123"]),
    ("Anthropic key", "sk-·ant-api03-abcdef0123456789", &["abcdef0123"]),
    ("Google API key", "AIza·SyA0123456789abcdefghijklmnopqrstuv", &["0123456789"]),
    ("Google OAuth secret", "GOCSPX·-abcdef0123456789abcdef01", &["abcdef0123"]),
    (
        "Google service account",
        r#"{"private_key": "-----BEGIN PRIVATE· KEY-----\nMIIEabc\n-----END PRIVATE· KEY-----\n"}"#,
        &["MIIEabc"],
    ),
    ("npm token", "npm_·abcdefghijABCDEFGHIJabcdefghij012345", &["abcdefghijAB"]),
    ("Hugging Face token", "hf_·abcdefghijABCDEFGHIJabcdefghijABCD", &["abcdefghijAB"]),
    ("Docker Hub token", "dckr_·pat_abcdefghijABCDEFGHIJ0123456", &["abcdefghijAB"]),
    (
        "SendGrid key",
        "SG·.abcdefghijABCDEFGHIJ01.abcdefghijABCDEFGHIJ0123456789abcdefghijABC",
        &["abcdefghijAB"],
    ),
    ("Vault token", "hvs·.abcdefghijABCDEFGHIJ0123", &["abcdefghijAB"]),
    ("Tailscale key", "tskey-·auth-kabcdef0123CNTRL-abcdefghijABCDEFGHIJ", &["abcdefghijAB"]),
    ("GitLab token", "glpat-·abcdefghijABCDEFGHIJ", &["abcdefghijAB"]),
    ("GitHub token", "ghp_·abcdefghijABCDEFGHIJ0123456789abcdef", &["abcdefghijAB"]),
    ("GitHub OAuth token", "gho_·abcdefghijABCDEFGHIJ0123456789abcdef", &["abcdefghijAB"]),
    ("GitHub fine-grained token", "github_pat_·abcdefghijABCDEFGHIJ_0123456789", &["abcdefghijAB"]),
    ("Atlassian token", "ATATT3·xFfGF0abcdefghijABCDEFGHIJ0123456789", &["abcdefghijAB"]),
    ("access_token parameter", "http://x.lan/?access_token=hunter2xyz&x=1", &["hunter2xyz"]),
    ("password assignment", "password=hunter2xyz", &["hunter2xyz"]),
    ("--password", "x --password hunter2xyz", &["hunter2xyz"]),
    ("--token", "x --token hunter2xyz", &["hunter2xyz"]),
    ("URL with password", "https://bob:hunter2xyz@git.lan/x", &["hunter2xyz"]),
    ("database URL", "postgres://app:hunter2xyz@db.lan/shop", &["hunter2xyz"]),
    (
        "OpenSSH private key",
        "-----BEGIN OPENSSH PRIVATE· KEY-----\nb3BlbnNzaC1r\n-----END OPENSSH PRIVATE· KEY-----",
        &["b3BlbnNzaC1r"],
    ),
    (
        "JSON web token",
        "eyJ·hbGciOiJIUzI1NiJ9.eyJ·pc3MiOiIwMTIzIn0.abcdef0123456789",
        &["pc3MiOiIw", "abcdef0123"],
    ),
    ("age key", "AGE-SECRET·-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE", &["QPZRY9X8"]),
    ("WireGuard key", "PrivateKey = aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28=", &["aGVsbG8"]),
    ("Stripe key", "sk_·live_abcdefghijABCDEFGHIJ0123", &["abcdefghijAB"]),
    ("Stripe webhook secret", "whsec_·abcdefghijABCDEFGHIJ0123456789ab", &["abcdefghijAB"]),
    ("Twilio key", "SK·0123456789abcdef0123456789abcdef", &["0123456789abcdef"]),
    ("Mailgun key", "key-·0123456789abcdef0123456789abcdef", &["0123456789abcdef"]),
    (
        "DigitalOcean token",
        "dop·_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        &["0123456789abcdef"],
    ),
    ("Cloudflare token", "CLOUDFLARE_API_TOKEN=abcdefghijABCDEFGHIJ0123456789abcdefghij", &["abcdefghijAB"]),
    ("Heroku key", "HRKU-·abcdefgh-ijAB-CDEF-GHIJ-0123456789abcdef", &["abcdefgh"]),
    (
        "Azure storage key",
        "AccountName=x;AccountKey=abcdefghijABCDEFGHIJ0123456789==;EndpointSuffix=y",
        &["abcdefghijAB"],
    ),
    ("Azure SAS", "https://a.blob.core.windows.net/c?sv=2022&sig=abcdefghij%2BABCDEF%3D", &["abcdefghij"]),
    ("PyPI token", "pypi-·AgEIcHlwaS5vcmcabcdefghijABCDEFGHIJ", &["cHlwaS5vcmc"]),
    ("RubyGems key", "rubygems_·0123456789abcdef0123456789abcdef0123456789abcdef", &["0123456789abcdef"]),
    ("Grafana service account", "glsa_·abcdefghijABCDEFGHIJ0123456789ab_01234567", &["abcdefghijAB"]),
    ("Grafana Cloud token", "glc_·eyJvIjoiMDEyMzQ1Njc4OTAxMjM0NTY3ODkifQ==", &["MDEyMzQ1"]),
    ("New Relic key", "NRAK-·ABCDEFGHIJ01234567890123456", &["ABCDEFGHIJ"]),
    ("Datadog key", "DD_API_KEY=0123456789abcdef0123456789abcdef", &["0123456789abcdef"]),
    ("Sentry DSN", "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/2", &["0123456789abcdef"]),
    ("Linear key", "lin_·api_abcdefghijABCDEFGHIJ0123456789abcdefghij", &["abcdefghijAB"]),
    ("Notion token", "ntn_·abcdefghijABCDEFGHIJ0123456789abcdefghij", &["abcdefghijAB"]),
    ("Shopify token", "shpat_·0123456789abcdef0123456789abcdef", &["0123456789abcdef"]),
    ("Square token", "sq0·csp-abcdefghijABCDEFGHIJ0123456789abcdefghijABC", &["abcdefghijAB"]),
    ("Doppler token", "dp·.pt.abcdefghijABCDEFGHIJ0123456789abcdefghijABC", &["abcdefghijAB"]),
    ("ntfy token", "tk_·abcdefghij0123456789abcdefghi", &["abcdefghij"]),
    (
        "Pushover key",
        "curl -F token=a0123456789abcdefghij0123456789 https://api.pushover.net",
        &["0123456789abcdef"],
    ),
    ("Gotify token", "X-Gotify-Key: Abcdefgh.ijklmn", &["Abcdefgh"]),
    ("apprise tgram://", "tgram://123456:hunter2xyz/42", &["hunter2xyz"]),
    ("apprise discord://", "discord://1234/hunter2xyz", &["hunter2xyz"]),
    ("apprise ntfy://", "ntfy://bob:hunter2xyz@ntfy.lan/ops", &["hunter2xyz"]),
    ("environment variable", "SMTP_PASS=hunter2xyz", &["hunter2xyz"]),
    ("BROWSER_CRED_", "BROWSER_CRED_NAS=bob:hunter2xyz", &["hunter2xyz"]),
    ("JSON", r#"{"password": "hunter2xyz", "x": 1}"#, &["hunter2xyz"]),
    ("apr1 hash", "bob:$apr1·$saltsalt$0123456789abcdefABCDEF", &["0123456789"]),
    ("gost-yescrypt hash", "bob:$gy·$j9T$saltsalt$0123456789abcdefABCDEF", &["0123456789"]),
    ("sha1 hash", "bob:$sha1·$40000$saltsalt$0123456789abcdefABCDEF", &["0123456789"]),
    ("scrypt hash", "bob:$scrypt·$ln=16,r=8,p=1$saltsalt$0123456789abcdef", &["0123456789"]),
    ("XML password", "<user>bob</user><password>hunter2xyz</password>", &["hunter2xyz"]),
    ("XML key", "<a:ApiKey type=\"plain\">hunter2xyz</a:ApiKey>", &["hunter2xyz"]),
    ("-passin pass: alone", "-passin pass:hunter2xyz", &["hunter2xyz"]),
    ("-passout pass: alone", "-passout pass:hunter2xyz", &["hunter2xyz"]),
    ("-pass pass: alone", "-pass pass:hunter2xyz", &["hunter2xyz"]),
    ("openssl -k", "openssl enc -aes-256-cbc -k hunter2xyz -in f", &["hunter2xyz"]),
    ("Docker auth", r#"{"auths":{"ghcr.io":{"auth":"Ym9iOmh1bnRlcjI="}}}"#, &["Ym9iOmh1"]),
    ("Docker identity token", r#"{"identitytoken": "hunter2xyz"}"#, &["hunter2xyz"]),
    ("pgpass line", "db.lan:5432:shop:app:hunter2xyz", &["hunter2xyz"]),
    ("pgpass line for any host", "*:*:*:app:hunter2xyz", &["hunter2xyz"]),
    ("mcrcon -p", "mcrcon -H mc.lan -p hunter2xyz stop", &["hunter2xyz"]),
    ("rcon-cli --password", "rcon-cli --password hunter2xyz stop", &["hunter2xyz"]),
    ("value of a variable", "in the text is value-of-own-variable", &["value-of-own-variable"]),
];

fn texts() -> impl Iterator<Item = (&'static str, String, &'static [&'static str])> {
    KINDS.into_iter().map(|(kind, text, secrets)| (kind, text.replace('·', ""), secrets))
}

/// The kinds of which a part is in the output, with the line that it is in.
fn leaked(output: &str) -> Vec<String> {
    let line = |secret: &&str| output.lines().find(|line| line.contains(secret));
    texts()
        .filter_map(|(kind, _, secrets)| Some(format!("{kind}: {}", secrets.iter().find_map(line)?)))
        .collect()
}

/// Fails with the kinds that reached a place.
#[track_caller]
fn assert_none_in(place: &str, leaked: &[String]) {
    let redacted = KINDS.len() - leaked.len();
    assert!(leaked.is_empty(), "{place}: {redacted} of {} kinds redacted, not {leaked:#?}", KINDS.len());
}

fn sandbox() -> Sandbox {
    Sandbox::new().with("OWN_SERVICE_TOKEN", "value-of-own-variable")
}

/// A text as one word of a shell command.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The kinds whose secret the program shows, of one run for each.
fn kinds_shown(mut show: impl FnMut(&str) -> String) -> Vec<String> {
    let shown = |(kind, text, secrets): (&str, String, &[&str])| {
        let output = show(&text);
        secrets.iter().any(|secret| output.contains(secret)).then(|| format!("{kind}: {output}"))
    };
    texts().filter_map(shown).collect()
}

/// A ledger to which another program has written every kind.
fn filled() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    for (at, (_, text, _)) in texts().enumerate() {
        let text = text.replace('\'', "''");
        sandbox.sql(&format!(
            "INSERT INTO events (level, service, message, created_at) VALUES ('critical', 'jellyfin', '{text}', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
             INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason)
                 VALUES (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'deny', 'budget', '{text}', 'jellyfin', '', '{text}');
             INSERT INTO notices (key, created_at, level, title, body, format, tags, state)
                 VALUES ('k{at}', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'critical', '{text}', '{text}', 'text', '', 'no_target')"
        ));
    }
    sandbox
}

#[test]
fn no_verb_prints_a_secret_of_the_ledger() {
    let sandbox = filled();
    let mut shown = String::new();
    for arguments in [
        &["status", "--no-hosts"][..],
        &["status", "--no-hosts", "--json"],
        &["events", "--limit", "1000"],
        &["events", "--limit", "1000", "--json"],
        &["audit", "--limit", "1000"],
        &["audit", "--limit", "1000", "--json"],
        &["notify", "--limit", "1000"],
        &["cooldown"],
        &["stats"],
    ] {
        let run = sandbox.opsctl(arguments, b"");
        assert_eq!(run.code, Some(0), "{arguments:?}: {run:?}");
        shown += &(run.stdout + &run.stderr);
    }
    assert!(shown.matches("[redacted]").count() > 500, "{shown}");
    assert_none_in("terminal", &leaked(&shown));
}

#[test]
fn no_report_contains_a_secret_of_the_ledger() {
    let sandbox = filled();
    let run = sandbox.opsctl(&["report", "--html", "report.html", "--no-hosts"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let page = sandbox.read("report.html");
    assert!(page.matches("[redacted]").count() > 90, "{page}");
    assert_none_in("report", &leaked(&page));
}

#[test]
fn explain_prints_no_secret_of_a_command() {
    let sandbox = sandbox();
    let shown = kinds_shown(|text| {
        let mut shown = String::new();
        for arguments in [&["explain", "-"][..], &["explain", "--json", "-"]] {
            let command = format!("docker exec web sh -c {}", quoted(text));
            let run = sandbox.opsctl(arguments, command.as_bytes());
            shown += &(run.stdout + &run.stderr);
        }
        shown
    });
    assert_none_in("explain", &shown);
}

#[test]
fn no_denial_shows_a_secret_of_its_command() {
    let sandbox = sandbox();
    let shown = kinds_shown(|text| {
        let mut shown = String::new();
        for command in [
            format!("gh api -X DELETE repos/o/{}", quoted(text)),
            format!("git push --force origin {}", quoted(text)),
            format!("cat {}", quoted(&format!("/etc/ssl/private/{text}"))),
            format!("for n in 1 2 3; do docker restart {}; done", quoted(text)),
            format!("echo x > /app/.claude/{}", quoted(text)),
        ] {
            let run = sandbox.before("t", &command);
            shown += &(run.stdout + &run.stderr);
        }
        shown
    });
    assert_none_in("denial", &shown);
    denied(&sandbox.before("t", "git push --force origin x"));
}

#[test]
fn the_ledger_holds_no_secret_of_a_command_or_message() {
    let sandbox = sandbox();
    for (at, (kind, text, _)) in texts().enumerate() {
        let (id, word) = (format!("t{at}"), quoted(&text));
        for command in [
            format!("gh pr create --title {word}"),
            format!("ansible-playbook -e {word} site.yml"),
            format!("helm upgrade web ./chart --set {word}"),
            format!("git push --force origin {word}"),
        ] {
            sandbox.before(&id, &command);
            sandbox.after(&id, &command);
        }
        let mut failed = crate::sandbox::call(&format!("f{at}"), "docker restart jellyfin");
        failed["error"] = json!(text);
        sandbox.hook("post-tool-use-failure", &failed);
        sandbox.hook("notification", &json!({"session_id": "s", "title": text, "message": text}));
        // The name of a service identifies its budget, so it does not depend on variables.
        if kind != "value of a variable" {
            sandbox.opsctl(&["cooldown", "record", &text], b"");
        }
    }
    let dump = sandbox.sql(".dump");
    assert!(dump.matches("[redacted]").count() > 300, "{}", dump.matches("[redacted]").count());
    assert_none_in("ledger", &leaked(&dump));
}

/// The lines of the body of a private key: names of programs, paths, assignments and a line of one word.
const KEY_BODY: [&str; 5] = [
    "MIIEowIBAAKCAQEAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL",
    "u1/usr/bin/QWERTYfolder+zxcvbnm0987654321poiuytrewqLKJHGFDSAmnbv",
    "/AbCdEf0123456789/GhIjKl0123456789/MnOpQr0123456789/StUvWx012345",
    "R2D2c3poR2D2c3poR2D2c3poR2D2c3poR2D2c3poR2D2c3poR2D2c3poR2D2c3po",
    "Tm9TZWNyZXQ0dQ==",
];

/// The parts of the body of which none may remain: six characters and more of each line.
fn parts_of_the_body() -> impl Iterator<Item = String> {
    KEY_BODY.into_iter().flat_map(|line| {
        let line = line.trim_end_matches('=').replacen("/usr/bin/", "/", 1);
        let line: Vec<char> = line.chars().collect();
        line.windows(6).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>()
    })
}

#[test]
fn no_line_of_a_pasted_key_is_shown_or_recorded() {
    let key =
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", KEY_BODY.join("\n"));
    let mut wrong = Vec::new();
    for (form, command) in [
        ("unquoted", format!("docker restart jellyfin\n{key}")),
        ("after echo", format!("echo {key} > /tmp/k; git push --force origin x")),
        ("quoted", format!("printf '%s' '{key}' > /tmp/k; docker restart jellyfin")),
        ("double quoted", format!("git push --force origin \"{key}\"")),
        ("here-document", format!("cat > /tmp/k <<EOF\n{key}\nEOF\ndocker restart jellyfin")),
        ("script", format!("bash <<'EOF'\n{key}\nEOF\ndocker restart jellyfin")),
        ("open quote", format!("docker restart jellyfin\n{key}\necho 'x")),
        (
            "redirected",
            format!("docker restart jellyfin\n{}", key.replace("\nu1", "\n>> /app/.claude/x ) u1")),
        ),
    ] {
        for tier in ["1", "2", "3"] {
            let sandbox = sandbox().with("CLAUDEOPS_TIER", tier);
            let mut shown = String::new();
            for id in ["a", "b", "c"] {
                let run = sandbox.before(id, &command);
                shown += &(run.stdout + &run.stderr);
                let mut failed = crate::sandbox::call(id, &command);
                failed["error"] = json!(format!("bash: line 3: {}: command not found", KEY_BODY[0]));
                let run = sandbox.hook("post-tool-use-failure", &failed);
                shown += &(run.stdout + &run.stderr);
            }
            let arguments: [&[&str]; 6] = [
                &["explain", "-"],
                &["explain", "--json", "-"],
                &["audit"],
                &["audit", "--json"],
                &["events"],
                &["suggest"],
            ];
            for arguments in arguments {
                let run = sandbox.opsctl(arguments, command.as_bytes());
                shown += &(run.stdout + &run.stderr);
            }
            shown += &sandbox.sql(".dump");
            let line = |part: String| shown.lines().find(|line| line.contains(&part)).map(str::to_owned);
            wrong.extend(
                parts_of_the_body().find_map(line).map(|line| format!("{form}, tier {tier}: {line}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn notifications_contain_no_secret() {
    let sandbox = sandbox();
    let received = sandbox.path("received");
    let stub = sandbox
        .write("bin/apprise", &format!("#!/bin/sh\n{{ echo \"$*\"; cat; }} >> {}\n", received.display()));
    std::fs::set_permissions(&stub, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    let sandbox = sandbox.with("PATH", &path).with("CLAUDEOPS_APPRISE_URLS", "json://127.0.0.1:9");
    for (_, text, _) in texts() {
        let run = sandbox.hook("notification", &json!({"session_id": "s", "title": text, "message": text}));
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    let mut sent = String::new();
    for _ in 0..600 {
        sent.clear();
        let _ = std::fs::File::open(&received).and_then(|mut file| file.read_to_string(&mut sent));
        if sent.matches("--title=").count() >= KINDS.len() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(sent.matches("--title=").count() >= KINDS.len(), "{sent}");
    assert_none_in("notifications", &leaked(&sent));
}

#[test]
fn the_log_and_the_output_of_a_session_contain_no_secret() {
    let sandbox = sandbox();
    let mut script = "#!/bin/sh\ncat <<'END'\n".to_owned();
    for (_, text, _) in texts() {
        let message = json!({"type": "assistant", "message": {"content": [
            {"type": "text", "text": format!("[EVENT:info] {text}")},
            {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": text}},
        ]}});
        script += &format!("{message}\n{}\n", text.replace('\n', "\\n"));
    }
    script += "{\"type\": \"result\", \"result\": \"done\"}\nEND\n";
    let client = sandbox.write("client", &script);
    std::fs::set_permissions(&client, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sandbox = sandbox
        .with("CLAUDEOPS_CLIENT", &client.display().to_string())
        .with("CLAUDEOPS_RESULTS_DIR", "results");
    let run = sandbox.opsctl(&["session", "--tier", "1"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let log = std::fs::read_dir(sandbox.path("results")).unwrap().next().unwrap().unwrap().path();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.matches("[redacted]").count() > 200, "{log}");
    assert_none_in("log", &leaked(&log));
    assert_none_in("output of a session", &leaked(&(run.stdout + &run.stderr)));
    assert_none_in("events of a session", &leaked(&sandbox.sql(".dump")));
}
