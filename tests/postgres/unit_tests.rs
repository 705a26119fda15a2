//! The unit tests of `crates/ledger/src` on a server.

use std::process::Command;

use crate::shared_server::server;

#[test]
fn unit_tests_of_the_ledger_pass_on_a_server() {
    let cargo = std::env::var_os("CARGO").expect("this test is run by cargo");
    let mut tests = Command::new(cargo);
    tests
        .args(["test", "--locked", "--package", "opsctl-ledger", "--lib"])
        .env("OPSCTL_TEST_DB_URL", server().url("postgres"));
    let output = tests.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("running 0 tests"), "{text}");
}
