//! Writes a draft as text of `hosts.yaml`, and into an existing one.

use similar::TextDiff;

use super::draft::{Draft, Entry, Host, INSECURE, Key, Service};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_reader::terms::plain_text::plain;

/// A line with its comment is at most this long; a longer comment gets a line of its own.
const WIDTH: usize = 120;

/// A `hosts.yaml` with the hosts and services of a draft. `starter` is the one of a new installation, whose policy is kept.
pub fn whole(draft: &Draft, starter: &str) -> String {
    let mut text: String = starter
        .lines()
        .take_while(|line| line.starts_with("# yaml-language-server"))
        .map(|line| format!("{line}\n"))
        .collect();
    text += "# The hosts and services that the agent operates, and its limits, written by `opsctl init --from`.\n\
             # Check what is marked as a guess; docs/hosts-yaml.md lists every key.\n";
    text += &draft.notes.iter().map(|note| comment("", note)).collect::<String>();
    text += &draft.unread.iter().map(|why| comment("", &format!("not imported: {why}"))).collect::<String>();
    text += "\nhosts:\n";
    text += &draft.hosts.iter().map(host).collect::<String>();
    text += "\nservices:\n";
    text += &services(&draft.services);
    if let Some((_, policy)) = starter.split_once("\npolicy:") {
        text += &format!("\npolicy:{policy}");
    }
    text
}

/// The existing file with the hosts and services of the draft that it does not have; every line of it stays, except the `{}` of an
/// empty map. `None` if they cannot be inserted because `hosts` or `services` is not written as a block.
pub fn added(draft: &Draft, existing: &str, inventory: &Inventory) -> Option<String> {
    let is_known = |service: &Service| {
        let name = inventory.service_named(&service.name);
        inventory.services.iter().any(|known| known.name == name)
    };
    let new = draft.services.iter().filter(|service| !is_known(service));
    let mut text = existing.to_owned();
    for (key, entries) in
        [("hosts", draft.hosts.iter().map(host).collect::<String>()), ("services", services(new))]
    {
        if !entries.is_empty() {
            text = inserted(&text, key, &entries)?;
        }
    }
    Some(text)
}

/// The unified diff between two texts of a file; empty if they are equal.
pub fn diff(before: &str, after: &str, file: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().header(file, file).to_string()
}

/// Inserts entries at the end of a top-level map, with the indentation of the map and the line endings of the text.
pub(super) fn inserted(text: &str, key: &str, entries: &str) -> Option<String> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(at) = lines.iter().position(|line| line.starts_with(&format!("{key}:"))) else {
        let gap = if text.is_empty() || text.ends_with(&newline.repeat(2)) { "" } else { newline };
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        return Some(format!("{text}{end}{gap}{key}:{newline}{}", entries.replace('\n', newline)));
    };
    let behind = lines.get(at)?.strip_prefix(key)?.strip_prefix(':')?;
    let value: String = behind.split('#').next()?.split_whitespace().collect();
    let without_map = match value.as_str() {
        "" => behind.to_owned(),
        "{}" => {
            let (front, back) = behind.split_once('{')?;
            front.trim_end().to_owned() + back.split_once('}')?.1
        }
        _ => return None,
    };
    let is_inside = |line: &&&str| line.starts_with([' ', '\t', '#']) || line.trim().is_empty();
    let inside = lines.iter().skip(at + 1).take_while(is_inside).count();
    let block = lines.get(at + 1..at + 1 + inside)?;
    // Comments and empty lines at the end belong to the key below.
    let last = block.iter().rposition(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let indentation = block
        .iter()
        .find(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty())
        .map_or("  ", |line| line.get(..line.len() - line.trim_start().len()).unwrap_or("  "));
    let split = at + 1 + last.map_or(0, |last| last + 1);
    let entries: String = entries
        .lines()
        .map(|line| format!("{indentation}{}{newline}", line.strip_prefix("  ").unwrap_or(line)))
        .collect();
    let head = lines.get(..at)?.concat();
    let before = format!("{head}{key}:{without_map}{}", lines.get(at + 1..split)?.concat());
    let end = if before.ends_with('\n') { "" } else { newline };
    Some(format!("{before}{end}{entries}{}", lines.get(split..)?.concat()))
}

/// The services, each with the sources that the one before it does not have.
fn services<'a>(services: impl IntoIterator<Item = &'a Service>) -> String {
    let mut text = String::new();
    let mut before: &[String] = &[];
    for service in services {
        if service.sources != before {
            text += &comment("  ", &service.sources.join(", "));
        }
        before = &service.sources;
        text += &self::service(service);
    }
    text
}

fn host(host: &Host) -> String {
    let Host { name, address, ssh, asking, comments, .. } = host;
    let ssh = ssh.as_ref().map(|ssh| format!(", ssh: {}", scalar(ssh))).unwrap_or_default();
    let asking: String = asking.iter().map(|(key, value)| format!(", {key}: {value}")).collect();
    line(&format!("  {}: {{address: {}{ssh}{asking}}}", scalar(name), scalar(address)), comments)
}

fn service(service: &Service) -> String {
    let Service { name, keys, notes, .. } = service;
    let about = |note: &String| match note.strip_prefix("guess: ") {
        Some(guess) => format!("guess: {name}: {guess}"),
        None => format!("{name}: {note}"),
    };
    let mut text: String = notes.iter().map(|note| comment("  ", &about(note))).collect();
    if keys.is_empty() {
        return format!("{text}  {}: {{}}\n", scalar(name));
    }
    text += &format!("  {}:\n", scalar(name));
    for (key, entry) in keys {
        text += &key_line(*key, entry);
    }
    text
}

fn key_line(key: Key, Entry { values, guesses }: &Entry) -> String {
    let first = values.first().map(|value| scalar(value)).unwrap_or_default();
    let list = || values.iter().map(|value| scalar(value)).collect::<Vec<_>>().join(", ");
    let value = match key {
        Key::Host | Key::Engine => first,
        Key::Health => {
            let insecure = if values.iter().any(|value| value == INSECURE) { ", insecure: true" } else { "" };
            format!("{{url: {first}{insecure}}}")
        }
        _ => format!("[{}]", list()),
    };
    let guesses: Vec<String> = guesses.iter().map(|guess| format!("guess: {guess}")).collect();
    line(&format!("    {}: {value}", key.as_str()), &guesses)
}

/// A line with comments behind it, or above it if they do not fit.
fn line(text: &str, comments: &[String]) -> String {
    let comments = one_line(&comments.join("; "));
    if comments.is_empty() {
        return format!("{text}\n");
    }
    if text.len() + comments.len() + 4 <= WIDTH {
        return format!("{text}  # {comments}\n");
    }
    let indentation = text.len() - text.trim_start().len();
    format!("{}# {comments}\n{text}\n", " ".repeat(indentation))
}

fn comment(indentation: &str, text: &str) -> String {
    format!("{indentation}# {}\n", one_line(text))
}

/// A text for a comment, without secrets and hidden characters.
fn one_line(text: &str) -> String {
    plain(&opsctl_redact::text(text))
}

/// A scalar of YAML that is read as this text.
pub fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_./@-".contains(c));
    let lower = text.to_ascii_lowercase();
    let is_word =
        matches!(lower.as_str(), "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    // Numbers are read as text, too; one that YAML would write in another way is quoted.
    let is_number = text.parse::<u16>().is_ok_and(|number| number.to_string() == text);
    let is_address = text.parse::<std::net::Ipv4Addr>().is_ok();
    if (is_plain && !is_word) || is_number || is_address {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}
