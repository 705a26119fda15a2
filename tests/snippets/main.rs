//! Code in other languages against the real interpreters: generated snippets run with stand-ins for the programs that act,
//! and what ran must be what the guard reports.
//!
//! `SNIPPETS=20000 cargo test --test snippets -- --nocapture` is the long run. `SNIPPETS_SEED` repeats a run, `SNIPPETS_LANGUAGES`
//! restricts it (`python,node`), and `SNIPPETS_REPORT` names a file for all failures.
#![cfg(test)]

mod generator;
mod judge;
mod real;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use generator::{Class, Generator};
use judge::{Failure, judge};
use real::Room;

/// The number of snippets of a normal run.
const USUAL: usize = 360;

/// What was counted.
#[derive(Default)]
struct Counts {
    acted: usize,
    constant: usize,
    within_budget: usize,
    reading: usize,
    idle: usize,
    failures: BTreeMap<Failure, Vec<String>>,
}

impl Counts {
    fn of(&self, failure: Failure) -> usize {
        self.failures.get(&failure).map_or(0, Vec::len)
    }

    fn summary(&self) -> String {
        let mut text = format!(
            "{} acted ({} constant, {} within the budget), {} only read, {} did nothing\n",
            self.acted, self.constant, self.within_budget, self.reading, self.idle
        );
        for failure in Failure::ALL {
            writeln!(text, "{:6} {}", self.of(failure), failure.text()).unwrap();
        }
        text
    }
}

#[test]
fn what_snippets_of_other_languages_run_is_reported() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("SNIPPETS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let count = number("SNIPPETS").map_or(USUAL, |count| usize::try_from(count).unwrap());
    let started = Instant::now();
    let mut generator = Generator::new(seed);
    println!("SNIPPETS_SEED={seed} SNIPPETS={count}: {}", generator.languages().join(", "));
    let snippets = Mutex::new((0..count).filter_map(|_| generator.next()).collect::<Vec<_>>());
    let counts = Mutex::new(Counts::default());
    let work = || {
        let room = Room::new();
        loop {
            let Some(snippet) = snippets.lock().unwrap().pop() else { break };
            let (ran, tiers) = room.run(&snippet);
            let judged = judge(&snippet, &ran, &tiers);
            let mut counts = counts.lock().unwrap();
            let is_constant = matches!(snippet.class, Class::Constant | Class::Stated);
            counts.acted += usize::from(!ran.is_empty());
            counts.constant += usize::from(!ran.is_empty() && is_constant);
            counts.within_budget += usize::from(judged.is_within_budget);
            counts.reading += usize::from(snippet.class == Class::Reading && ran.is_empty());
            counts.idle += usize::from(snippet.class != Class::Reading && ran.is_empty());
            for failure in judged.failures {
                let text = format!(
                    "[{} {}] {failure:?}\n{}\n    ran: {ran:?}\n    {}\n",
                    snippet.language, snippet.form, snippet.command, tiers.shown
                );
                counts.failures.entry(failure).or_default().push(text);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(2, usize::from).min(8);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let counts = counts.into_inner().unwrap();
    println!("{}in {:.1} s", counts.summary(), started.elapsed().as_secs_f64());
    let texts: String = counts.failures.values().flatten().map(|text| format!("{text}\n")).collect();
    if let Ok(path) = std::env::var("SNIPPETS_REPORT") {
        std::fs::write(path, &texts).unwrap();
    }
    let never: String = Failure::ALL
        .iter()
        .filter(|failure| failure.is_unsound())
        .filter_map(|failure| counts.failures.get(failure))
        .flatten()
        .take(20)
        .map(|text| format!("{text}\n"))
        .collect();
    assert!(never.is_empty(), "SNIPPETS_SEED={seed}\n{never}");
    // A small run may miss a limit by chance.
    let slack = if count < 2000 { 2 } else { 1 };
    let share = |failure: Failure, of: usize, most: usize| counts.of(failure) * 100 <= of * most * slack;
    assert!(share(Failure::NoAction, counts.constant, 5), "SNIPPETS_SEED={seed}\n{}", counts.summary());
    assert!(
        share(Failure::FalseDenial, counts.within_budget, 3),
        "SNIPPETS_SEED={seed}\n{}",
        counts.summary()
    );
    assert!(share(Failure::ReadDenied, counts.reading, 20), "SNIPPETS_SEED={seed}\n{}", counts.summary());
}
