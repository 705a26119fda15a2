//! Ways through a part of a script, of which bash takes one. What follows begins with the join of their states.

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast;

use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::leaving::Leaving;
use crate::shell::script::{Construct, NOT_TAKEN};
use crate::shell::state::Shell;

/// What the ways through a part have left behind.
#[derive(Default)]
pub(crate) struct Ways {
    /// What those that go on have printed, and those that leave the part.
    printed: Vec<String>,
    left: Vec<String>,
    /// The join of the states of those that go on.
    state: Option<Shell>,
    /// The flow of those that leave: that which ends the least.
    flow: Option<Flow>,
    files: Vec<Rc<BTreeMap<String, String>>>,
}

impl Ways {
    /// Follows one way from a state on.
    pub fn run(
        &mut self,
        evaluator: &mut Evaluator,
        mut state: Shell,
        way: impl FnOnce(&mut Evaluator, &mut Shell) -> Ran,
    ) {
        let before = Rc::clone(&evaluator.files);
        let ran = way(evaluator, &mut state);
        self.add(evaluator, state, ran);
        evaluator.files = before;
    }

    /// Adds a way that ends with this state.
    pub fn add(&mut self, evaluator: &mut Evaluator, state: Shell, (text, flow): Ran) {
        self.files.push(Rc::clone(&evaluator.files));
        if flow == Flow::On {
            self.printed.push(text);
            evaluator.join_into(&mut self.state, state);
        } else {
            self.left.push(text);
            self.flow = Some(self.flow.map_or(flow, |least| least.min(flow)));
        }
    }

    /// Continues with the join of the ways in `shell`.
    pub fn end(self, evaluator: &mut Evaluator, shell: &mut Shell) -> Ran {
        let mut files = self.files.into_iter();
        evaluator.files = files.next().unwrap_or_default();
        files.for_each(|files| evaluator.join_files(&files));
        match self.state {
            Some(state) => {
                *shell = state;
                if !self.left.is_empty() {
                    evaluator.left_early.extend(self.left);
                }
                (evaluator.one_of(self.printed, "…"), Flow::On)
            }
            None => (evaluator.one_of(self.left, "…"), self.flow.unwrap_or(Flow::On)),
        }
    }
}

