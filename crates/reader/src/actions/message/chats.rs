//! Addresses at which chats, push services and mail services accept messages over HTTP.

/// A service, and the form of its addresses.
struct Chat {
    name: &'static str,
    /// Its hosts, including their subdomains; empty for any host.
    hosts: &'static [&'static str],
    /// Prefixes of its paths: `*` matches a part, `send*` a part with this prefix.
    paths: &'static [&'static str],
    /// Whether only requests with data are messages.
    needs_data: bool,
}

const fn chat(
    name: &'static str,
    hosts: &'static [&'static str],
    paths: &'static [&'static str],
    needs_data: bool,
) -> Chat {
    Chat { name, hosts, paths, needs_data }
}

const CHATS: &[Chat] = &[
    chat("Slack", &["hooks.slack.com", "hooks.slack-gov.com"], &[""], false),
    chat("Slack", &["slack.com"], &["api/chat.*", "api/files.upload*"], false),
    chat(
        "Discord",
        &["discord.com", "discordapp.com"],
        &["api/webhooks", "api/*/webhooks", "api/channels/*/messages", "api/*/channels/*/messages"],
        false,
    ),
    chat(
        "Telegram",
        &["api.telegram.org"],
        &["bot*/send*", "bot*/forward*", "bot*/copy*", "bot*/edit*"],
        false,
    ),
    chat("Matrix", &[], &["_matrix/client/*/rooms/*/send"], false),
    chat("Pushover", &["api.pushover.net"], &["1/messages*", "1/glances*"], false),
    chat("Pushbullet", &["api.pushbullet.com"], &["v2/pushes", "v2/texts"], true),
    chat(
        "Teams",
        &["webhook.office.com", "outlook.office.com", "outlook.office365.com"],
        &["webhook*"],
        false,
    ),
    chat("Teams", &["logic.azure.com", "api.powerplatform.com"], &["workflows", "powerautomate"], false),
    chat("Google Chat", &["chat.googleapis.com"], &["v1/spaces/*/messages"], false),
    chat("Mattermost", &[], &["api/v4/posts"], true),
    chat("Rocket.Chat", &[], &["api/v1/chat.postMessage", "api/v1/chat.sendMessage"], false),
    chat("Zulip", &[], &["api/v1/messages", "api/v1/external"], true),
    chat("Webex", &["webexapis.com"], &["v1/webhooks/incoming", "v1/messages"], true),
    chat("Signal", &[], &["v2/send"], true),
    chat("Home Assistant", &[], &["api/services/notify"], true),
    chat("Apprise", &[], &["notify"], true),
    chat("IFTTT", &["maker.ifttt.com"], &["trigger"], false),
    chat("PagerDuty", &["events.pagerduty.com"], &["v2/enqueue"], false),
    chat("Opsgenie", &["api.opsgenie.com", "api.eu.opsgenie.com"], &["v2/alerts"], true),
    chat(
        "Twilio",
        &["api.twilio.com"],
        &["2010-04-01/Accounts/*/Messages*", "2010-04-01/Accounts/*/Calls*"],
        true,
    ),
    chat("SendGrid", &["api.sendgrid.com"], &["v3/mail/send"], false),
    chat("Mailgun", &["api.mailgun.net", "api.eu.mailgun.net"], &["v3/*/messages*"], true),
    chat("Postmark", &["api.postmarkapp.com"], &["email*"], false),
    chat("Resend", &["api.resend.com"], &["emails"], true),
    chat("Brevo", &["api.brevo.com"], &["v3/smtp/email"], true),
];

/// Names of variables and files that suggest the URL of a chat.
const HINTS: &[&str] = &[
    "webhook",
    "slack",
    "discord",
    "telegram",
    "ntfy",
    "gotify",
    "pushover",
    "mattermost",
    "teams",
    "notify",
    "matrix",
    "rocketchat",
];

