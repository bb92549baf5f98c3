//! Commands of a client: each is refused, answered, sent on, or carried out by the gate.
//!
//! Commands keep their order as far as they need nothing from Chromium first. Only those that do are carried out beside the
//! others, because they must not keep the client from sending more.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use browser_shell_core::gate::{ClientMessage, Handling, Level, Rule, classify, is_act, is_paste};

use crate::gate::act_permission::Awaiting;
use crate::gate::client::checks::{auto_attach, cookies, drag, flag, history_step, navigation, picture};
use crate::gate::client::connection::{ClientConnection, Forwarded};
use crate::gate::client::outcome::{Failure, Outcome};
use crate::gate::client::state::ClientTab;
use crate::gate::json::text;
use crate::gate::page::Page;
use crate::gate::scope::ClientScope;

/// Command of the client that is not sent on as it is.
struct Request {
    id: u64,
    session: Option<String>,
    level: Level,
    /// Tab of the session.
    page: Option<Arc<Page>>,
    rule: &'static Rule,
    params: Value,
}

/// Next step of a command.
enum Step {
    /// The client gets an answer.
    Answer(Outcome),
    /// Chromium gets the command with these parameters.
    Forward(String),
    /// The gate needs something from Chromium first.
    Wait,
}

impl ClientConnection {
    /// Takes a message of the client, or keeps it until it may be taken.
    pub(super) async fn receive(&self, text: &str) {
        match self.awaited(text) {
            Some(awaiting) => self.keep(text.to_owned(), awaiting).await,
            None => self.take(text).await,
        }
    }

    /// Returns what a message waits for, if it is about an act that is not allowed yet.
    fn awaited(&self, text: &str) -> Option<Awaiting> {
        let named = self.session.upgrade()?.awaited(text);
        named.or_else(|| Awaiting::after_look(self.state().looked.as_ref()?, text))
    }

    /// Takes a message when it is allowed, and answers it with an error if it never is.
    async fn keep(&self, text: String, awaiting: Awaiting) {
        let permit = self.tasks.clone().acquire_owned().await;
        let (Some(client), Ok(permit)) = (self.me.upgrade(), permit) else { return };
        tokio::spawn(async move {
            let is_allowed = tokio::select! {
                is_allowed = awaiting.is_allowed() => is_allowed,
                () = client.stop.cancelled() => return,
            };
            if is_allowed {
                if let Some(act) = awaiting.look() {
                    client.state().looked = Some(act.clone());
                }
                client.take(&text).await;
            } else if let Ok(message) = ClientMessage::parse(&text) {
                let error = Failure::refused("the act was canceled");
                client.push_answer(message.id, message.session_id.as_deref(), Err(error));
            }
            drop(permit);
        });
    }

