//! Asking the person at the client what a tool asks. A client that takes requests is sent a form; a newer one gets
//! a result that says that input is required, and calls again with it. Both only where the client speaks for the
//! person: an agent inside a run never answers for them. Everywhere else the question is on the board, and the
//! call waits for it; whoever answers first counts.

use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, InputRequest, InputRequiredResult, InputResponses, JsonObject, ProtocolVersion,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::pin::Pin;
use tokio::sync::oneshot;

use super::caller::Caller;
use super::server::Server;
use crate::domain::refusal::RefusalClass;
use crate::domain::text::shortened;
use crate::domain::{Actor, Question, QuestionId};
use crate::engine::{AnswerText, Command, Engine, EngineError, QuestionRef};
use crate::tools::{ToolContext, ToolError, clarify};

/// The key of the one thing that is asked for.
const ANSWER: &str = "answer";
/// The field of a form for one of the options.
const CHOICE: &str = "choice";

/// How the person at the client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Not at all.
    None,
    /// By a request to the client.
    Request,
    /// By a result that asks for a second call.
    Result,
}

/// The question that goes out to the client, if one does.
pub(super) struct Asking {
    way: Way,
    /// Who answers.
    person: Option<Actor>,
    form: Option<Form>,
}

/// A form that the client has.
struct Form {
    /// Dropped when the form is no longer needed.
    needed: oneshot::Sender<()>,
    /// Over when the client is through with it, or was told that it is not needed. Driven within the call that
    /// asks: over HTTP the form then goes out on that call's own stream.
    filled: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Asking {
    /// How this caller can be asked.
    pub fn of(caller: &Caller, context: &RequestContext<RoleServer>) -> Self {
        let forms = context.client_capabilities().and_then(|client| client.elicitation);
        // One that names neither kind knows forms: there was nothing else when it was written.
        let takes_forms = forms.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none());
        let newer = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        let person = caller.person().cloned();
        let way = match (takes_forms && person.is_some(), newer) {
            (false, _) => Way::None,
            (true, false) => Way::Request,
            (true, true) => Way::Result,
        };
        Self { way, person, form: None }
    }

    /// The result that asks for a second call with the answer, for a client that takes it so.
    pub fn input_required(&self, question: &Question) -> Option<InputRequiredResult> {
        if self.way != Way::Result {
            return None;
        }
        let request = InputRequest::Elicitation(ElicitRequest::new(form(question, "")?));
        let requests = BTreeMap::from([(ANSWER.to_owned(), request)]);
        Some(InputRequiredResult::new(Some(requests), Some(question.id.0.clone())))
    }

    /// Sends the client a form, where it takes forms. Its answer goes the way of every answer.
    pub fn ask_client(&mut self, server: &Server, context: &RequestContext<RoleServer>, question: Question) {
        if let (Way::Request, Some(person)) = (self.way, self.person.clone()) {
            let (peer, engine) = (context.peer.clone(), server.engine.clone());
            let (needed, unneeded) = oneshot::channel();
            let filled = Box::pin(fill_in(peer, engine, person, question, unneeded));
            self.form = Some(Form { needed, filled });
        }
    }

    /// Comes back when the client is through with its form; never where it has none. What came of it is on the board.
    pub async fn answered(&mut self) {
        match &mut self.form {
            Some(form) => (&mut form.filled).await,
            None => return std::future::pending().await,
        }
        self.form = None;
    }

    /// Tells the client that a form which it still has is no longer needed.
    pub async fn take_back(&mut self) {
        if let Some(Form { needed, filled }) = self.form.take() {
            drop(needed);
            filled.await;
        }
    }
}

/// Asks the client until it gives an answer that can be taken, wants to give none, or none is needed any more.
async fn fill_in(
    peer: Peer<RoleServer>,
    engine: Engine,
    person: Actor,
    question: Question,
    mut unneeded: oneshot::Receiver<()>,
) {
    let mut note = String::new();
    loop {
        let Some(form) = form(&question, &note) else { return };
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
        let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let Ok(mut sent) = sent else { return };
        let reply = tokio::select! {
            reply = &mut sent.rx => reply,
            _ = &mut unneeded => {
                // A client that can't be told has gone, and its form with it.
                let _ = sent.cancel(Some("it is answered elsewhere, or no longer asked".to_owned())).await;
                return;
            }
        };
        let Ok(Ok(ClientResult::ElicitResult(filled))) = reply else { return };
        let Some(answer) = answer_in(&filled) else { return };
        let (engine, person, id) = (engine.clone(), person.clone(), question.id.clone());
        match tokio::task::spawn_blocking(move || take(&engine, &person, id, answer)).await {
            Ok(Err(EngineError::Refused(refusal))) if refusal.class == RefusalClass::Invalid => {
                note = refusal.message;
            }
            // Taken, or somebody else was faster: the tool, which waits for it, has seen that.
            Ok(_) => return,
            Err(error) => return tracing::error!(%error, "an answer was not taken"),
        }
    }
}