impl Evaluator {
    /// Runs a part in a process of its own: it leaves no function and no loop around it.
    pub fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let outer = (std::mem::take(&mut self.leaving), std::mem::take(&mut self.trapped));
        let result = run(self);
        (self.leaving, self.trapped) = outer;
        result
    }

    /// Reads a part that does not run, as what was read before it says. Only its actions do not count: where the reader takes
    /// bash for another shell than it is, all rules hold for the part, too.
    pub fn not_taken(&mut self, shell: &Shell, run: impl FnOnce(&mut Self, &mut Shell)) {
        if self.is_idle || self.exhausted() {
            return;
        }
        let (files, status) = (Rc::clone(&self.files), self.status);
        let (waiting, recursed) = (self.sinks.len(), self.recursed);
        self.is_idle = true;
        let mut inner = shell.forked();
        self.apart(|this| {
            this.inside(Construct::Branch(NOT_TAKEN), |this| run(this, &mut inner));
        });
        self.is_idle = false;
        self.sinks.truncate(waiting);
        (self.files, self.status, self.recursed) = (files, status, recursed);
    }

    /// Runs a part that `return` ends, and joins the states with which it does.
    pub fn until_return(&mut self, shell: &mut Shell, run: impl FnOnce(&mut Self, &mut Shell) -> Ran) -> Ran {
        let loops = std::mem::take(&mut self.leaving.loops);
        self.leaving.returns.push(None);
        let (printed, flow) = run(self, shell);
        let returned = self.leaving.returns.pop().flatten();
        self.leaving.loops = loops;
        match returned {
            None if flow == Flow::Return => (printed, Flow::On),
            None => (printed, flow),
            Some(state) => {
                if flow == Flow::On {
                    self.join(shell, &state);
                } else {
                    *shell = state;
                }
                (printed, Flow::On)
            }
        }
    }

    /// Notes the state with which `return`, `break` or `continue` leaves a part. `levels` is the number of loops, `None` if it
    /// is unknown.
    pub fn leave(&mut self, shell: &Shell, flow: Flow, levels: Option<usize>) {
        let Leaving { mut returns, mut loops, lines } = std::mem::take(&mut self.leaving);
        match flow {
            Flow::Return => {
                if let Some(returned) = returns.last_mut() {
                    self.join_into(returned, shell.clone());
                }
            }
            Flow::Break | Flow::Continue => {
                let outermost = levels.map_or(0, |levels| loops.len().saturating_sub(levels));
                for (index, round) in loops.iter_mut().enumerate().skip(outermost) {
                    let ends = flow == Flow::Break || levels.is_none() || index > outermost;
                    if ends {
                        self.join_into(&mut round.breaks, shell.clone());
                    }
                    if flow == Flow::Continue {
                        self.join_into(&mut round.continues, shell.clone());
                    }
                }
            }
            Flow::On | Flow::Exit => {}
        }
        self.leaving = Leaving { returns, loops, lines };
    }

    /// Notes the state in which an expansion may fail. The rest of the line is skipped then, with the functions and loops in it.
    pub fn may_fail(&mut self, shell: &Shell) {
        if let Some(mut failed) = self.leaving.lines.pop() {
            self.join_into(&mut failed, shell.clone());
            self.leaving.lines.push(failed);
        }
    }

    /// Runs a line, after which the script goes on also where an expansion in it fails.
    pub fn line(&mut self, shell: &mut Shell, line: &ast::CompoundList) -> Ran {
        self.leaving.lines.push(None);
        let in_loop = shell.in_loop;
        let (printed, flow) = self.list(shell, line);
        let Some(mut failed) = self.leaving.lines.pop().flatten() else { return (printed, flow) };
        failed.in_loop = in_loop;
        self.status = None;
        if flow == Flow::On {
            self.join(shell, &failed);
        } else {
            self.left_early.push(printed.clone());
            *shell = failed;
        }
        (printed, Flow::On)
    }

    /// The texts that a text may be.
    fn texts_in(&self, text: &str) -> Vec<String> {
        let candidates = self.unknowns.only_mark(text).map(|unknown| unknown.candidates.clone());
        candidates.filter(|candidates| !candidates.is_empty()).unwrap_or_else(|| vec![text.to_owned()])
    }

    /// Joins the files that a round of a loop has written into those before it; those that changed before are unknown. Returns
    /// whether any changed.
    pub fn join_round_files(&mut self, before: &Rc<BTreeMap<String, String>>, is_first: bool) -> bool {
        let after = std::mem::replace(&mut self.files, Rc::clone(before));
        self.join_files(&after);
        if Rc::ptr_eq(&self.files, before) {
            return false;
        }
        let changed = |(path, text): &(&String, &String)| before.get(*path) != Some(*text);
        let changed: Vec<String> = self.files.iter().filter(changed).map(|(path, _)| path.clone()).collect();
        for path in changed.iter().filter(|_| !is_first) {
            let text = self.unknowns.many(format!("$(< {path})"));
            Rc::make_mut(&mut self.files).insert(path.clone(), text);
        }
        changed.iter().any(|path| self.files.get(path) != before.get(path))
    }

    /// Joins the files that another way has written into those of this one.
    pub fn join_files(&mut self, other: &Rc<BTreeMap<String, String>>) {
        if Rc::ptr_eq(&self.files, other) {
            return;
        }
        for (path, theirs) in other.iter() {
            let joined = match self.files.get(path) {
                Some(ours) if ours == theirs => continue,
                Some(ours) => {
                    let mut texts = self.texts_in(ours);
                    let more = self.texts_in(theirs);
                    if more.iter().all(|text| texts.contains(text)) {
                        continue;
                    }
                    texts.extend(more);
                    self.one_of(texts, "…")
                }
                None => theirs.clone(),
            };
            Rc::make_mut(&mut self.files).insert(path.clone(), joined);
        }
    }
}
