//! What the image is built from is pinned, and anything else is rejected.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use serde_json::json;
use tempfile::TempDir;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The value of a build argument of the Dockerfile.
fn argument(name: &str) -> String {
    let start = format!("ARG {name}=");
    let dockerfile = read("Dockerfile");
    dockerfile.lines().find_map(|line| line.strip_prefix(&start)).unwrap().to_owned()
}

#[test]
fn every_base_image_is_a_build_argument_with_a_tag() {
    let dockerfile = read("Dockerfile");
    let stages: Vec<&str> = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM ")).collect();
    assert!(stages.len() >= 5, "{stages:?}");
    for stage in stages {
        let image = stage.split(' ').next().unwrap();
        match image.strip_prefix("${").and_then(|name| name.strip_suffix('}')) {
            Some(name) => assert!(argument(name).contains(':'), "{image} has no default with a tag"),
            None => assert!(dockerfile.contains(&format!(" AS {image}\n")), "{image} cannot be pinned"),
        }
    }
}

#[test]
fn the_integrity_of_the_pinned_client_is_listed_for_each_architecture() {
    let (version, lock) = (argument("CLAUDE_CODE_VERSION"), read("image/client.lock"));
    assert!(
        read("tests/versions").contains(&format!("CLIENT_VERSION={version}\n")),
        "{version} is not tested"
    );
    for arch in ["x64", "arm64"] {
        let start = format!("{version} {arch} sha512-");
        let hash = lock.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
        assert!(hash.len() == 88 && hash.ends_with("=="), "{hash}");
    }
}

/// `image/client` with a registry that delivers a package with this program.
fn install_client(version: &str, program: &str, folder: &Path) -> Output {
    fs::create_dir_all(folder.join("package")).unwrap();
    fs::write(folder.join("package/claude"), program).unwrap();
    fs::create_dir_all(folder.join("bin")).unwrap();
    let npm = folder.join("bin/npm");
    let pack =
        format!("tar --create --gzip --file \"$4/claude.tgz\" --directory '{}' package", folder.display());
    let text = folder.join("npm.txt");
    fs::write(&text, format!("#!/bin/sh\n[ \"$1 $3\" = 'pack --pack-destination' ] && {pack}\n")).unwrap();
    // A process of its own writes what is executed: this one's files may be open in processes that other tests start.
    let installed = Command::new("install").args(["-m", "755"]).args([&text, &npm]).status().unwrap();
    assert!(installed.success());
    let search = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut install = Command::new(root().join("image/client"));
    install.args([version, "x64"]).arg(folder.join("installed")).env("PATH", search).output().unwrap()
}

#[test]
fn a_client_with_another_hash_than_the_listed_one_is_not_installed() {
    let folder = TempDir::new().unwrap();
    let ran = install_client(&argument("CLAUDE_CODE_VERSION"), "#!/bin/sh\necho changed\n", folder.path());
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("client.lock lists sha512-"), "{stderr}");
    assert!(!folder.path().join("installed/claude").exists());
}

#[test]
fn a_release_of_the_client_that_is_not_listed_is_not_installed() {
    let folder = TempDir::new().unwrap();
    let ran = install_client("2.1.999", "#!/bin/sh\n", folder.path());
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("client.lock does not list 2.1.999 for x64"), "{stderr}");
    assert!(!folder.path().join("installed/claude").exists());
}

/// A copy of the files that `release/images` uses.
fn images() -> TempDir {
    let copy = TempDir::new().unwrap();
    for folder in ["release", "image"] {
        fs::create_dir(copy.path().join(folder)).unwrap();
    }
    for file in ["release/images", "image/images.lock", "Dockerfile"] {
        fs::copy(root().join(file), copy.path().join(file)).unwrap();
    }
    copy
}

fn run_images(copy: &TempDir, words: &[&str], registry: &str) -> Output {
    // Another test may start a process while the copy is written, so it cannot be executed itself.
    let mut images = Command::new("python3");
    images
        .arg(copy.path().join("release/images"))
        .args(words)
        .env("OPSCTL_REGISTRY", registry)
        .output()
        .unwrap()
}

/// A digest that depends on the image and the platform.
fn digest(path: &str, architecture: &str) -> String {
    let digit = |text: &str| text.bytes().fold(0u64, |sum, byte| (sum * 31 + u64::from(byte)) % 1_000_003);
    format!("sha256:{:032x}{:032x}", digit(path), digit(architecture))
}

/// A registry that answers requests for an index of platforms.
fn registry() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines: Vec<String> = BufReader::new(stream.try_clone().unwrap())
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .collect();
            let path = lines[0].split(' ').nth(1).unwrap();
            let of = |architecture: &str| {
                let platform = json!({"os": "linux", "architecture": architecture});
                json!({"digest": digest(path, architecture), "platform": platform})
            };
            let manifests = ["386", "amd64", "arm64"].map(of);
            let body = json!({ "manifests": manifests }).to_string();
            let length = body.len();
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
                .unwrap();
        }
    });
    format!("http://{address}")
}

#[test]
fn the_lock_file_lists_every_base_image_for_each_platform() {
    let lock = read("image/images.lock");
    for name in ["RUST_IMAGE", "NODE_IMAGE", "DEBIAN_IMAGE"] {
        for platform in ["linux/amd64", "linux/arm64"] {
            let start = format!("{} {platform} ", argument(name));
            assert!(lock.lines().any(|line| line.starts_with(&start)), "{start}");
        }
    }
}

#[test]
fn a_release_takes_the_digests_of_base_images_from_the_registry() {
    let (copy, registry) = (images(), registry());
    let locked = run_images(&copy, &["lock"], &registry);
    assert!(locked.status.success(), "{}", String::from_utf8_lossy(&locked.stderr));
    assert!(run_images(&copy, &["check"], &registry).status.success());
    let ran = run_images(&copy, &["args", "linux/arm64"], &registry);
    let stdout = String::from_utf8(ran.stdout).unwrap();
    let arguments: BTreeMap<&str, &str> =
        stdout.lines().filter_map(|line| line.strip_prefix("--build-arg=")?.split_once('=')).collect();
    assert_eq!(arguments.len(), 3, "{stdout}");
    let expected = digest("/v2/library/debian/manifests/bookworm-slim", "arm64");
    assert_eq!(arguments["DEBIAN_IMAGE"], format!("debian:bookworm-slim@{expected}"));
}

#[test]
fn a_base_image_without_a_digest_stops_a_release() {
    let (copy, registry) = (images(), registry());
    assert!(run_images(&copy, &["lock"], &registry).status.success());
    let lock = copy.path().join("image/images.lock");
    let locked = fs::read_to_string(&lock).unwrap();
    let node = digest("/v2/library/node/manifests/22-bookworm-slim", "amd64");
    for changed in [
        locked.replace(&node, "-"),
        locked.replace(&node, "sha256:0"),
        locked.replace("node:22-", "node:20-"),
    ] {
        assert_ne!(changed, locked);
        fs::write(&lock, changed).unwrap();
        for words in [&["check"][..], &["args", "linux/amd64"]] {
            let ran = run_images(&copy, words, &registry);
            let stderr = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(1), "{stderr}");
            assert!(stderr.contains("node:22-bookworm-slim for linux/amd64 has no digest"), "{stderr}");
        }
    }
}
