//! Commands of a client: each is refused, answered, sent on, perhaps after a check of its parameters, or carried out by the gate.
//!
//! Commands keep their order as far as they need nothing from Chromium first. Only those that do are carried out beside the
//! others, because they must not keep the client from sending more.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::client::connection::{ClientConnection, Failure, Forwarded, MethodResult};
use browser_shell_browser::gate::page::Page;
use browser_shell_browser::gate::scope::{ClientScope, Denied, SessionContext};
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::page::{GetNavigationHistory, NavigationHistory};
use browser_shell_cdp::protocol::target::ActivateTarget;
use browser_shell_core::gate::{
    AutoAttach, ClientMessage, DocumentUrl, DragEvent, Handling, HistoryEntryParams, KeyEvent, Level, MethodRule,
    MouseEvent, Navigation, PictureParams, StreamUse, TextInput, classify, classify_url, is_act, is_setup, read_params,
    write_params,
};

/// Command of the client that is not sent on as it is.
struct ClientRequest {
    id: u64,
    session: Option<DebugSessionId>,
    level: Level,
    /// Tab of the session.
    page: Option<Arc<Page>>,
    rule: &'static MethodRule,
    /// Text of the parameters.
    params: String,
}

impl ClientRequest {
    /// Reads the parameters.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        read_params(&self.params).map_err(|error| Failure::refused(format!("the parameters cannot be read: {error}")))
    }

    /// Reads the parameters and writes them anew.
    fn rewrite<T: DeserializeOwned + Serialize>(&self) -> Result<String, Failure> {
        Ok(write_params(&self.read::<T>()?))
    }
}

/// Next step of a command.
enum Step {
    /// The client gets an answer.
    Answer(MethodResult),
    /// Chromium gets the command with these parameters.
    Forward(String),
    /// Chromium gets the command with these parameters after the clipboard holds nothing of another session.
    Paste(String),
    /// The gate needs something from Chromium first.
    Wait,
}

