//! For any sequence of commands on a small graph, whatever they are refused or taken: the events of a task give its
//! row, what is counted is what is there, and a refusal writes nothing.

use andon::domain::{
    Actor, Executor, IdRef, Program, StepDefinition, TaskStatus, Work, WorkflowDefinition, event, graph,
    workflow,
};
use andon::engine::{
    AnswerText, Command, Core, Ending, Input, NewTask, Outcome, Paths, Policy, QuestionRef, Report, RunSpec,
    TaskEdit,
};
use andon::engine::{Effect, Window, look_for};
use andon::store::{Durability, Failure, Options, Store, TaskFilter, View};
use proptest::prelude::*;
use serde_json::json;

/// One thing that somebody does. Numbers name cards, modulo how many there are.
#[derive(Debug, Clone)]
enum Deed {
    Create {
        auto: bool,
        start: bool,
        review: bool,
        retries: u32,
        after: Option<usize>,
    },
    Workflow {
        steps: usize,
        edges: u32,
        start: bool,
    },
    Verb {
        verb: usize,
        card: usize,
        other: usize,
    },
    OnWorkflow {
        verb: usize,
        which: usize,
    },
    Answer {
        option: usize,
    },
    /// The dispatcher claims what is ready.
    Look,
    /// A live run asks, or ends.
    Run {
        which: usize,
        how: usize,
    },
    /// The dispatcher dies; the next one recovers what it left.
    Next,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let one = prop_oneof![
        3 => (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2), 0..2u32, prop::option::of(0..20usize))
            .prop_map(|(auto, start, review, retries, after)| {
                Deed::Create { auto, start, review, retries, after }
            }),
        1 => (1..5usize, any::<u32>(), any::<bool>())
            .prop_map(|(steps, edges, start)| Deed::Workflow { steps, edges, start }),
        10 => (0..21usize, 0..20usize, 0..20usize)
            .prop_map(|(verb, card, other)| Deed::Verb { verb, card, other }),
        2 => (0..7usize, 0..4usize).prop_map(|(verb, which)| Deed::OnWorkflow { verb, which }),
        1 => (0..4usize).prop_map(|option| Deed::Answer { option }),
        4 => Just(Deed::Look),
        4 => (0..4usize, 0..6usize).prop_map(|(which, how)| Deed::Run { which, how }),
        1 => Just(Deed::Next),
    ];
    prop::collection::vec(one, 1..50)
}

struct World {
    store: Store,
    core: Core,
    live: Vec<RunSpec>,
    dispatcher: u32,
    workflows: Vec<String>,
}

impl World {
    fn new(folder: &std::path::Path) -> World {
        let database = folder.join("andon.db");
        let store = Store::open(&database, Options { durability: Durability::Normal }).unwrap();
        let core = Core::new(Policy::default(), Paths { database, logs: folder.to_owned() });
        let mut world = World { store, core, live: Vec::new(), dispatcher: 0, workflows: Vec::new() };
        world.begin();
        world
    }

    fn handle(&mut self, input: Input) -> Option<Outcome> {
        let before = self.read(|view| Ok((view.tasks(&everything())?.items, view.last_event()?)));
        let core = self.core.clone();
        let handled = match self.store.write(move |tx| core.handle(tx, input)) {
            Ok(handled) => handled,
            Err(Failure::Refused(_)) => {
                let after = self.read(|view| Ok((view.tasks(&everything())?.items, view.last_event()?)));
                assert_eq!(before, after, "a refusal wrote something");
                return None;
            }
            Err(Failure::Store(error)) => panic!("{error}"),
        };
        for effect in handled.effects {
            match effect {
                Effect::Start(spec) => self.live.push(*spec),
                Effect::Stop { run, .. } => {
                    if let Some(at) = self.live.iter().position(|spec| spec.run == run) {
                        let spec = self.live.swap_remove(at);
                        self.report(&spec, Report::Ended(Ending::failure("killed by SIGTERM")));
                    }
                }
                Effect::Recover { run, .. } => {
                    let recovery = andon::engine::Recovery::Dead { killed: 1 };
                    self.handle(Input::Recovered { run, recovery });
                }
                _ => {}
            }
        }
        handled.reply.ok().flatten()
    }

    fn report(&mut self, spec: &RunSpec, report: Report) {
        self.handle(Input::Report { run: spec.run.clone(), epoch: spec.epoch, report });
    }

