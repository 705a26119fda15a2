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

use super::meter::BYTES_PER_TOKEN;
use crate::guard::failures;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use crate::machine::{installation, notify};
use opsctl_ledger::records::spend::ApiRequest;
use opsctl_ledger::{Ledger, LedgerError};
use opsctl_policy::budgets::spend::{
    Prices, Spent, Standing, next_allowed, notice, refusal, standings, unknown_price,
};
use opsctl_policy::model::records::event::NewEvent;
use opsctl_policy::model::records::notice::Notice;
use opsctl_policy::model::rights::policy::{OnFailure, Policy};
use opsctl_policy::model::rights::spend::{Tokens, Usage, Usd};

/// How long a policy is used before it is read again.
const POLICY: Duration = Duration::from_secs(10);

/// The most input of a request that is charged before its response, in tokens.
const MOST_TOKENS: u64 = 1_000_000;

/// The pause after the ledger could not be written.
const PAUSE: Duration = Duration::from_secs(5);

/// The maximum number of responses that are kept in memory while the ledger cannot be written.
const MOST_KEPT: usize = 10_000;

/// Whether a request is forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Allowed,
    /// A limit is reached; the message for the client.
    Refused(String),
    /// A limit is reached only with what requests under way are estimated to cost; the message for the client.
    Pending(String),
    /// The ledger cannot be read, and `policy.on_failure` is `closed`; the message for the client.
    Unavailable(String),
}

enum Order {
    Check {
        session: String,
        reply: oneshot::Sender<Verdict>,
    },
    Used {
        number: u64,
        session: String,
        model: String,
        usage: Usage,
        at: DateTime<Utc>,
    },
    /// What a request that was sent is estimated to cost, until its response states it.
    Sent {
        number: u64,
        session: String,
        model: Option<String>,
        usage: Usage,
        at: DateTime<Utc>,
    },
    /// It costs nothing.
    Cancelled(u64),
    Ended(u64),
    Flush(oneshot::Sender<()>),
}

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
        let mut warnings = Vec::new();
        let policy = installation::in_force(&environment, &mut warnings).installation.policy;
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

    /// Whether a request of this session is forwarded.
    pub async fn check(&self, session: &str) -> Verdict {
        let (reply, answer) = oneshot::channel();
        let gone = || Verdict::Unavailable("opsctl: the guard is shutting down; try again".to_owned());
        if self.orders.send(Order::Check { session: session.to_owned(), reply }).is_err() {
            return gone();
        }
        answer.await.unwrap_or_else(|_| gone())
    }

    /// The account of a request that is about to be sent.
    pub fn open(&self, session: String) -> Account {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Account { number, session, orders: self.orders.clone() }
    }

    /// Waits until everything so far is written, if the ledger takes it.
    pub async fn flush(&self) {
        let (reply, answer) = oneshot::channel();
        if self.orders.send(Order::Flush(reply)).is_ok() {
            let _ = answer.await;
        }
    }
}

impl Account {
    /// States what the request has used so far, which replaces what was stated before.
    pub fn used(&self, model: String, usage: Usage) {
        let Self { number, session, orders } = self;
        // An error means that the guard is shutting down.
        let _ = orders.send(Order::Used {
            number: *number,
            session: session.clone(),
            model,
            usage,
            at: Utc::now(),
        });
    }
}

impl Account {
    /// States that a request of this length has been sent: it is charged with an estimate.
    pub fn sent(&self, model: Option<&str>, bytes: u64) {
        let input = bytes.div_ceil(BYTES_PER_TOKEN).min(MOST_TOKENS);
        let usage =
            Usage { tokens: Tokens { input, ..Tokens::default() }, estimated: true, ..Usage::default() };
        let Self { number, session, orders } = self;
        let _ = orders.send(Order::Sent {
            number: *number,
            session: session.clone(),
            model: model.map(str::to_owned),
            usage,
            at: Utc::now(),
        });
    }

    /// States that the request costs nothing.
    pub fn cancel(&self) {
        let _ = self.orders.send(Order::Cancelled(self.number));
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Ended(self.number));
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
    const fn new(request: ApiRequest, basis: Basis) -> Self {
        let written = Usd(0);
        Self { request, id: None, written, is_written: false, is_ended: false, basis }
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
            let first = if self.has_unwritten() {
                match orders.recv_timeout(PAUSE) {
                    Ok(order) => Some(order),
                    Err(mpsc::RecvTimeoutError::Timeout) => None,
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match orders.recv() {
                    Ok(order) => Some(order),
                    Err(mpsc::RecvError) => break,
                }
            };
            // What has arrived meanwhile is written in one transaction.
            let mut next = first;
            while let Some(order) = next {
                match order {
                    Order::Used { number, session, model, usage, at } => {
                        self.note(number, session, model, usage, at);
                    }
                    Order::Sent { number, session, model, usage, at } => {
                        self.estimate(number, session, model, usage, at);
                    }
                    Order::Cancelled(number) => self.cancel(number),
                    Order::Ended(number) => self.end(number),
                    Order::Check { session, reply } => {
                        self.write();
                        let _ = reply.send(self.judge(&session));
                    }
                    Order::Flush(reply) => {
                        self.failed_at = None;
                        self.write();
                        let _ = reply.send(());
                    }
                }
                next = orders.try_recv().ok();
            }
            self.write();
        }
        self.failed_at = None;
        self.write();
    }

    fn has_unwritten(&self) -> bool {
        self.rows.values().any(|row| !row.is_written)
    }

