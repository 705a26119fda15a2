//! `opsctl mcp merge`: the servers of the baseline and of repositories.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A case of `mcp.yaml`.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Case {
    #[serde(rename = "case")]
    title: String,
    files: BTreeMap<String, Value>,
    origins: Vec<String>,
    servers: serde_json::Map<String, Value>,
    left_out: Vec<String>,
}

#[test]
fn listed_servers_are_merged_and_others_reported() {
    for case in serde_saphyr::from_str::<Vec<Case>>(include_str!("mcp.yaml")).unwrap() {
        let sandbox = Sandbox::new();
        let root = sandbox.path("repos").parent().unwrap().to_str().unwrap().to_owned();
        for (name, content) in &case.files {
            let path = sandbox.write(name, &content.as_str().unwrap_or_default().replace("FOLDER", &root));
            match content.get("link") {
                Some(target) => {
                    std::fs::remove_file(&path).unwrap();
                    symlink(sandbox.path(target.as_str().unwrap()), path).unwrap();
                }
                None => std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap(),
            }
        }
        let arguments = ["mcp", "merge", "--baseline", "mcp.json", "--repos", "repos", "--out", "out.json"];
        let run = sandbox.opsctl(&arguments, b"");
        let opsctl = std::fs::canonicalize(crate::sandbox::program()).unwrap();
        let named = |text: &str| text.replace(&root, "FOLDER").replace(opsctl.to_str().unwrap(), "OPSCTL");
        let left_out: Vec<String> = case.left_out.iter().map(|line| format!("opsctl: {line}\n")).collect();
        assert_eq!(named(&run.stderr), left_out.concat(), "{}", case.title);
        assert_eq!(run.stdout.lines().collect::<Vec<_>>(), case.origins, "{}", case.title);
        if case.servers.is_empty() {
            assert!(!sandbox.path("out.json").exists(), "{}", case.title);
        } else {
            let written: Value = serde_json::from_str(&named(&sandbox.read("out.json"))).unwrap();
            assert_eq!(written, json!({"mcpServers": case.servers}), "{}", case.title);
        }
    }
}
