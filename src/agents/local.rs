//! Runs on this machine: takes a spec, plans it, carries it out in one task, and reports how it ended.

use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::outcome;
use super::papers::Papers;
use super::plan::{self, Plan, ProgramPlan};
use super::settings::Settings;
use super::steps::{StepCall, StepReply, StepTools};
use super::variables::CommonGround;
use crate::domain::time::Millis;
use crate::domain::{ProcessIdentity, RunId, RunOutcome};
use crate::engine::{Ending, Executors, LiveRun, Recovery, Report, Reporter, RunSpec};
use crate::process::inside::RUN_VARIABLE;
use crate::process::{self, Identity, Launch, LogFile, Proof, Stopper, subreaper};

/// A run that ends within this time never has its process recorded: the write would cost more than the run, and
/// after a crash the tag in its environment finds it anyway.
const RECORD_AFTER: Duration = Duration::from_millis(20);

/// The executors of this machine. Made by the process that dispatches, once: from then on it adopts the orphans
/// of its runs.
#[derive(Clone)]
pub struct LocalExecutors(Arc<Inner>);

struct Inner {
    settings: Settings,
    ground: CommonGround,
    tools: Arc<dyn StepTools>,
}

impl LocalExecutors {
    /// Executors with these settings, and these tools for steps beside `exec` and `clarify`.
    pub fn new(settings: Settings, tools: Arc<dyn StepTools>) -> Self {
        if let Err(error) = subreaper::install() {
            tracing::warn!(%error, "processes that leave their run's group will not be found at its end");
        }
        Self(Arc::new(Inner { ground: CommonGround::new(&settings), settings, tools }))
    }
}

impl Executors for LocalExecutors {
    fn start(&self, spec: RunSpec, reporter: Reporter) -> Box<dyn LiveRun> {
        let live = Live::default();
        let run = Run {
            inner: Arc::clone(&self.0),
            live: live.clone(),
            end: End { reporter, told: false },
            spec: Arc::new(spec),
        };
        tokio::spawn(run.carry_out());
        Box::new(live)
    }

    fn recover(&self, run: &RunId, process: Option<&ProcessIdentity>, grace_ms: u64) -> Recovery {
        let identity = process.map(|process| Identity {
            boot_id: process.boot_id.clone(),
            pid: process.pid,
            start_ticks: process.start_ticks,
            pgid: process.pgid,
        });
        let tag = (RUN_VARIABLE, run.as_str());
        match process::recover(identity.as_ref(), tag, Duration::from_millis(grace_ms)) {
            Proof::Dead { killed } => Recovery::Dead { killed },
            Proof::Uncertain { pids } => Recovery::Uncertain { pids },
        }
    }

    fn tools(&self) -> Vec<String> {
        let mut names = vec!["exec".to_owned(), "clarify".to_owned()];
        let more =
            self.0.tools.names().into_iter().filter(|name| !["exec", "clarify"].contains(&name.as_str()));
        names.extend(more);
        names
    }

    fn agents(&self) -> Vec<(String, u32)> {
        self.0.settings.agents.values().map(|agent| (agent.name.clone(), agent.parallel)).collect()
    }
}

/// The hold that the engine has on a run.
#[derive(Debug, Clone, Default)]
struct Live {
    stopper: Stopper,
    /// For calls of tools, which have no process to stop.
    stopped: Arc<AtomicBool>,
}

impl LiveRun for Live {
    fn stop(&self, grace_ms: u64) {
        self.stopped.store(true, Ordering::Relaxed);
        self.stopper.stop(Duration::from_millis(grace_ms));
    }
}

/// Says once how a run ended. If its task breaks, it says that, so that no run goes on for ever on paper.
struct End {
    reporter: Reporter,
    told: bool,
}

impl End {
    fn tell(&mut self, ending: Ending) {
        self.told = true;
        self.reporter.report(Report::Ended(ending));
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Dropped without a word otherwise only when the whole runtime goes; then recovery has the last word.
        if !self.told && std::thread::panicking() {
            self.tell(Ending::failure("andon itself failed while it carried this out; see its own log"));
        }
    }
}

struct Run {
    inner: Arc<Inner>,
    live: Live,
    end: End,
    spec: Arc<RunSpec>,
}

impl Run {
    async fn carry_out(mut self) {
        let ending = match self.steps().await {
            Ok(ending) => ending,
            Err(error) => Ending::failure(error),
        };
        self.end.tell(ending);
    }

    async fn steps(&self) -> Result<Ending, String> {
        if self.live.stopped.load(Ordering::Relaxed) {
            return Err("stopped before it was started".into());
        }
        match plan::of(&self.spec, &self.inner.settings)? {
            Plan::Program(program) => self.run_program(program).await,
            Plan::Ask { question, options } => Ok(self.ask(question, options)),
            Plan::Answered(answer) => Ok(Ending::success(answer)),
            Plan::Call { name, params, folder } => match self.call(name, params, folder.clone()).await? {
                StepReply::Done(result) => Ok(Ending::success(result)),
                StepReply::Asked { question, options } => Ok(self.ask(question, options)),
                StepReply::Program(program) => {
                    let named = program.named.into_iter().map(|(name, value)| (name, Some(value)));
                    let plan = ProgramPlan {
                        stdin: Some(program.stdin),
                        named: named.collect(),
                        passed: program.passed,
                        limit: program.limit,
                        ..ProgramPlan::new(program.argv, folder)
                    };
                    self.run_program(plan).await
                }
            },
        }
    }

