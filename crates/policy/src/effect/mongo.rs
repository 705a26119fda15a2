//! Code of the `MongoDB` shell: it reads where only methods are called that do.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

/// Methods and functions that change nothing.
const READING: &str = "
    stats serverstatus currentop getcollectionnames getcollectioninfos getcollection find findone countdocuments estimateddocumentcount
    count distinct aggregate limit sort skip toarray pretty foreach map filter reduce explain getindexes indexes
    getindexkeys totalsize totalindexsize datasize storagesize status conf config printreplicationinfo printsecondaryreplicationinfo
    printslavereplicationinfo ismaster hello version hostinfo serverbuildinfo servercmdlineopts getusers getuser getroles getrole
    getmongo getdbnames getdb getsiblingdb getname getprofilingstatus getprofilinglevel getreplicationinfo
    printcollectionstats printshardingstatus getshardversion getsharddistribution latencystats validate stringify parse print printjson
    tojson tojsononeline keys values entries includes indexof round floor ceil abs max min tofixed join split slice
    tostring tolocalestring toisostring tolowercase touppercase padend padstart replace trim concat push isodate objectid date now numberlong
    numberint number string boolean array isarray parseint parsefloat projection hint maxtimems comment batchsize
    collation readpref hasnext next itcount size admincommand runcommand listcommands getlastchange getlog getparameter gettimestamp
    getbalancerstate isbalancerrunning some every flatmap sortby match startswith endswith replaceall getfreemonitoringstatus
    getcmdlineopts rshello rstatus function if for while return typeof switch catch datasize iscapped getplancache list allowdiskuse
    returnkey showrecordid getsearchindexes getquery help
";

/// Commands of the database that change nothing.
const COMMANDS: &str = "
    ping listdatabases getparameter serverstatus replsetgetstatus currentop getlog buildinfo hostinfo connectionstatus
    listcommands getcmdlineopts top dbstats collstats whatsmyuri ismaster hello getdefaultrwconcern balancerstatus
    listshards count find distinct aggregate explain listcollections listindexes usersinfo rolesinfo replsetgetconfig
    datasize features getshardmap getshardversion serverstatus shardingstate lockinfo profile_ro
";

/// Stages, objects and functions that do more than read, at any position.
const DOUBTFUL: &[&str] =
    &["$out", "$merge", "process.", "constructor", "prototype", "require", "globalthis", "__"];

/// How methods that change something begin; one may be handed over without being called.
const CHANGING: &[&str] = &[
    "insert",
    "update",
    "delete",
    "remove",
    "drop",
    "create",
    "rename",
    "bulk",
    "replaceone",
    "save",
    "kill",
    "shutdown",
    "stepdown",
    "reconfig",
    "initiate",
    "fsync",
    "compact",
    "reindex",
    "grant",
    "revoke",
    "findand",
    "mapreduce",
    "clone",
    "copy",
];

/// The effect of a command line of `mongosh`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let value = usage.value();
    let mut scripts: Vec<Word> = Vec::new();
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, Some(at)) if name.is("--eval") => {
                scripts.extend(command.words.get(at.index).map(|word| word.tail(at.offset)));
            }
            Item::Option(name, at) if name.is_any(&["--file", "-f", "--shell"]) => {
                let file = at.and_then(|at| texts.get(at.index)).copied().unwrap_or_default();
                return (Effect::Unknown, Why::ScriptOnDisk(file.to_owned()));
            }
            Item::Positional(index) => {
                if let Some(file) = texts.get(index).filter(|text| text.ends_with("js")) {
                    return (Effect::Unknown, Why::ScriptOnDisk((*file).to_owned()));
                }
            }
            _ => {}
        }
    }
    if scripts.is_empty() {
        scripts.extend(command.stdin.clone());
    }
    if scripts.is_empty() {
        return (Effect::Unknown, Why::Unread);
    }
    if scripts.iter().all(|script| script.known().is_some_and(only_reads)) {
        (Effect::Reads, Why::Stated)
    } else {
        (Effect::Changes, Why::Statement)
    }
}

