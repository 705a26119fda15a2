//! Questions of the broker to the admission of gates, for one caller.

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::gates::admission::{Admission, Ticket, admit};
use crate::gates::approved::States;
use crate::gates::peer;
use crate::gates::remote::input;
use crate::guard::process::socket::veil::Veil;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::link::message::SessionFacts;
use crate::machine::request::Request;
use opsctl_inventory::Installation;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::gate::Gate;
use opsctl_redact::{CallerSecrets, Redactor};

/// Judges on behalf of a caller.
#[derive(Debug)]
pub struct Judge<'a> {
    /// The session of the caller, as it states it.
    pub facts: SessionFacts,
    /// The user of the caller.
    pub uid: u32,
    /// The settings of the guard.
    pub own: &'a Environment,
    /// The turns of work on the ledger.
    pub turns: &'a Semaphore,
}

impl Judge<'_> {
    /// Whether a command passes. The error is its reason, without secrets.
    pub async fn admit(&self, command: String, states: States) -> Result<Ticket, String> {
        let admitted = self.ask(move |request| match admit(Gate::Ssh, (&command, states), request) {
            Admission::Passes(ticket) => Ok(ticket),
            Admission::Refused(reason) => Err(opsctl_redact::text(&reason).into_owned()),
        });
        let veil = Veil::new(self.own, &self.facts);
        let admitted = admitted
            .await
            .unwrap_or_else(|| Err("a defect of opsctl stopped the check; please report it".to_owned()));
        let secrets = self.secrets();
        admitted.map_err(|reason| veil.text(&secrets.text(&reason)))
    }

    /// Records how a command has ended.
    pub async fn settle(&self, ticket: Ticket, code: u8) {
        let result = match code {
            0 => ToolResult::Succeeded,
            code => ToolResult::Failed(format!("exit code {code}")),
        };
        self.ask(move |request| ticket.settle(&result, request)).await;
    }

    /// Whether what a command on a host does depends on its input.
    pub async fn depends(&self, host: &str, text: &str) -> bool {
        let (host, text) = (host.to_owned(), text.to_owned());
        self.ask(move |request| input::depends(Some(&host), &text, request)).await.unwrap_or(true)
    }

    /// The policy and the inventory in force.
    pub async fn installation(&self) -> Installation {
        let own = self.own.clone();
        let read = spawn_blocking(move || installation::in_force(&own, &mut vec![]).installation);
        read.await.unwrap_or_default()
    }

    /// The secrets of the caller.
    pub fn secrets(&self) -> Redactor {
        Redactor::of_values(self.facts.secrets.clone())
    }

    /// Answers a question with the request of the caller, on a thread for blocking work; `None` if that panics.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Request) -> T + Send + 'static,
    ) -> Option<T> {
        let (facts, uid, own) = (self.facts.clone(), self.uid, self.own.clone());
        let secrets = Redactor::of_forms(self.facts.secrets.clone());
        let _turn = self.turns.acquire().await.ok()?;
        let asked = spawn_blocking(move || {
            let _secrets = CallerSecrets::of(secrets);
            question(&peer::request(facts, uid, &own))
        });
        asked.await.ok()
    }
}