/// The service that accepts requests to a URL as messages.
pub(super) fn named(url: &str, sends: bool, headers: &[&str]) -> Option<&'static str> {
    let (host, path, query) = parts(url);
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let known = CHATS.iter().find(|chat| {
        (sends || !chat.needs_data)
            && (chat.hosts.is_empty() || chat.hosts.iter().any(|known| is_below(&host, known)))
            && chat.paths.iter().any(|pattern| begins(&segments, pattern))
    });
    if let Some(chat) = known {
        return Some(chat.name);
    }
    let label = host.split('.').next().unwrap_or_default();
    if label == "ntfy" {
        let publishes = matches!(segments.get(1), Some(&("publish" | "send" | "trigger")));
        let own = matches!(segments.first(), Some(&("v1" | "_next" | "static")));
        return (publishes || sends && !own).then_some("ntfy");
    }
    let key = query.contains("token=")
        || headers.iter().any(|h| h.to_ascii_lowercase().starts_with("x-gotify-key"));
    if sends && begins(&segments, "message") && segments.len() == 1 && (label == "gotify" || key) {
        return Some("Gotify");
    }
    // Mattermost's hooks have 26 letters and digits, Rocket.Chat's a token after the name.
    let is_token = |text: &&str| text.len() >= 16 && text.chars().all(|c| c.is_ascii_alphanumeric());
    match segments.as_slice() {
        ["hooks", token] if sends && token.len() == 26 && is_token(token) => Some("Mattermost"),
        ["hooks", id, token] if sends && is_token(id) && is_token(token) => Some("Rocket.Chat"),
        _ => None,
    }
}

/// Whether the name of a word with an unknown value suggests the address of a chat.
pub(super) fn hints_at_one(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    HINTS.iter().any(|hint| word.contains(hint))
}

/// Host, path and query.
fn parts(url: &str) -> (String, &str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split(':').next().unwrap_or_default().trim_end_matches('.');
    (host.to_ascii_lowercase(), path, query)
}

fn is_below(host: &str, known: &str) -> bool {
    host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn begins(segments: &[&str], pattern: &str) -> bool {
    let mut segments = segments.iter();
    pattern.split('/').filter(|part| !part.is_empty()).all(|part| {
        let Some(segment) = segments.next() else { return false };
        match part.split_once('*') {
            Some((start, _)) => segment.starts_with(start),
            None => *segment == part,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn reading_from_a_chat_is_not_a_message() {
        for (url, sends, service) in [
            ("https://hooks.slack.com/services/T0/B0/x", true, Some("Slack")),
            ("https://evil.example/hooks.slack.com/services", true, None),
            ("https://nothooks.slack.com.example.org/services", true, None),
            ("https://user:word@HOOKS.slack.com:443/services/T0", false, Some("Slack")),
            ("https://discord.com/api/webhooks/1/x", true, Some("Discord")),
            ("https://discord.com/api/v10/gateway", false, None),
            ("https://api.telegram.org/bot1:x/sendMessage?chat_id=1&text=x", false, Some("Telegram")),
            ("https://api.telegram.org/bot1:x/getMe", false, None),
            ("https://matrix.lan/_matrix/client/v3/rooms/!x/send/m.room.message/1", true, Some("Matrix")),
            ("https://matrix.lan/_matrix/client/versions", false, None),
            ("ntfy.sh/alerts", true, Some("ntfy")),
            ("https://ntfy.lan/alerts/trigger?message=x", false, Some("ntfy")),
            ("https://ntfy.lan/v1/health", false, None),
            ("https://ntfy.lan/alerts/json?poll=1", false, None),
            ("http://gotify.lan/message?token=x", true, Some("Gotify")),
            ("http://gotify.lan/message?token=x", false, None),
            ("http://gotify.lan/health", false, None),
            ("https://chat.lan/hooks/abcdefghijklmnopqrstuvwxyz", true, Some("Mattermost")),
            ("https://chat.lan/hooks/redeploy", true, None),
            ("https://x.webhook.office.com/webhookb2/x", true, Some("Teams")),
            ("https://jellyfin.stump.rocks/health", false, None),
        ] {
            assert_eq!(named(url, sends, &[]), service, "{url}");
        }
    }
}