    fn note(&mut self, number: u64, session: String, model: String, usage: Usage, at: DateTime<Utc>) {
        self.read_policy();
        let cost = self.prices.cost(&self.policy.spend.prices, &model, &usage);
        if !cost.is_known && !self.unknown.contains(&model) && self.unknown.len() < MOST_KEPT {
            self.unknown.push(model.clone());
        }
        let has_room = self.rows.len() < MOST_KEPT;
        match self.rows.get_mut(&number) {
            Some(row) => {
                row.request = ApiRequest { model, usage, cost: cost.usd, ..row.request.clone() };
                (row.is_written, row.basis) = (false, Basis::Response);
            }
            None if has_room => {
                let request = ApiRequest { at, session, model, usage, cost: cost.usd };
                self.rows.insert(number, Row::new(request, Basis::Response));
            }
            None => {}
        }
    }

    /// Charges a request whose response has not begun. A model without a price is reported when the response names it.
    fn estimate(
        &mut self,
        number: u64,
        session: String,
        model: Option<String>,
        usage: Usage,
        at: DateTime<Utc>,
    ) {
        self.read_policy();
        let model = model.unwrap_or_else(|| "unknown".to_owned());
        let cost = self.prices.cost(&self.policy.spend.prices, &model, &usage).usd;
        if self.rows.len() < MOST_KEPT && !self.rows.contains_key(&number) {
            self.rows
                .insert(number, Row::new(ApiRequest { at, session, model, usage, cost }, Basis::Estimate));
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
        let mut warnings = Vec::new();
        let policy = installation::in_force(&self.environment, &mut warnings).installation.policy;
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
    fn try_write(&mut self) -> Result<BTreeSet<String>, LedgerError> {
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
        let mut raised = Vec::new();
        for model in &self.unknown {
            let (event, notice) = unknown_price(model, now);
            let id = change.raise(None, &notice, notify::has_target(&self.environment), now)?;
            if id.is_some() {
                change.add_event(None, &event, now)?;
            }
            raised.extend(id);
        }
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
        for id in raised {
            notify::hand_over(&self.environment, id);
        }
        Ok(sessions)
    }

    /// What was spent, with what is not written.
    fn spent(&self, session: &str, now: DateTime<Utc>) -> Result<Spent, LedgerError> {
        let mut spent = match Ledger::open_existing(&self.environment.ledger)? {
            Some(ledger) => ledger.spent(session, now)?,
            None => Spent::default(),
        };
        for row in self.rows.values().filter(|row| !row.is_written) {
            let more = Usd(row.request.cost.0.saturating_sub(row.written.0));
            spent.day = spent.day.plus(more);
            if row.request.session == session {
                spent.session = spent.session.plus(more);
            }
        }
        Ok(spent)
    }

    /// What was spent without the estimates of requests under way.
    fn certain(&self, spent: Spent, session: &str) -> Spent {
        let mut certain = spent;
        for row in self.rows.values().filter(|row| row.basis == Basis::Estimate && !row.is_ended) {
            let cost = row.request.cost.0;
            certain.day = Usd(certain.day.0.saturating_sub(cost));
            if row.request.session == session {
                certain.session = Usd(certain.session.0.saturating_sub(cost));
            }
        }
        certain
    }

    const fn has_limits(&self) -> bool {
        self.policy.spend.day.is_some() || self.policy.spend.session.is_some()
    }

    fn judge(&mut self, session: &str) -> Verdict {
        self.read_policy();
        if !self.has_limits() {
            return Verdict::Allowed;
        }
        let now = Utc::now();
        let spent = match self.spent(session, now) {
            Ok(spent) => spent,
            Err(error) => {
                self.failed(Some(session), &error);
                return match self.policy.on_failure {
                    OnFailure::Open => Verdict::Allowed,
                    OnFailure::Closed => Verdict::Unavailable(format!(
                        "opsctl: the spending limit cannot be checked ({error}), and policy.on_failure is closed"
                    )),
                };
            }
        };
        let reached = |spent| standings(&self.policy.spend, spent).into_iter().find(Standing::is_reached);
        let Some(standing) = reached(self.certain(spent, session)) else {
            return match reached(spent) {
                None => Verdict::Allowed,
                Some(standing) => Verdict::Pending(format!(
                    "opsctl: requests under way may reach {}; retry when they have ended",
                    standing.key()
                )),
            };
        };
        self.report(session);
        let costs = Ledger::open_existing(&self.environment.ledger)
            .and_then(|ledger| ledger.map_or_else(|| Ok(vec![]), |ledger| ledger.costs_of_the_day(now)))
            .unwrap_or_default();
        Verdict::Refused(refusal(&standing, next_allowed(costs, standing.most)))
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
        let raise = || {
            let mut ledger = Ledger::open(&self.environment.ledger)?;
            let change = ledger.change()?;
            let mut raised = Vec::new();
            for (event, notice) in &news {
                let id = change.raise(named, notice, notify::has_target(&self.environment), now)?;
                if id.is_some() {
                    change.add_event(named, event, now)?;
                }
                raised.extend(id);
            }
            change.commit()?;
            Ok(raised)
        };
        match raise() {
            Ok(raised) => {
                for id in raised {
                    notify::hand_over(&self.environment, id);
                }
            }
            Err(error) => self.failed(named, &error),
        }
    }

    fn failed(&self, session: Option<&str>, error: &LedgerError) {
        let message = format!("The spending limit cannot be enforced: {error}");
        // What cannot be reported either is in the file of failures, or lost.
        let _ = failures::report(&self.environment, session, &message, None, Utc::now());
    }
}
