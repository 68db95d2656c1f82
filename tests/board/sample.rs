//! Hand-made boards: what a busy afternoon looks like, and the hard cases.

use andon::domain::board::{Predecessor, RunBrief, WorkflowBrief};
use andon::domain::{
    BoardSnapshot, BoardSummary, Card, Dispatch, DispatcherState, Question, QuestionId, RunId, TaskId,
    TaskStatus, WorkflowId, WorkflowStatus,
};

/// The time in all pictures: 2026-11-30 14:50:00 UTC.
pub const NOW: i64 = 1_796_050_200_000;

const MINUTE: i64 = 60_000;

pub fn card(seq: i64, status: TaskStatus, title: &str) -> Card {
    Card {
        id: TaskId(format!("t_{seq:0>12}")),
        seq,
        version: 1,
        board_id: "default".into(),
        title: title.into(),
        status,
        priority: 5,
        max_retries: 3,
        since_ms: NOW - 3 * MINUTE,
        created_at_ms: NOW - 60 * MINUTE,
        ..Card::default()
    }
}

fn labels(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn run(number: u32, started: i64, active: i64) -> Option<RunBrief> {
    Some(RunBrief {
        id: RunId(format!("r_{number:0>12}")),
        number,
        owner: "andon".into(),
        dispatched: true,
        started_at_ms: NOW - started,
        active_at_ms: NOW - active,
        closing_as: None,
    })
}

fn release(done: u32) -> Option<WorkflowBrief> {
    Some(WorkflowBrief {
        id: WorkflowId("w_release00000".into()),
        name: "release".into(),
        status: WorkflowStatus::Running,
        done,
        total: 5,
    })
}

pub fn question(number: u32, text: &str, options: &[&str], ago: i64) -> Question {
    Question {
        id: QuestionId(format!("q_{number:0>12}")),
        task_id: TaskId::default(),
        text: text.into(),
        options: options.iter().map(|o| (*o).to_owned()).collect(),
        asked_by: "claude".into(),
        asked_at_ms: NOW - ago,
        ..Question::default()
    }
}

fn board(cards: Vec<Card>) -> BoardSnapshot {
    let mut cards = cards;
    cards.sort_by_key(|card| (card.status, card.priority));
    let running = cards.iter().filter(|card| card.status == TaskStatus::Running).count() as u32;
    BoardSnapshot {
        board_id: "default".into(),
        seq: 9,
        at_ms: NOW,
        slots_used: running,
        slots_total: 4,
        dispatcher: DispatcherState::Here,
        halted: false,
        closed: 0,
        boards: vec![
            BoardSummary { id: "default".into(), open: cards.len() as u32, running, lamps: 2 },
            BoardSummary { id: "ideas".into(), open: 41, running: 0, lamps: 0 },
            BoardSummary { id: "网站".into(), open: 7, running: 1, lamps: 1 },
        ],
        cards,
    }
}

/// A board at work.
pub fn busy() -> BoardSnapshot {
    use TaskStatus::*;
    let mut cards = vec![
        Card {
            priority: 2,
            labels: labels("security"),
            assignee: "claude".into(),
            ..card(31, Pending, "Rotate API keys")
        },
        Card {
            priority: 4,
            labels: labels("docs"),
            source: "github".into(),
            since_ms: NOW - 26 * 60 * MINUTE,
            ..card(33, Pending, "Write the upgrade guide for people who come from version one")
        },
        Card {
            labels: labels("release"),
            workflow: release(2),
            step_id: "publish".into(),
            dispatch: Dispatch::Auto,
            executor: "cargo publish".into(),
            predecessors: vec![Predecessor {
                id: "t_behind".into(),
                seq: 27,
                title: "Build image".into(),
                status: Queued,
            }],
            ..card(28, Pending, "Publish the crate")
        },
        Card {
            labels: labels("release"),
            workflow: release(2),
            step_id: "build".into(),
            dispatch: Dispatch::Auto,
            executor: "docker build .".into(),
            queued_at_ms: Some(NOW - 2 * MINUTE),
            ..card(27, Queued, "Build image")
        },
        Card {
            priority: 7,
            assignee: "mara".into(),
            since_ms: NOW - 3 * 60 * MINUTE,
            ..card(24, Queued, "Tidy the wiki")
        },
        Card {
            priority: 2,
            labels: labels("bug api"),
            agent: Some("codex".into()),
            dispatch: Dispatch::Auto,
            executor: "@codex".into(),
            run: run(1, 252_000, 1_000),
            ..card(12, Running, "Fix login page 500 error")
        },
        Card {
            labels: labels("release"),
            workflow: release(2),
            step_id: "test".into(),
            dispatch: Dispatch::Auto,
            executor: "cargo test".into(),
            run: run(2, 51_000, 2_000),
            ..card(26, Running, "Test on all platforms")
        },
        Card {
            agent: Some("claude".into()),
            dispatch: Dispatch::Auto,
            executor: "@claude".into(),
            run: run(1, 14 * MINUTE, 6 * MINUTE),
            ..card(21, Running, "Translate the user manual")
        },
        Card {
            agent: Some("claude".into()),
            dispatch: Dispatch::Auto,
            review_summary: "+212 −40 in 6 files; all tests pass".into(),
            since_ms: NOW - 14 * MINUTE,
            labels: labels("ui"),
            ..card(9, Review, "Add dark mode")
        },
        Card {
            priority: 2,
            labels: labels("db"),
            agent: Some("claude".into()),
            dispatch: Dispatch::Auto,
            since_ms: NOW - 10 * MINUTE,
            question: Some(question(
                1,
                "Which database is the target?",
                &["staging", "production (read replica)", "make a scratch one"],
                10 * MINUTE,
            )),
            ..card(22, Blocked, "Migrate schema")
        },
        Card {
            since_ms: NOW - 3 * 60 * MINUTE,
            dispatch: Dispatch::Auto,
            executor: "cargo publish --dry-run".into(),
            error: "exit 101: no token".into(),
            retry_count: 2,
            ..card(18, Failed, "Publish crate")
        },
    ];
    for card in &mut cards {
        if let Some(question) = &mut card.question {
            question.task_id = card.id.clone();
        }
    }
    board(cards)
}

/// Titles that are hard to draw.
pub fn hard() -> BoardSnapshot {
    use TaskStatus::*;
    let mut cards = vec![
        card(1, Pending, "修复登录页面在移动设备上出现的五百错误并补充测试"),
        card(2, Pending, "👨\u{200d}👩\u{200d}👧 family ❤\u{fe0f} and 🇨🇭 flags"),
        card(3, Pending, "esc \u{1b}[31mred\u{1b}[0m bell \u{7} bidi \u{202e}txt"),
        Card {
            labels: labels("日本語 ラベル"),
            assignee: "山田".into(),
            ..card(4, Queued, &"averyveryverylongwordwithoutanyspaces".repeat(4))
        },
        card(5, Queued, "e\u{301}a\u{301}u\u{308} combining marks stay whole"),
        Card { error: "第一行\n第二行 \u{1b}[2J 清屏".into(), ..card(6, Failed, "失败的卡片") },
        Card {
            question: Some(question(1, "哪个数据库？", &["测试", "生产"], MINUTE)),
            ..card(7, Blocked, "迁移")
        },
        Card { run: run(3, 3_700_000, 0), dispatch: Dispatch::Auto, ..card(8, Running, "運行中") },
    ];
    cards[6].since_ms = NOW - 50 * 3_600_000;
    board(cards)
}

/// Nothing at all.
pub fn empty() -> BoardSnapshot {
    BoardSnapshot { slots_used: 0, ..board(Vec::new()) }
}

/// So many cards, spread over the columns.
pub fn many(count: i64) -> BoardSnapshot {
    board(
        (1..=count)
            .map(|n| card(n, TaskStatus::ALL[(n % 6) as usize], &format!("Task number {n}")))
            .collect(),
    )
}