    fn ask(&self, question: String, options: Vec<String>) -> Ending {
        self.end.reporter.report(Report::Asked { question, options });
        Ending { outcome: RunOutcome::Parked, ..Ending::success("") }
    }

    async fn call(
        &self,
        name: String,
        params: Map<String, Value>,
        folder: Option<PathBuf>,
    ) -> Result<StepReply, String> {
        let (inner, live, spec) = (Arc::clone(&self.inner), self.live.clone(), Arc::clone(&self.spec));
        let call = move || {
            let stopped = &live.stopped;
            inner.tools.call(&StepCall {
                name: &name,
                params: &params,
                folder: folder.as_deref(),
                spec: &spec,
                stopped,
            })
        };
        // A tool that panics fails its own step and nothing else.
        let broken = |error| format!("the tool broke while it worked: {error}");
        tokio::task::spawn_blocking(call).await.map_err(broken)?
    }

    async fn run_program(&self, plan: ProgramPlan) -> Result<Ending, String> {
        let (result, limit) = (plan.result, plan.limit);
        let mut papers = Papers::default();
        let launch = self.launch(plan, &mut papers)?;
        let child = launch.spawn_stopped_by(self.live.stopper.clone()).map_err(|error| error.to_string())?;
        let reporter = &self.end.reporter;
        let process = recorded(child.identity());
        let finish = child.finish(|_, _| reporter.touch(now()));
        tokio::pin!(finish);
        let begun = Instant::now();
        let (mut process, mut over) = (Some(process), None);
        let finished = loop {
            tokio::select! {
                finished = &mut finish => break finished,
                () = tokio::time::sleep_until((begun + RECORD_AFTER).into()), if process.is_some() => {
                    process.take().map(Report::Started).into_iter().for_each(|report| reporter.report(report));
                }
                limit = passed(begun, limit), if over.is_none() => {
                    over = Some(limit);
                    self.live.stopper.stop(self.inner.settings.leftover_grace);
                }
            }
        };
        if let Some(error) = &finished.exit.log_error {
            tracing::warn!(run = %self.spec.run, %error, "the log of a run is not complete");
            let fact = (String::from("log_error"), Value::from(error.clone()));
            reporter.report(Report::Facts([fact].into_iter().collect()));
        }
        let ending = outcome::ending(&finished, result);
        Ok(match over {
            Some(limit) => {
                let error = format!("its tool was stopped: the {} s of one call were over", limit.as_secs());
                Ending { outcome: RunOutcome::Failed, error, ..ending }
            }
            None => ending,
        })
    }

    fn launch(&self, plan: ProgramPlan, papers: &mut Papers) -> Result<Launch, String> {
        let spec = &*self.spec;
        let mut environment =
            self.inner.ground.of_run(spec, &plan.passed, &[&spec.executor.env, &plan.named]);
        let not_written = |what: &'static str| {
            let folder = spec.log.parent().unwrap_or(Path::new("")).display();
            move |error| {
                format!(
                    "{what} could not be written into {folder} ({error}); make room or correct its rights"
                )
            }
        };
        if let Some(given) = &spec.answer {
            let path = papers.add_answer(&spec.log, &given.answer).map_err(not_written("the answer"))?;
            environment.set_os("ANDON_ANSWER_FILE", path);
        }
        if let Some(prompt) = &plan.prompt {
            let path = papers.add_prompt(&spec.log, prompt).map_err(not_written("the prompt"))?;
            environment.set_os("ANDON_PROMPT_FILE", path);
        }
        let argv = plan.argv.into_iter().map(OsString::from);
        let mut launch = Launch::new(argv, environment).tagged(RUN_VARIABLE, spec.run.as_str());
        launch.cwd = plan.folder;
        launch.stdin = plan.stdin;
        launch.log = Some(LogFile { path: spec.log.clone(), cap: self.inner.settings.log_cap });
        launch.drain = self.inner.settings.drain;
        launch.leftover_grace = self.inner.settings.leftover_grace;
        Ok(launch)
    }
}

/// Ends when the limit is over, and says what it was; never where there is none.
async fn passed(begun: Instant, limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep_until((begun + limit).into()).await;
            limit
        }
        None => std::future::pending().await,
    }
}

fn recorded(identity: &Identity) -> ProcessIdentity {
    ProcessIdentity {
        boot_id: identity.boot_id.clone(),
        pid: identity.pid,
        start_ticks: identity.start_ticks,
        pgid: identity.pgid,
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
