//! The smallest program that still fails.

use crate::program::{Sort, Tree};
use crate::world::Input;

/// How many smaller programs are tried.
const MOST_TRIES: usize = 600;

/// Removes and replaces parts of a program while it still fails.
pub fn smallest(program: Tree, mut fails: impl FnMut(&Tree) -> bool) -> Tree {
    let mut best = program;
    let mut tries = 0;
    loop {
        let length = best.text().len();
        let mut candidates: Vec<(usize, Tree)> = Vec::new();
        let all = best.all();
        for (place, tree) in all.iter().enumerate() {
            let mut other = |with: Option<&Tree>| {
                let candidate = best.with(place, with);
                candidates.push((candidate.text().len(), candidate));
            };
            if tree.sort == Sort::Statement {
                other(None);
                other(Some(&Tree::statement(":")));
            }
            if tree.sort == Sort::Word {
                other(Some(&Tree::word("x")));
                other(Some(&Tree::word("web")));
            }
            let fits = |inner: &&&Tree| match tree.sort {
                Sort::Word => inner.sort == Sort::Word,
                Sort::Statement => inner.sort != Sort::Word,
                Sort::List(_) => matches!(inner.sort, Sort::List(_)),
            };
            for inner in tree.all().iter().skip(1).filter(fits) {
                other(Some(inner));
            }
            if tree.sort == Sort::List(true) {
                other(Some(&Tree { sort: Sort::List(false), parts: tree.parts.clone() }));
            }
        }
        candidates.retain(|(size, _)| *size < length);
        candidates.sort_by_key(|(size, _)| *size);
        let smaller = candidates.into_iter().map(|(_, candidate)| candidate).find(|candidate| {
            tries += 1;
            tries <= MOST_TRIES && fails(candidate)
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// The smallest input with which it still fails.
pub fn smallest_input(input: Input, mut fails: impl FnMut(&Input) -> bool) -> Input {
    let mut best = input;
    let mut tried = 0;
    loop {
        let mut candidates = Vec::new();
        for index in 0..best.args.len() {
            let mut smaller = best.clone();
            smaller.args.remove(index);
            candidates.push(smaller);
        }
        for index in 0..best.env.len() {
            let mut smaller = best.clone();
            smaller.env.remove(index);
            candidates.push(smaller);
        }
        candidates.push(Input { files: vec![], ..best.clone() });
        candidates.push(Input { listed: String::new(), ..best.clone() });
        candidates.push(Input { probes: [0; 4], ..best.clone() });
        let size = |input: &Input| {
            let probes = input.probes.iter().filter(|exit| **exit > 0).count();
            input.args.len() + input.env.len() + input.files.len() + input.listed.len() + probes
        };
        candidates.retain(|candidate| size(candidate) < size(&best));
        let smaller = candidates.into_iter().find(|candidate| {
            tried += 1;
            tried < 60 && fails(candidate)
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}