/// Whether code calls only what reads.
fn only_reads(code: &str) -> bool {
    let lower = code.to_lowercase();
    let escapes = ["\\'", "\\\"", "\\u", "\\x", "`"];
    if escapes.iter().any(|one| lower.contains(one)) || DOUBTFUL.iter().any(|one| lower.contains(one)) {
        return false;
    }
    let Some(plain) = without_texts(&lower) else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let hands_over = plain.split(['.', '[']).skip(1).any(|member| {
        let member = member.trim_start_matches('"');
        let name = member.split(|c| !is_name(c)).next().unwrap_or_default();
        // `updatedAt` is a field.
        let field = |rest: &str| {
            matches!(rest, "d" | "ed" | "ped" | "dat" | "edat" | "dby" | "edby" | "d_at" | "ed_at")
        };
        CHANGING.iter().any(|verb| name.strip_prefix(verb).is_some_and(|rest| !field(rest)))
    });
    if hands_over {
        return false;
    }
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once('(') {
        let before = before.trim_end();
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        // `x['drop']()`.
        if (name.is_empty() && before.ends_with([']', ')'])) || !(name.is_empty() || is_among(READING, name))
        {
            return false;
        }
        if matches!(name, "admincommand" | "runcommand") {
            let argument = after.trim_start().trim_start_matches('{').trim_start().trim_start_matches('"');
            let named = argument.split(|c| !is_name(c)).next().unwrap_or_default();
            if !is_among(COMMANDS, named) {
                return false;
            }
        }
        rest = after;
    }
    true
}

fn is_among(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|one| one == name)
}

/// The code with single quotes as double ones, and with texts that hold brackets left out; `None` where a text has no end.
fn without_texts(code: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let quote = rest.get(at..)?.chars().next()?;
        plain.push_str(rest.get(..at)?);
        let inside = rest.get(at + 1..)?;
        let end = inside.find(quote)?;
        plain.push('"');
        plain.extend(inside.get(..end)?.chars().filter(|c| c.is_alphanumeric()));
        plain.push('"');
        rest = inside.get(end + 1..)?;
    }
    plain.push_str(rest);
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    #[test]
    fn only_code_that_queries_reads() {
        for code in [
            "db.adminCommand({ping:1}).ok",
            "db.adminCommand('ping')",
            "db.currentOp({secs_running: {$gt: 10}})",
            "rs.status().members.map(m => m.name + ' ' + m.stateStr).join('\\n')",
            "db.users.find({createdAt: {$gt: 1}}).sort({updatedAt: -1}).forEach(d => print(d.deletedAt))",
            "db.users.countDocuments({active: true})",
            "db.getCollectionNames().forEach(c => print(c, db[c].stats().size))",
            "show dbs",
            "db.events.aggregate([{$match:{level:\"error\"}},{$group:{_id:'$host',n:{$sum:1}}}]).toArray()",
            "printjson(db.serverStatus().connections)",
            "JSON.stringify(db.runCommand({dbStats:1}))",
        ] {
            assert!(only_reads(code), "{code}");
        }
        for code in [
            "db.killOp(12345)",
            "db.events.createIndex({ts: 1})",
            "db.events.aggregate([{$match:{level:\"error\"}},{$out:\"errors\"}])",
            "db.users.deleteMany({})",
            "db['users']['drop']()",
            "const d = db.users.drop; d()",
            "db.adminCommand({shutdown: 1})",
            "db.adminCommand({fsync: 1})",
            "db.adminCommand({setParameter: 1, x: 2})",
            "rs.stepDown()",
            "load('x.js')",
            "db.dropDatabase()",
            "eval('x')",
            "db.adminCommand(x)",
            "[1].forEach(db.users.drop)",
        ] {
            assert!(!only_reads(code), "{code}");
        }
    }
}
