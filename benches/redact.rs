//! The time in which secrets are removed from 1 MiB of output.

use divan::{Bencher, black_box, counter::BytesCount};

fn main() {
    divan::main();
}

const MIB: usize = 1024 * 1024;

/// Lines of the output of programs, `{n}` differs from line to line.
const OUTPUTS: [(&str, &str); 8] = [
    (
        "log",
        "2026-03-21T14:22:{n}Z INFO  nas app[812]: GET http://nas.lan:8080/api/items/{n}?page=2 200 in 12 ms, user bob, path /srv/media/{n}\n",
    ),
    (
        "listing",
        "-rw-r--r-- 1 bob bob {n} Mar 21 14:22 /srv/media/Movies/2026/Some Movie {n}/movie-{n}.mkv\n",
    ),
    (
        "docker-inspect",
        "        \"Id\": \"{n}3f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be\",\n        \"Env\": [\"PATH=/usr/bin\", \"TZ=Europe/Berlin\", \"PORT={n}\"],\n        \"SandboxKey\": \"/var/run/docker/netns/{n}\",\n",
    ),
    (
        "kubernetes",
        "    - apiVersion: v1\n      kind: Pod\n      metadata:\n        name: app-{n}\n        uid: f81d4fae-7dec-11d0-a765-00a0c91e6bf6\n      spec:\n        serviceAccountName: app\n        volumes:\n        - name: tls\n          secret:\n            secretName: tls-{n}\n",
    ),
    (
        "minified-json",
        "{\"id\":{n},\"name\":\"app-{n}\",\"url\":\"https://nas.lan/x/{n}\",\"digest\":\"sha256:9b2a28b33e3f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be773f2a91\"},",
    ),
    ("base64", "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24sIGJ1dCBieSB0aGlz{n}"),
    (
        "code",
        "    def item_{n}(self, key: str, token: str) -> Item:\n        return self.items.get(key, self.default(token))\n",
    ),
    (
        "few-secrets",
        "a line of output, as most programs print it, with a number {n} and nothing else in it that matters\n",
    ),
];

fn output(kind: &str) -> String {
    let (_, line) = OUTPUTS.into_iter().find(|(name, _)| *name == kind).unwrap_or_default();
    let mut text = String::with_capacity(MIB + line.len());
    let mut number = 10_000;
    while text.len() < MIB {
        text += &line.replace("{n}", &number.to_string());
        if kind == "few-secrets" && number % 100 == 0 {
            text += "DB_PASSWORD=hunter2 and https://bob:hunter2@git.lan/x\n";
        }
        number += 1;
    }
    text
}

#[divan::bench(args = OUTPUTS.map(|(name, _)| name))]
fn one_mib(bencher: Bencher<'_, '_>, kind: &str) {
    let text = output(kind);
    // The rules that the text selects are compiled once in a process.
    black_box(opsctl_redact::text(&text));
    bencher.counter(BytesCount::of_str(&text)).bench(|| opsctl_redact::text(black_box(&text)).len());
}

/// What a short output costs, once the rules are compiled.
#[divan::bench]
fn a_short_output(bencher: Bencher<'_, '_>) {
    let text = "total 3\n-rw-r--r-- 1 bob bob 411 Mar 21 14:22 app.conf\n";
    bencher.bench(|| opsctl_redact::text(black_box(text)).len());
}