    async fn take(&self, text: &str) {
        let message = match ClientMessage::parse(text) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a client of the control gate sent no message of the protocol");
                let error = Failure::not_a_message(error.to_string());
                return self.push(json!({ "error": error.to_json() }).to_string());
            }
        };
        let Some(gate) = self.session.upgrade() else { return self.stop.cancel() };
        let (id, session) = (message.id, message.session_id.as_deref());
        let (level, page) = match session {
            None => (Level::Root, None),
            Some(session) => {
                let owned = self.state().sessions.get(session).cloned();
                let Some(owned) = owned else {
                    return self.push_answer(id, Some(session), Err(Failure::no_session()));
                };
                (owned.level, Some(owned.page))
            }
        };
        let Some(rule) = classify(gate.kind(), level, &message.method) else {
            gate.count_refusal(level, &message.method);
            let error = Failure::refused(format!("`{}` is not allowed here by the control gate", message.method));
            return self.push_answer(id, session, Err(error));
        };
        let is_usable = page.as_ref().is_none_or(|page| page.is_usable());
        if !is_usable && !matches!(rule.handling, Handling::AnswerEmpty | Handling::Detach) {
            let has_crashed = page.is_some_and(|page| page.has_crashed());
            let reason = if has_crashed { "the tab has crashed" } else { "the tab shows a page of the browser itself" };
            let error = Failure::refused(reason);
            return self.push_answer(id, session, Err(error));
        }
        if let Some(page) = page.as_ref().filter(|_| is_act(&message.method) && !gate.ignores_acts()) {
            self.state().active = ClientTab::Page(page.clone());
            gate.take_use(page);
        }
        let params = message.params.map(RawValue::get);
        if rule.handling == Handling::Forward {
            return self.forward(Forwarded { id, session, rule, params, opens_stream: false }).await;
        }
        let Ok(params) = serde_json::from_str(params.unwrap_or("{}")) else {
            return self.push_answer(id, session, Err(Failure::refused("the parameters cannot be read")));
        };
        let request = Request { id, session: session.map(str::to_owned), level, page, rule, params };
        match self.next_step(&request, &*gate) {
            Step::Answer(outcome) => self.push_answer(id, session, outcome),
            Step::Forward(params) => self.forward_request(&request, &params).await,
            Step::Wait => {
                let permit = self.tasks.clone().acquire_owned().await;
                let (Some(client), Ok(permit)) = (self.me.upgrade(), permit) else { return };
                tokio::spawn(async move {
                    client.carry_out(request, &*gate).await;
                    drop(permit);
                });
            }
        }
    }

    async fn forward_request(&self, request: &Request, params: &str) {
        let opens_stream = request.rule.handling == Handling::OpenStream;
        let (id, session, rule) = (request.id, request.session.as_deref(), request.rule);
        self.forward(Forwarded { id, session, rule, params: Some(params), opens_stream }).await;
    }

    /// Returns the next step of a command. Nothing here needs Chromium.
    fn next_step(&self, request: &Request, gate: &dyn ClientScope) -> Step {
        let params = &request.params;
        let checked = match request.rule.handling {
            Handling::AnswerEmpty => return Step::Answer(Ok(json!({}))),
            Handling::Discover => {
                self.discover(params, gate);
                return Step::Answer(Ok(json!({})));
            }
            Handling::TargetInfo => return Step::Answer(self.target_info(params, gate)),
            Handling::Targets => {
                let infos: Vec<_> = gate.pages(&self.hub).iter().map(|page| page.to_target_info()).collect();
                return Step::Answer(Ok(json!({ "targetInfos": infos })));
            }
            Handling::AutoAttach if request.level == Level::Root => {
                let is_on = flag(params, "autoAttach");
                let was_on = std::mem::replace(&mut self.state().attaches, is_on);
                return if is_on && !was_on { Step::Wait } else { Step::Answer(Ok(json!({}))) };
            }
            Handling::AutoAttach => Ok(auto_attach(params)),
            Handling::Navigate => navigation(params),
            Handling::Cookies => {
                let context = gate.context_id(&self.hub);
                cookies(request.level, request.rule.method, params, gate, context)
            }
            Handling::Drag => drag(params),
            Handling::Picture => Ok(picture(params)),
            Handling::Input if is_paste(params) => return Step::Wait,
            Handling::OpenStream | Handling::Forward | Handling::Input => Ok(params.to_string()),
            Handling::UseStream => self.use_stream(request.rule.method, params),
            Handling::Version => {
                return self.hub.known_version().map_or(Step::Wait, |version| Step::Answer(Ok(version)));
            }
            Handling::Attach
            | Handling::Detach
            | Handling::Close
            | Handling::Create
            | Handling::Activate
            | Handling::History => return Step::Wait,
        };
        match checked {
            Ok(params) => Step::Forward(params),
            Err(failure) => Step::Answer(Err(failure)),
        }
    }

    /// Carries out a command that needs something from Chromium.
    async fn carry_out(&self, request: Request, gate: &dyn ClientScope) {
        let params = &request.params;
        let outcome = match request.rule.handling {
            Handling::Version => self.hub.version().await.map_err(Into::into),
            Handling::AutoAttach => self.attach_to_all(gate).await,
            Handling::Attach => match self.own_page(params, gate) {
                Ok(page) => self.attach(&page).await,
                Err(failure) => Err(failure),
            },
            Handling::Detach => self.detach(request.session.as_deref(), params).await,
            Handling::Close => self.close(params, gate).await,
            Handling::Create => self.create(params, gate).await,
            Handling::Activate => match self.own_page(params, gate) {
                Ok(page) => {
                    let target = json!({ "targetId": page.target });
                    self.hub.root("Target.activateTarget", &target).await.map_err(Into::into)
                }
                Err(failure) => Err(failure),
            },
            Handling::Input => match gate.prepare_paste(&self.hub).await {
                Ok(()) => return self.forward_request(&request, &params.to_string()).await,
                Err(error) => Err(Failure::refused(error.to_string())),
            },
            Handling::History => match self.history(&request).await {
                Ok(params) => return self.forward_request(&request, &params).await,
                Err(failure) => Err(failure),
            },
            other => Err(Failure::refused(format!("`{}` has no treatment `{other:?}`", request.rule.method))),
        };
        self.push_answer(request.id, request.session.as_deref(), outcome);
    }

    /// Returns the parameters of a command about a handle, if the handle belongs to the client.
    fn use_stream(&self, method: &str, params: &Value) -> Result<String, Failure> {
        let handle = text(params, "handle").unwrap_or_default();
        let is_own = {
            let streams = &mut self.state().streams;
            if method == "IO.close" { streams.remove(&handle) } else { streams.contains(&handle) }
        };
        if is_own { Ok(params.to_string()) } else { Err(Failure::refused("the handle is not one of this client")) }
    }

    /// Returns the parameters of a step in the history, if its entry may be opened.
    async fn history(&self, request: &Request) -> Result<String, Failure> {
        let entry = request.params.get("entryId").and_then(Value::as_i64);
        let (Some(entry), Some(page)) = (entry, &request.page) else {
            return Err(Failure::refused("no entry is named"));
        };
        let history = self.hub.connection.command(Some(&page.session), "Page.getNavigationHistory", &json!({})).await?;
        history_step(entry, &history)
    }
}