fn take(engine: &Engine, actor: &Actor, id: QuestionId, answer: String) -> Result<(), EngineError> {
    let command = Command::Answer { question: QuestionRef::Id(id), answer: AnswerText::Text(answer) };
    engine.execute(command, actor).map(|_| ())
}

/// The form for a question: options to pick from, and room for a free answer.
fn form(question: &Question, note: &str) -> Option<ElicitRequestParams> {
    let builder = ElicitationSchema::builder();
    let schema = match question.options.is_empty() {
        true => builder.required_string(ANSWER),
        false => builder
            .optional_enum_schema(CHOICE, EnumSchema::builder(question.options.clone()).build())
            .optional_string_with(ANSWER, |text| {
                text.description("an answer of your own, instead of a choice")
            }),
    };
    let message = match note {
        "" => question.text.clone(),
        note => format!("{}\n\n{note}", question.text),
    };
    let requested_schema = schema.build().ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// What was filled in, if anything was.
fn answer_in(filled: &ElicitResult) -> Option<String> {
    if filled.action != ElicitationAction::Accept {
        return None;
    }
    let content = filled.content.as_ref()?;
    let field = |name: &str| content[name].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    field(ANSWER).or_else(|| field(CHOICE))
}

/// A second call, with what the first one asked for.
#[derive(Debug)]
pub(super) struct Retry {
    question: QuestionId,
    text: String,
    answer: Option<String>,
    person: Actor,
}

impl Retry {
    /// The second call that this one is; `None` for a first one.
    pub fn of(
        caller: &Caller,
        tool: &str,
        params: &JsonObject,
        state: Option<String>,
        responses: Option<InputResponses>,
    ) -> Option<Self> {
        let person = caller.person().filter(|_| tool == clarify::CLARIFY.name)?.clone();
        let filled = responses.and_then(|mut responses| responses.remove(ANSWER));
        let filled: Option<ElicitResult> = filled.and_then(|filled| serde_json::from_value(filled).ok());
        Some(Self {
            question: QuestionId(state?),
            text: params.get("question").and_then(Value::as_str).unwrap_or_default().to_owned(),
            answer: filled.as_ref().and_then(answer_in),
            person,
        })
    }

    /// Takes the answer where one was given, and goes on waiting where not.
    pub fn carry_out(self, ctx: &ToolContext) -> Result<Value, ToolError> {
        let question = ctx.engine.question(&self.question)?;
        if question.text != self.text {
            let asked = shortened(&question.text, 200);
            let message =
                format!("this goes on with question {}, which is `{asked}`; ask as before", question.id);
            return Err(
                ToolError::invalid("invalid_params", message).with_detail(json!({ "question": asked }))
            );
        }
        if let Some(answer) = self.answer {
            match take(&ctx.engine, &self.person, question.id.clone(), answer) {
                // Somebody else was faster, and that answer is the one that counts.
                Err(EngineError::Refused(refusal)) if refusal.class == RefusalClass::State => {}
                taken => taken?,
            }
        }
        clarify::awaited(ctx, &question.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_offers_the_options_and_a_free_answer_and_the_free_one_counts_first() {
        let question =
            Question { text: "Which?".into(), options: vec!["a".into(), "b".into()], ..Question::default() };
        let form = serde_json::to_value(form(&question, "too long").unwrap()).unwrap();
        assert_eq!(form["message"], "Which?\n\ntoo long");
        assert_eq!(form["requestedSchema"]["properties"]["choice"]["enum"], json!(["a", "b"]));
        let filled = |action: &str, content: Value| {
            answer_in(&serde_json::from_value(json!({ "action": action, "content": content })).unwrap())
        };
        assert_eq!(filled("accept", json!({ "choice": "b", "answer": " " })).as_deref(), Some("b"));
        assert_eq!(filled("accept", json!({ "choice": "b", "answer": "c" })).as_deref(), Some("c"));
        assert_eq!(filled("accept", json!({})), None);
        assert_eq!(filled("decline", json!({ "answer": "c" })), None);
    }
}
