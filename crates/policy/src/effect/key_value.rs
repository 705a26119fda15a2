//! Commands of Redis and its kin, in any case of letters.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::model::effect::Effect;
use crate::shell::Command;

/// Options with which the client looks at the whole database instead of running a command.
const LOOKING: &[&str] = &[
    "--scan",
    "--bigkeys",
    "--memkeys",
    "--keystats",
    "--hotkeys",
    "--stat",
    "--latency",
    "--latency-history",
    "--latency-dist",
    "--intrinsic-latency",
    "--help",
    "--version",
    // They write a file, which is looked at elsewhere.
    "--rdb",
    "--functions-rdb",
];

/// Commands that read, with the subcommands that do; without any, all of them read.
const READING: &[(&str, &str)] = &[
    ("acl", "list whoami users getuser cat dryrun genpass help"),
    ("client", "list info getname id getredir trackinginfo help"),
    (
        "cluster",
        "info nodes slots shards myid myshardid keyslot countkeysinslot getkeysinslot links replicas slaves count-failure-reports help",
    ),
    ("command", ""),
    ("config", "get help"),
    ("debug", "object"),
    ("function", "list stats dump help"),
    ("latency", "latest history doctor graph histogram help"),
    ("memory", "usage stats doctor malloc-stats help"),
    ("module", "list help"),
    ("object", ""),
    ("pubsub", ""),
    ("script", "exists help"),
    (
        "sentinel",
        "masters master replicas slaves sentinels get-master-addr-by-name ckquorum myid is-master-down-by-addr info-cache help",
    ),
    ("slowlog", "get len help"),
    ("xinfo", ""),
];

/// Commands that read with any arguments.
const PLAIN: &str = "
    get mget strlen getrange substr getbit bitcount bitpos bitfield_ro exists type ttl pttl expiretime pexpiretime keys
    scan randomkey dbsize dump touch_ro llen lrange lindex lpos hget hmget hgetall hkeys hvals hlen hexists hstrlen
    hscan hrandfield httl hpttl smembers scard sismember smismember srandmember sscan sinter sinterc sintercard sunion
    sdiff zrange zrevrange zrangebyscore zrevrangebyscore zrangebylex zrevrangebylex zcard zcount zlexcount zscore
    zmscore zrank zrevrank zscan zrandmember zinter zunion zdiff zintercard pfcount geopos geodist geohash geosearch
    georadius_ro georadiusbymember_ro xlen xrange xrevrange xread xpending sort_ro eval_ro evalsha_ro fcall_ro lcs
    info ping echo time role lastsave lolwut hello auth select monitor subscribe psubscribe ssubscribe wait readonly
    help quit json.get json.mget json.type json.strlen json.arrlen json.objkeys json.objlen json.resp ft.search ft.info
    ft._list ft.explain ft.aggregate ft.profile ts.get ts.mget ts.range ts.revrange ts.mrange ts.mrevrange ts.info
    ts.queryindex bf.exists bf.mexists bf.info cf.exists cf.info topk.list topk.query topk.info
";

/// The effect of a command line of `redis-cli`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let value = usage.value();
    let mut looks = false;
    let mut first = None;
    // What follows the command belongs to it.
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, _) => looks |= name.is_any(LOOKING),
            Item::Positional(index) => {
                first = Some(index);
                break;
            }
            Item::Dashes(_) => {}
        }
    }
    if let Some(first) = first {
        let words = texts.get(first..).unwrap_or_default();
        let known = |index: &usize| command.words.get(*index).is_some_and(|word| word.known().is_some());
        let named = words.len().min(2);
        let proved = (first..first + named).all(|index| known(&index)) || {
            // Only the name of a command without subcommands has to be known.
            known(&first)
                && !READING.iter().any(|(name, _)| name.eq_ignore_ascii_case(texts.get(first).unwrap_or(&"")))
        };
        return if proved && reads(words) {
            (Effect::Reads, Why::Stated)
        } else {
            (Effect::Changes, Why::Statement)
        };
    }
    if looks {
        return (Effect::Reads, Why::Stated);
    }
    match command.stdin.as_ref().map(crate::shell::Word::known) {
        Some(Some(text)) if text.lines().all(line_reads) => (Effect::Reads, Why::Stated),
        Some(_) => (Effect::Changes, Why::Statement),
        None => (Effect::Unknown, Why::Unread),
    }
}

fn line_reads(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.is_empty() || reads(&words)
}

/// Whether a command of Redis only reads.
pub(super) fn reads(words: &[&str]) -> bool {
    let lower = |at: usize| words.get(at).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let name = lower(0);
    if let Some((_, subcommands)) = READING.iter().find(|(one, _)| *one == name) {
        let second = lower(1);
        return subcommands.is_empty() || subcommands.split(' ').any(|one| one == second);
    }
    match name.as_str() {
        "sort" | "georadius" | "georadiusbymember" => !words
            .iter()
            .any(|word| word.to_ascii_lowercase().starts_with("store") || word.contains(['$', '`'])),
        name => PLAIN.split_whitespace().any(|one| one == name),
    }
}

#[cfg(test)]
mod tests {
    use super::reads;

    #[test]
    fn only_commands_that_change_nothing_read() {
        for text in [
            "GET x",
            "config get maxmemory",
            "CLIENT LIST",
            "info",
            "memory usage x",
            "SLOWLOG GET 10",
            "SORT x",
            "acl whoami",
        ] {
            assert!(reads(&text.split(' ').collect::<Vec<_>>()), "{text}");
        }
        for text in [
            "SET x 1",
            "config set x y",
            "CLIENT KILL x",
            "flushall",
            "memory purge",
            "SLOWLOG RESET",
            "SORT x STORE y",
            "getdel x",
            "acl log reset",
            "client",
            "eval x 0",
        ] {
            assert!(!reads(&text.split(' ').collect::<Vec<_>>()), "{text}");
        }
    }
}
