//! What sessions spend: one thread that reads and writes the ledger, in the order in which responses arrive.
//!
//! A response is recorded when it begins, and again as it grows and ends, so that a guard that is killed loses little. What the
//! ledger does not take is kept in memory, counts, and is written later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::oneshot;

use super::answer::Refusal;
use super::meter::{BYTES_PER_TOKEN, estimated};
use crate::guard::failures;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use crate::machine::{installation, notify};
use opsctl_ledger::records::spend::ApiRequest;
use opsctl_ledger::{Change, Ledger, LedgerError, Result};
use opsctl_policy::budgets::spend::{
    Prices, Spent, Standing, next_allowed, notice, refusal, standings, unknown_price,
};
use opsctl_policy::model::records::event::NewEvent;
use opsctl_policy::model::records::notice::Notice;
use opsctl_policy::model::rights::policy::{OnFailure, Policy};
use opsctl_policy::model::rights::spend::{Usage, Usd};

/// How long a policy is used before it is read again.
const POLICY: Duration = Duration::from_secs(10);

/// The most input of a request that is charged before its response, in tokens.
const MOST_TOKENS: u64 = 1_000_000;

/// The pause after the ledger could not be written.
const PAUSE: Duration = Duration::from_secs(5);

/// The maximum number of responses that are kept in memory while the ledger cannot be written.
const MOST_KEPT: usize = 10_000;

/// Work of the thread. Orders are carried out one after the other.
type Order = Box<dyn FnOnce(&mut Book) + Send>;

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct Accounts {
    orders: mpsc::Sender<Order>,
    numbers: Arc<AtomicU64>,
}

/// The response to one request.
#[derive(Debug)]
pub struct Account {
    number: u64,
    session: String,
    orders: mpsc::Sender<Order>,
}

impl Accounts {
    /// Starts the thread. It ends when all ways to it are gone.
    pub fn start(environment: Environment, prices: Prices) -> Result<Self, String> {
        let (policy, warnings) = policy_in_force(&environment);
        // The default policy has no limits.
        if let Some(warning) = warnings.iter().find(|warning| matches!(warning, Warning::Inventory(_))) {
            return Err(warning.to_string());
        }
        let (orders, received) = mpsc::channel();
        let mut book = Book {
            environment,
            prices,
            policy,
            policy_read: Instant::now(),
            rows: BTreeMap::new(),
            unknown: Vec::new(),
            failed_at: None,
        };
        thread::Builder::new()
            .name("spend".to_owned())
            .spawn(move || book.run(&received))
            .map_err(|e| e.to_string())?;
        Ok(Self { orders, numbers: Arc::default() })
    }

    /// Whether a request of this session is forwarded; otherwise why not, and the message for the client.
    pub async fn check(&self, session: &str) -> Result<(), (Refusal, String)> {
        let session = session.to_owned();
        let checked = self.ask(move |book| {
            book.write();
            book.judge(&session)
        });
        let ending = "opsctl: the guard is stopping; try again";
        checked.await.unwrap_or_else(|| Err((Refusal::Unreachable, ending.to_owned())))
    }

    /// The account of a request that is about to be sent.
    pub fn open(&self, session: String) -> Account {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Account { number, session, orders: self.orders.clone() }
    }

    /// Waits until everything so far is written, if the ledger takes it.
    pub async fn flush(&self) {
        self.ask(Book::flush).await;
    }

    /// Has the thread do something; `None` if it has ended.
    async fn ask<T: Send + 'static>(&self, order: impl FnOnce(&mut Book) -> T + Send + 'static) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let order = move |book: &mut Book| drop(reply.send(order(book)));
        self.orders.send(Box::new(order)).ok()?;
        answer.await.ok()
    }
}

impl Account {
    /// States what the request has used so far, which replaces what was stated before.
    pub fn used(&self, model: String, usage: Usage) {
        self.note(model, usage, Basis::Response);
    }

    /// States that a request of this length has been sent: it is charged with an estimate.
    pub fn sent(&self, model: Option<&str>, bytes: u64) {
        let input = bytes.div_ceil(BYTES_PER_TOKEN).min(MOST_TOKENS);
        self.note(model.unwrap_or("unknown").to_owned(), estimated(input, 0), Basis::Estimate);
    }

    /// States that the request costs nothing.
    pub fn cancel(&self) {
        self.order(Book::cancel);
    }

    fn note(&self, model: String, usage: Usage, basis: Basis) {
        let (at, session) = (Utc::now(), self.session.clone());
        let request = ApiRequest { at, session, model, usage, cost: Usd(0) };
        self.order(move |book, number| book.note(number, request, basis));
    }

    fn order(&self, order: impl FnOnce(&mut Book, u64) + Send + 'static) {
        let number = self.number;
        // An error means that the guard is shutting down.
        let _ = self.orders.send(Box::new(move |book| order(book, number)));
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.order(Book::end);
    }
}

/// A response that is under way, or that is not written.
struct Row {
    request: ApiRequest,
    /// Its row in the ledger.
    id: Option<i64>,
    /// The cost in the ledger.
    written: Usd,
    is_written: bool,
    is_ended: bool,
    basis: Basis,
}