    fn read<T>(&self, look: impl FnOnce(&View<'_>) -> Result<T, Failure>) -> T {
        self.store.read(look).unwrap()
    }

    fn begin(&mut self) {
        self.dispatcher += 1;
        let dispatcher = format!("d{}", self.dispatcher);
        self.handle(Input::Begin { dispatcher, pid: 1, slots: 2, only: None });
    }

    fn command(&mut self, command: Command) -> Option<Outcome> {
        self.handle(Input::Command { command, actor: Actor::operator("me") })
    }

    fn card(&self, n: usize) -> IdRef {
        let last = self.read(|view| view.next_task_seq()) - 1;
        IdRef::Seq(1 + n as i64 % last.max(1))
    }

    fn act(&mut self, deed: Deed) {
        match deed {
            Deed::Create { auto, start, review, retries, after } => {
                let work = Work::Command { command: Program::Argv(vec!["true".into()]) };
                let new = NewTask {
                    title: "x".into(),
                    executor: auto.then(|| Executor::new(work)),
                    start,
                    review_required: Some(review),
                    retry_max: retries,
                    after: after.map(|n| self.card(n)).into_iter().collect(),
                    ..NewTask::default()
                };
                self.command(Command::Create(Box::new(new)));
            }
            Deed::Workflow { steps, edges, start } => self.make_workflow(steps, edges, start),
            Deed::Verb { verb, card, other } => {
                let (task, on) = (self.card(card), self.card(other));
                self.command(verb_of(verb, task, on, other));
            }
            Deed::OnWorkflow { verb, which } => {
                if self.workflows.is_empty() {
                    return;
                }
                let workflow = self.workflows[which % self.workflows.len()].clone();
                let done = self.command(match verb {
                    0 => Command::StartWorkflow { workflow },
                    1 => Command::PauseWorkflow { workflow },
                    2 => Command::ResumeWorkflow { workflow },
                    3 => Command::CancelWorkflow { workflow },
                    4 => Command::AdvanceWorkflow { workflow },
                    n => Command::RerunWorkflow { workflow, from_failed: n == 5 },
                });
                if let Some(Outcome::Workflow(made)) = done
                    && !self.workflows.contains(&made.id.0)
                {
                    self.workflows.push(made.id.0);
                }
            }
            Deed::Answer { option } => {
                let open = self.read(|view| view.open_questions(None));
                if let Some((question, ..)) = open.into_iter().next() {
                    let answer = match question.options.is_empty() {
                        true => AnswerText::Text("this".into()),
                        false => AnswerText::Option(option),
                    };
                    self.command(Command::Answer { question: QuestionRef::Id(question.id), answer });
                }
            }
            Deed::Look => {
                let dispatcher = format!("d{}", self.dispatcher);
                let (agents, only) = (Vec::new(), None);
                self.handle(Input::Look { dispatcher, slots: 2, agents, only, all: true, careful: false });
            }
            Deed::Run { which, how } => self.go_on(which, how),
            Deed::Next => {
                // What ran is killed with it, or found by the next one.
                self.live.clear();
                self.begin();
            }
        }
    }

    fn go_on(&mut self, which: usize, how: usize) {
        if self.live.is_empty() {
            return;
        }
        let at = which % self.live.len();
        let spec = self.live[at].clone();
        match how {
            0 => self.report(&spec, Report::Asked { question: "which?".into(), options: vec![] }),
            1 => {
                let actor = Actor::Agent { run: spec.run.clone(), task: spec.task.clone(), name: "a".into() };
                let command = Command::Ask {
                    task: IdRef::Seq(spec.seq),
                    question: "which?".into(),
                    options: vec!["a".into(), "b".into()],
                    waits: true,
                    expires_at_ms: None,
                };
                self.handle(Input::Command { command, actor });
            }
            2 | 3 => {
                self.live.swap_remove(at);
                self.report(&spec, Report::Ended(Ending::success("yes")));
            }
            4 => {
                self.live.swap_remove(at);
                self.report(&spec, Report::Ended(Ending::failure("exit 1")));
            }
            _ => {
                // It is told twice.
                self.live.swap_remove(at);
                self.report(&spec, Report::Ended(Ending::success("yes")));
                self.report(&spec, Report::Ended(Ending::failure("no")));
            }
        }
    }

    fn make_workflow(&mut self, steps: usize, edges: u32, start: bool) {
        let steps = (0..steps)
            .map(|n| StepDefinition {
                id: format!("s{n}"),
                name: format!("step {n}"),
                tool_name: "exec".into(),
                tool_params: json!({ "command": "true" }).as_object().unwrap().clone(),
                depends_on: (0..n)
                    .filter(|m| edges >> (n * 5 + m) & 1 == 1)
                    .map(|m| format!("s{m}"))
                    .collect(),
                retry_max: edges >> 30,
                timeout_seconds: 300,
                priority: 5,
                ..StepDefinition::default()
            })
            .collect();
        let definition = WorkflowDefinition { name: "w".into(), board: None, steps };
        let command =
            Command::CreateWorkflow { definition: Box::new(definition), board: None, cwd: None, start };
        if let Some(Outcome::Workflow(made)) = self.command(command) {
            self.workflows.push(made.id.0);
        }
    }

    fn check(&self) {
        let tasks = self.read(|view| view.tasks(&everything())).items;
        for task in &tasks {
            let events = self.read(|view| view.events(0, Some(&task.id), usize::MAX));
            assert_eq!(event::replay(events.iter().map(|e| &e.patch)).unwrap(), *task, "events = row");
            let open = self.read(|view| view.count_open_predecessors(task.seq));
            assert_eq!(task.open_predecessors, open, "#{} counts its predecessors", task.seq);
        }
        let seqs: Vec<i64> = tasks.iter().map(|t| t.seq).collect();
        assert!(graph::cycles(&seqs, |n| self.read(|view| view.needs(n))).is_empty(), "no cycle");
        for id in &self.workflows {
            let found = self.read(|view| view.resolve_workflow(id));
            let counted = self.read(|view| view.count_steps(&found.id));
            assert_eq!(found.counts, counted, "workflow {} counts its steps", found.name);
            let follows = workflow::status(found.started, found.paused, found.cancel_requested, &counted);
            assert!(found.status == follows || found.status.is_closed(), "{} is not {follows}", found.status);
        }
        let shown = |status: &dyn Fn(TaskStatus) -> bool| {
            tasks.iter().filter(|t| t.archived_at_ms.is_none() && status(t.status)).count()
        };
        let boards = self.read(|view| view.boards());
        assert_eq!(boards[0].open as usize, shown(&|s| !s.is_closed()), "the board counts its open cards");
        assert_eq!(boards[0].running as usize, shown(&|s| s == TaskStatus::Running));
        assert_eq!(self.read(|view| view.count_closed("default")) as usize, shown(&|s| s.is_closed()));
        assert_eq!(self.read(|view| view.cards("default", false)).len(), shown(&|s| !s.is_closed()));
        let vouched: Vec<_> = self.live.iter().map(|spec| spec.run.clone()).collect();
        let dispatcher = format!("d{}", self.dispatcher);
        let window = Window::whole();
        let (found, _) =
            self.read(|view| look_for(view, Some(&dispatcher), &vouched, self.core.now(), &window));
        assert!(found.is_empty(), "the reconciler would repair {found:?}");
    }
}

fn everything() -> TaskFilter {
    TaskFilter { all: true, ..TaskFilter::default() }
}

fn verb_of(verb: usize, task: IdRef, on: IdRef, n: usize) -> Command {
    match verb {
        0 => Command::Start { task },
        1 => Command::Take { task },
        2 => Command::Complete { task, result: Some("done".into()) },
        3 => Command::Fail { task, error: None },
        4 => Command::Cancel { task, reason: None },
        5 => Command::Retry { task },
        6 => Command::Block { task, reason: "why".into() },
        7 => Command::Unblock { task },
        8 => Command::Suspend { task },
        9 => Command::Resume { task },
        10 => Command::Approve { task },
        11 => Command::Reject { task, feedback: Some("again".into()) },
        12 | 13 => Command::Depend { task, on },
        14 => Command::Undepend { task, on },
        15 => Command::Delete { task },
        16 => Command::Archive { task },
        17 => Command::Copy { task },
        18 => {
            let edit =
                TaskEdit { priority: Some(n as i64 % 11), max_retries: Some(4), ..TaskEdit::default() };
            Command::Edit { task, edit: Box::new(edit), if_version: (n > 15).then_some(1) }
        }
        _ => Command::Move { task, to: TaskStatus::ALL[n % 9], text: Some("so".into()) },
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_is_commanded_events_give_the_rows_counts_are_counts_and_refusals_write_nothing(
        deeds in deeds()
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut world = World::new(folder.path());
        for deed in deeds {
            world.act(deed);
            world.check();
        }
    }
}
