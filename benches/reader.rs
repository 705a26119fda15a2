//! The time of a reading, which precedes every command that an agent runs.

use std::path::Path;

use divan::{Bencher, black_box, counter::BytesCount};
use opsctl_reader::actions::read_command;

fn main() {
    divan::main();
}

/// Two hundred characters of the usual kind of work on another host.
const OVER_SSH: &str = "ssh -o ConnectTimeout=10 -o BatchMode=yes -i /root/.ssh/id_ed25519 root@ie01 'cd /opt/jellyfin \
&& docker compose pull --quiet && docker compose up -d jellyfin && docker logs --tail 2000 jellyfin 2>&1'";

fn bench(bencher: Bencher, text: &str) {
    let cwd = Some(Path::new("/app"));
    bencher.counter(BytesCount::of_str(text)).bench(|| read_command(black_box(text), cwd));
}

#[divan::bench]
fn a_lookup(bencher: Bencher) {
    bench(bencher, "ls -la");
}

#[divan::bench]
fn a_restart(bencher: Bencher) {
    bench(bencher, "docker restart jellyfin");
}

#[divan::bench]
fn an_ssh_command_of_200_characters(bencher: Bencher) {
    assert_eq!(OVER_SSH.len().abs_diff(200), 0, "{}", OVER_SSH.len());
    bench(bencher, OVER_SSH);
}

#[divan::bench]
fn a_script_of_64_kib(bencher: Bencher) {
    let part = "for s in jellyfin sonarr; do\n  if ! curl -sf \"https://$s.stump.rocks/health\"; then\n    ssh root@ie01 \
                \"docker restart $s\"\n  fi\ndone\ncat <<'EOF' >> /results/report.md\n- docker restart jellyfin\nEOF\n";
    let text = part.repeat(64 * 1024 / part.len());
    bench(bencher, &text);
}