impl ClientConnection {
    /// Takes a message of the client.
    pub(super) async fn receive(&self, text: &str) {
        let message = match ClientMessage::parse(text) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a client of the control gate sent no message of the protocol");
                let error = Failure::not_a_message(error.to_string());
                return self.push(json!({ "error": error.to_json() }).to_string());
            }
        };
        let Some(gate) = self.session.upgrade() else { return self.stop.cancel() };
        let (id, session) = (message.id, message.session_id.as_deref().map(DebugSessionId::from));
        let session = session.as_ref();
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
        if !gate.runs_call() && !is_setup(&message.method, message.params.map(RawValue::get)) {
            gate.count_refusal(level, Denied::BetweenCalls(&message.method));
            return self.push_answer(id, session, Err(Failure::refused("no call of the session runs")));
        }
        let Some(rule) = classify(self.kind, level, &message.method) else {
            gate.count_refusal(level, Denied::Method(&message.method));
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
            gate.take_use(page);
        }
        let params = message.params.map(RawValue::get);
        if rule.handling == Handling::Forward {
            return self.forward(Forwarded { id, session, rule, params, opens_stream: false }).await;
        }
        let params = params.unwrap_or("{}").to_owned();
        let request = ClientRequest { id, session: session.cloned(), level, page, rule, params };
        let step = self.next_step(&request, &*gate).unwrap_or_else(|failure| Step::Answer(Err(failure)));
        let request = match step {
            Step::Answer(outcome) => return self.push_answer(id, session, outcome),
            Step::Forward(params) => return self.forward_request(&request, &params).await,
            Step::Paste(params) => ClientRequest { params, ..request },
            Step::Wait => request,
        };
        let permit = self.tasks.clone().acquire_owned().await;
        let (Some(client), Ok(permit)) = (self.me.upgrade(), permit) else { return };
        tokio::spawn(async move {
            let (id, session) = (request.id, request.session.clone());
            if let Err(failure) = client.carry_out(request, &*gate).await {
                client.push_answer(id, session.as_ref(), Err(failure));
            }
            drop(permit);
        });
    }

    async fn forward_request(&self, request: &ClientRequest, params: &str) {
        let opens_stream = request.rule.handling == Handling::OpenStream;
        let (id, session, rule) = (request.id, request.session.as_ref(), request.rule);
        self.forward(Forwarded { id, session, rule, params: Some(params), opens_stream }).await;
    }

    /// Returns the next step of a command. Nothing here needs Chromium.
    fn next_step(&self, request: &ClientRequest, gate: &dyn ClientScope) -> Result<Step, Failure> {
        let params = match request.rule.handling {
            Handling::AnswerEmpty => return Ok(Step::Answer(Ok(json!({})))),
            Handling::Discover => {
                self.discover(&request.read()?, gate);
                return Ok(Step::Answer(Ok(json!({}))));
            }
            Handling::TargetInfo => return Ok(Step::Answer(self.target_info(&request.read()?, gate))),
            Handling::Targets => {
                let infos: Vec<_> = gate.pages(&self.browser).iter().map(|page| page.to_target_info()).collect();
                return Ok(Step::Answer(Ok(json!({ "targetInfos": infos }))));
            }
            Handling::AutoAttach if request.level == Level::Root => {
                let is_on = request.read::<AutoAttach>()?.auto_attach;
                let was_on = std::mem::replace(&mut self.state().attaches, is_on);
                return Ok(if is_on && !was_on { Step::Wait } else { Step::Answer(Ok(json!({}))) });
            }
            Handling::AutoAttach => auto_attach(&request.read()?),
            Handling::Navigate => navigation(&request.read()?)?,
            Handling::Cookies => {
                let context = gate.context_id(&self.browser);
                cookies(request.level, request.rule.method, request.read()?, gate, context)?
            }
            Handling::Drag => drag(&request.read()?)?,
            Handling::Picture => write_params(&request.read::<PictureParams>()?.compressed_fast()),
            Handling::Key => {
                let event: KeyEvent = request.read()?;
                let params = write_params(&event);
                return Ok(if event.is_paste() { Step::Paste(params) } else { Step::Forward(params) });
            }
            Handling::Mouse => {
                let event: MouseEvent = request.read()?;
                if event.has_middle_button() {
                    return Err(Failure::refused("the middle button pastes what another session may have selected"));
                }
                write_params(&event)
            }
            Handling::Text => request.rewrite::<TextInput>()?,
            Handling::OpenStream | Handling::Forward => request.rewrite::<Value>()?,
            Handling::UseStream => self.use_stream(request.rule.method, &request.read()?)?,
            Handling::Version => {
                return Ok(self.browser.known_version().map_or(Step::Wait, |version| Step::Answer(Ok(json!(version)))));
            }
            Handling::Attach
            | Handling::Detach
            | Handling::Close
            | Handling::Create
            | Handling::Activate
            | Handling::History => return Ok(Step::Wait),
        };
        Ok(Step::Forward(params))
    }

    /// Carries out a command that needs something from Chromium.
    async fn carry_out(&self, request: ClientRequest, gate: &dyn ClientScope) -> Result<(), Failure> {
        let result = match request.rule.handling {
            Handling::Version => json!(self.browser.version().await?),
            Handling::AutoAttach => self.attach_to_all(gate).await?,
            Handling::Attach => self.attach(&*self.own_page(&request.read()?, gate)?).await?,
            Handling::Detach => self.detach(request.session.as_ref(), &request.read()?).await?,
            Handling::Close => self.close(&request.read()?, gate).await?,
            Handling::Create => self.create(&request.read()?, gate).await?,
            Handling::Activate => {
                let page = self.own_page(&request.read()?, gate)?;
                self.browser.root(&ActivateTarget { target_id: &page.target }).await?;
                json!({})
            }
            Handling::Key => {
                gate.prepare_paste(&self.browser).await?;
                self.forward_request(&request, &request.params).await;
                return Ok(());
            }
            Handling::History => {
                let params = self.history(&request).await?;
                self.forward_request(&request, &params).await;
                return Ok(());
            }
            other => return Err(Failure::refused(format!("`{}` has no treatment `{other:?}`", request.rule.method))),
        };
        self.push_answer(request.id, request.session.as_ref(), Ok(result));
        Ok(())
    }

    /// Returns the parameters of a command about a handle, if the handle belongs to the client.
    fn use_stream(&self, method: &str, params: &StreamUse) -> Result<String, Failure> {
        let is_own = {
            let streams = &mut self.state().streams;
            if method == "IO.close" { streams.remove(&params.handle) } else { streams.contains(&params.handle) }
        };
        if is_own { Ok(write_params(params)) } else { Err(Failure::refused("the handle is not one of this client")) }
    }

    /// Returns the parameters of a step in the history, if its entry may be opened.
    async fn history(&self, request: &ClientRequest) -> Result<String, Failure> {
        let step: HistoryEntryParams = request.read()?;
        let page = request.page.as_ref().ok_or_else(|| Failure::refused("no tab is named"))?;
        let history = self.browser.connection.send(Some(&page.session), &GetNavigationHistory {}).await?;
        history_step(&step, &history)
    }
}