/// What the cost of a request rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// The length of the request: the response has stated nothing yet.
    Estimate,
    /// The response.
    Response,
    /// It costs nothing, and is removed.
    Cancelled,
}

impl Row {
    /// Changes the sums of which it is part: that of the day, and that of its own session.
    fn change(&self, spent: &mut Spent, session: &str, change: impl Fn(u64) -> u64) {
        spent.day = Usd(change(spent.day.0));
        if self.request.session == session {
            spent.session = Usd(change(spent.session.0));
        }
    }
}

struct Book {
    environment: Environment,
    prices: Prices,
    policy: Policy,
    policy_read: Instant,
    rows: BTreeMap<u64, Row>,
    /// Models without a price, which are not reported yet.
    unknown: Vec<String>,
    failed_at: Option<Instant>,
}

impl Book {
    fn run(&mut self, orders: &mpsc::Receiver<Order>) {
        loop {
            let pause = if self.has_unwritten() { PAUSE } else { Duration::MAX };
            let first = orders.recv_timeout(pause);
            if first.as_ref().err() == Some(&mpsc::RecvTimeoutError::Disconnected) {
                break;
            }
            // What has arrived meanwhile is written in one transaction.
            for order in first.into_iter().chain(orders.try_iter()) {
                order(self);
            }
            self.write();
        }
        self.flush();
    }

    fn flush(&mut self) {
        self.failed_at = None;
        self.write();
    }

    fn has_unwritten(&self) -> bool {
        self.rows.values().any(|row| !row.is_written)
    }

    /// Charges a request: with an estimate if its response has not begun, else with what the response states.
    fn note(&mut self, number: u64, request: ApiRequest, basis: Basis) {
        self.read_policy();
        let cost = self.prices.cost(&self.policy.spend.prices, &request.model, &request.usage);
        let request = ApiRequest { cost: cost.usd, ..request };
        let is_response = basis == Basis::Response;
        // A model without a price is reported when the response names it.
        let is_unknown = is_response && !cost.is_known && !self.unknown.contains(&request.model);
        if is_unknown && self.unknown.len() < MOST_KEPT {
            self.unknown.push(request.model.clone());
        }
        let has_room = self.rows.len() < MOST_KEPT;
        match self.rows.get_mut(&number) {
            Some(row) if is_response => {
                row.request = ApiRequest { at: row.request.at, ..request };
                (row.is_written, row.basis) = (false, basis);
            }
            None if has_room => {
                let row =
                    Row { request, id: None, written: Usd(0), is_written: false, is_ended: false, basis };
                self.rows.insert(number, row);
            }
            _ => {}
        }
    }

    fn cancel(&mut self, number: u64) {
        match self.rows.get_mut(&number) {
            Some(row) if row.basis == Basis::Estimate && row.id.is_some() => {
                (row.is_written, row.basis, row.request.cost) = (false, Basis::Cancelled, Usd(0));
            }
            Some(row) if row.basis == Basis::Estimate => {
                self.rows.remove(&number);
            }
            _ => {}
        }
    }

    fn end(&mut self, number: u64) {
        if let Some(row) = self.rows.get_mut(&number) {
            row.is_ended = true;
            if row.is_written {
                self.rows.remove(&number);
            }
        }
    }

    /// Reads the policy again from time to time. One with mistakes does not replace it: it has no limits.
    fn read_policy(&mut self) {
        if self.policy_read.elapsed() < POLICY {
            return;
        }
        self.policy_read = Instant::now();
        let (policy, warnings) = policy_in_force(&self.environment);
        if warnings.is_empty() {
            self.policy = policy;
        }
    }

    /// Writes what is not written, and reports limits that are near or reached.
    fn write(&mut self) {
        let is_pause = self.failed_at.is_some_and(|at| at.elapsed() < PAUSE);
        if is_pause || !self.has_unwritten() {
            return;
        }
        match self.try_write() {
            Ok(sessions) => {
                self.failed_at = None;
                self.rows.retain(|_, row| !row.is_ended);
                for session in sessions {
                    self.report(&session);
                }
            }
            Err(error) => {
                self.failed_at = Some(Instant::now());
                self.failed(None, &error);
            }
        }
    }

    /// Writes what is not written. Returns the sessions that it belongs to.
    fn try_write(&mut self) -> Result<BTreeSet<String>> {
        let now = Utc::now();
        // A power cut may lose the last costs, a kill loses none.
        let mut ledger = Ledger::open(&self.environment.ledger)?.for_the_record();
        let change = ledger.change()?;
        let mut ids = Vec::new();
        for (number, row) in self.rows.iter().filter(|(_, row)| !row.is_written) {
            let id = match row.id {
                None => change.add_api_request(&row.request)?,
                Some(id) if row.basis == Basis::Cancelled => {
                    change.remove_api_request(id)?;
                    id
                }
                Some(id) => {
                    change.update_api_request(id, &row.request)?;
                    id
                }
            };
            ids.push((*number, id));
        }
        let news: Vec<_> = self.unknown.iter().map(|model| unknown_price(model, now)).collect();
        let raised = self.raise(&change, None, &news, now)?;
        change.commit()?;
        self.unknown.clear();
        let mut sessions = BTreeSet::new();
        for (number, id) in ids {
            if let Some(row) = self.rows.get_mut(&number) {
                (row.id, row.written, row.is_written) = (Some(id), row.request.cost, true);
                if row.basis == Basis::Response {
                    sessions.insert(row.request.session.clone());
                }
                if row.basis == Basis::Cancelled {
                    self.rows.remove(&number);
                }
            }
        }
        self.hand_over(raised);
        Ok(sessions)
    }

