use super::fake::{House, Player, id, runnable};
use andon::domain::lamp::{Lamp, lamp};
use andon::domain::{DispatcherState, TaskStatus};
use andon::engine::{Command, NewTask, TaskFilter};

#[test]
fn boards_are_apart_and_the_default_one_is_there() {
    let house = House::new();
    let on = |board: &str| NewTask { title: board.into(), board: Some(board.into()), ..NewTask::default() };
    house.task(Command::Create(Box::new(on("work"))));
    house.card("home");
    let titles = |board: &str| -> Vec<String> {
        house.engine.board(board, false).unwrap().cards.into_iter().map(|c| c.title).collect()
    };
    assert_eq!(titles("work"), ["work"]);
    assert_eq!(titles("default"), ["home"]);
    let names: Vec<String> = house.engine.boards().unwrap().into_iter().map(|b| b.id).collect();
    assert_eq!(names, ["default", "work"]);
}

#[test]
fn closed_cards_are_shown_only_where_asked_for() {
    let house = House::new();
    let (open, done) = (house.card("open"), house.card("done"));
    house.task(Command::Complete { task: id(&done), result: None });
    let seqs = |closed| -> Vec<i64> {
        house.engine.board("default", closed).unwrap().cards.into_iter().map(|c| c.seq).collect()
    };
    assert_eq!(seqs(false), [open.seq]);
    assert_eq!(seqs(true), [open.seq, done.seq]);
    assert_eq!(house.engine.board("default", false).unwrap().closed, 1);
}

#[test]
fn a_card_carries_what_a_person_needs_to_see() {
    let house = House::new();
    let first = house.card("first");
    let new = NewTask {
        labels: vec!["security".into()],
        assignee: "claude".into(),
        source: "github".into(),
        priority: Some(2),
        after: vec![id(&first)],
        start: true,
        ..runnable("second")
    };
    house.task(Command::Create(Box::new(new)));
    let board = house.engine.board("default", false).unwrap();
    let card = board.cards.iter().find(|c| c.title == "second").unwrap();
    assert_eq!((card.priority, card.labels.as_slice()), (2, &["security".to_owned()][..]));
    assert_eq!(
        (card.assignee.as_str(), card.source.as_str(), card.executor.as_str()),
        ("claude", "github", "true")
    );
    assert_eq!(card.predecessors[0].seq, first.seq);
    assert_eq!(board.dispatcher, DispatcherState::Nobody);
    house.task(Command::Cancel { task: id(&first), reason: None });
    let board = house.engine.board("default", false).unwrap();
    assert_eq!(lamp(&board.cards[0], board.at_ms), Some(Lamp::Stuck), "nothing will ever wake it");
}

#[test]
fn why_names_what_holds_a_card() {
    let house = House::new();
    let task = house.job("x");
    let codes =
        || -> Vec<&str> { house.engine.why(&id(&task)).unwrap().into_iter().map(|r| r.code).collect() };
    assert_eq!(codes(), ["no_dispatcher"]);
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    player.running(&task);
    house.until(&task, TaskStatus::Running);
    assert_eq!(codes(), ["running"]);
    player.fail(&task, "exit 2: no such file");
    house.until(&task, TaskStatus::Failed);
    let reasons = house.engine.why(&id(&task)).unwrap();
    assert_eq!(reasons[0].text, "it failed: exit 2: no such file");
    assert!(reasons[0].fix.contains("andon retry 1"), "{}", reasons[0].fix);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn lists_are_pages_by_priority_and_number_and_filter() {
    let house = House::new();
    for n in 0..7 {
        let new = NewTask {
            title: format!("t{n}"),
            priority: Some(if n % 2 == 0 { 1 } else { 8 }),
            labels: if n == 3 { vec!["odd".into()] } else { vec![] },
            assignee: if n == 4 { "bob".into() } else { String::new() },
            ..NewTask::default()
        };
        house.task(Command::Create(Box::new(new)));
    }
    let mut seen = Vec::new();
    let mut filter = TaskFilter { limit: 3, ..TaskFilter::default() };
    loop {
        let page = house.engine.list(&filter).unwrap();
        seen.extend(page.items.iter().map(|t| t.seq));
        assert!(page.items.len() <= 3);
        match page.next_cursor {
            Some(cursor) => filter.cursor = Some(cursor),
            None => break,
        }
    }
    assert_eq!(seen, [1, 3, 5, 7, 2, 4, 6]);
    let count = |filter: TaskFilter| house.engine.list(&filter).unwrap().items.len();
    assert_eq!(count(TaskFilter { labels: vec!["odd".into()], ..Default::default() }), 1);
    assert_eq!(count(TaskFilter { assignee: Some("bob".into()), ..Default::default() }), 1);
    assert_eq!(count(TaskFilter { statuses: vec![TaskStatus::Running], ..Default::default() }), 0);
    assert_eq!(count(TaskFilter { board: Some("other".into()), ..Default::default() }), 0);
    assert!(house.engine.list(&TaskFilter { cursor: Some("x".into()), ..Default::default() }).is_err());
}

#[test]
fn a_change_by_another_process_is_heard() {
    let house = House::new();
    let other = andon::engine::Engine::open(&house.path()).unwrap();
    let mut changes = house.engine.changes();
    changes.mark_unchanged();
    let seen = house.engine.last_seq().unwrap();
    let heard = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| house.engine.wait_for_change(seen, super::fake::PATIENCE).unwrap());
        other
            .execute(
                Command::Create(Box::new(NewTask { title: "x".into(), ..NewTask::default() })),
                &andon::domain::Actor::operator("bob"),
            )
            .unwrap();
        waiter.join().unwrap()
    });
    assert!(heard);
}

#[test]
fn a_list_over_all_boards_is_in_one_order_and_its_pages_join() {
    let house = House::new();
    for n in 0..60i64 {
        let card = NewTask {
            title: format!("card {n}"),
            board: Some(format!("board {}", n % 7)),
            priority: Some((n * 5) % 9),
            labels: if n % 3 == 0 { vec!["third".into()] } else { Vec::new() },
            ..NewTask::default()
        };
        house.task(Command::Create(Box::new(card)));
    }
    for labels in [Vec::new(), vec!["third".to_owned()]] {
        let whole = TaskFilter { labels: labels.clone(), ..TaskFilter::default() };
        let whole: Vec<_> =
            house.engine.list(&whole).unwrap().items.iter().map(|task| (task.priority, task.seq)).collect();
        assert_eq!(whole.len(), if labels.is_empty() { 60 } else { 20 });
        assert!(whole.is_sorted());
        for limit in [1, 7, 19, 60, 100] {
            let mut filter = TaskFilter { labels: labels.clone(), limit, ..TaskFilter::default() };
            let mut joined = Vec::new();
            loop {
                let page = house.engine.list(&filter).unwrap();
                assert!(page.items.len() <= limit);
                joined.extend(page.items.iter().map(|task| (task.priority, task.seq)));
                filter.cursor = page.next_cursor;
                if filter.cursor.is_none() {
                    break;
                }
            }
            assert_eq!(joined, whole, "pages of {limit}");
        }
    }
}