/// Checks a URL that a command opens.
pub(super) fn check_url(url: &str) -> Result<(), Failure> {
    match classify_url(url) {
        DocumentUrl::Web => Ok(()),
        DocumentUrl::Blank if url == "about:blank" => Ok(()),
        _ => Err(Failure::refused("only http, https and about:blank are opened")),
    }
}

/// Returns the parameters of a navigation, if its URL may be opened by a command.
fn navigation(params: &Navigation) -> Result<String, Failure> {
    check_url(&params.url)?;
    Ok(write_params(params))
}

/// Returns the parameters of a step in the history, if the entry is in it and may be opened.
fn history_step(step: &HistoryEntryParams, history: &NavigationHistory) -> Result<String, Failure> {
    let found = history.entries.iter().find(|known| known.id == i64::from(step.entry_id));
    let entry = found.ok_or_else(|| Failure::refused("No entry with passed id"))?;
    if !classify_url(&entry.url).may_be_returned_to() {
        return Err(Failure::refused("the entry of the history is not opened"));
    }
    Ok(write_params(step))
}

/// Returns the parameters of a command about cookies: those of the session's own context.
///
/// A saved state is a login that the agent uses and cannot read, so a session with one has no such commands.
pub(super) fn cookies(
    level: Level,
    method: &str,
    mut params: Value,
    gate: &dyn ClientScope,
    context: SessionContext,
) -> Result<String, Failure> {
    let refuse = |message: &str| {
        gate.count_refusal(level, Denied::Method(method));
        Err(Failure::refused(message))
    };
    if !gate.allows_cookies() {
        return refuse("the policy does not enable cookies");
    }
    if gate.has_saved_state() {
        return refuse("cookies are not available in a session with a saved state");
    }
    let own = match context {
        SessionContext::Own(id) => Some(id),
        SessionContext::Shared => None,
        SessionContext::None => return refuse("the session has no context"),
    };
    if let (Some(members), Level::Root) = (params.as_object_mut(), level) {
        members.remove("browserContextId");
        if let Some(context) = own {
            members.insert("browserContextId".to_owned(), context.as_str().into());
        }
    }
    Ok(params.to_string())
}

/// Returns the parameters with which Chromium attaches a client to the frames and workers of its own sessions. None of them
/// waits for the client.
fn auto_attach(params: &AutoAttach) -> String {
    let kinds = json!([{ "type": "iframe" }, { "type": "worker" }]);
    let is_on = params.auto_attach;
    json!({ "autoAttach": is_on, "waitForDebuggerOnStart": false, "flatten": true, "filter": kinds }).to_string()
}

/// Returns the parameters of a drag event. Files would be read with Chromium's rights.
fn drag(params: &DragEvent) -> Result<String, Failure> {
    if params.has_files() { Err(Failure::refused("no files are dropped")) } else { Ok(write_params(params)) }
}