    /// Raises each notice with its event, unless operators were notified of it. Returns the notices to deliver.
    fn raise(
        &self,
        change: &Change<'_>,
        session: Option<&str>,
        news: &[(NewEvent, Notice)],
        now: DateTime<Utc>,
    ) -> Result<Vec<i64>> {
        let mut raised = Vec::new();
        for (event, notice) in news {
            let id = change.raise(session, notice, notify::has_target(&self.environment), now)?;
            if id.is_some() {
                change.add_event(session, event, now)?;
            }
            raised.extend(id);
        }
        Ok(raised)
    }

    fn hand_over(&self, raised: Vec<i64>) {
        for id in raised {
            notify::hand_over(&self.environment, id);
        }
    }

    /// What was spent, with what is not written.
    fn spent(&self, session: &str, now: DateTime<Utc>) -> Result<Spent> {
        let read = |ledger: &Ledger| ledger.spent(session, now);
        let mut spent = Ledger::read_at(&self.environment.ledger, read)?;
        for row in self.rows.values().filter(|row| !row.is_written) {
            let more = row.request.cost.0.saturating_sub(row.written.0);
            row.change(&mut spent, session, |sum| sum.saturating_add(more));
        }
        Ok(spent)
    }

    /// What was spent without the estimates of requests under way.
    fn certain(&self, mut spent: Spent, session: &str) -> Spent {
        for row in self.rows.values().filter(|row| row.basis == Basis::Estimate && !row.is_ended) {
            row.change(&mut spent, session, |sum| sum.saturating_sub(row.request.cost.0));
        }
        spent
    }

    const fn has_limits(&self) -> bool {
        self.policy.spend.day.is_some() || self.policy.spend.session.is_some()
    }

    fn judge(&mut self, session: &str) -> Result<(), (Refusal, String)> {
        self.read_policy();
        if !self.has_limits() {
            return Ok(());
        }
        let now = Utc::now();
        let spent = match self.spent(session, now) {
            Ok(spent) => spent,
            Err(error) => {
                self.failed(Some(session), &error);
                return match self.policy.on_failure {
                    OnFailure::Open => Ok(()),
                    OnFailure::Closed => Err((
                        Refusal::Unreachable,
                        format!(
                            "opsctl: the spending limit cannot be checked ({error}), and policy.on_failure is closed"
                        ),
                    )),
                };
            }
        };
        let reached = |spent| standings(&self.policy.spend, spent).into_iter().find(Standing::is_reached);
        let Some(standing) = reached(self.certain(spent, session)) else {
            return match reached(spent) {
                None => Ok(()),
                Some(standing) => Err((
                    Refusal::Busy,
                    format!(
                        "opsctl: requests under way may reach {}; retry when they have ended",
                        standing.key()
                    ),
                )),
            };
        };
        self.report(session);
        let costs = Ledger::read_at(&self.environment.ledger, |ledger| ledger.costs_of_the_day(now));
        let costs = costs.unwrap_or_default();
        Err((Refusal::Spent, refusal(&standing, next_allowed(costs, standing.most))))
    }

    /// Records and notifies operators of limits that are near or reached, once each.
    fn report(&self, session: &str) {
        if !self.has_limits() {
            return;
        }
        let now = Utc::now();
        let Ok(spent) = self.spent(session, now) else { return };
        let spent = self.certain(spent, session);
        let named = Some(session).filter(|session| !session.is_empty());
        let news: Vec<(NewEvent, Notice)> = standings(&self.policy.spend, spent)
            .iter()
            .filter(|standing| standing.is_near())
            .map(|standing| notice(standing, named, now))
            .collect();
        if news.is_empty() {
            return;
        }
        match Ledger::write(&self.environment.ledger, |change| self.raise(change, named, &news, now)) {
            Ok(raised) => self.hand_over(raised),
            Err(error) => self.failed(named, &error),
        }
    }

    fn failed(&self, session: Option<&str>, error: &LedgerError) {
        let message = format!("The spending limit cannot be enforced: {error}");
        // What cannot be reported either is in the file of failures, or lost.
        let _ = failures::report(&self.environment, session, &message, None, Utc::now());
    }
}

/// The policy in force, and what is wrong with its source.
fn policy_in_force(environment: &Environment) -> (Policy, Vec<Warning>) {
    let mut warnings = Vec::new();
    (installation::in_force(environment, &mut warnings).installation.policy, warnings)
}
