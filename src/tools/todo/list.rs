//! The todo list of one session as a value: what it holds, and what may be done with it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::Refusal;
use crate::domain::id::{self, IdKind};
use crate::domain::refusal::RefusalClass;
use crate::domain::status::wire_enum;
use crate::domain::text::{self, one_line, shortened};
use crate::domain::time::{Millis, rfc3339};

/// The most items that a session may have; beyond this it is no list for thinking any more.
pub const ITEMS_LIMIT: usize = 1_000;

/// Where a todo stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being thought about.
    InProgress,
    /// Done.
    Done,
}

wire_enum!(TodoStatus { Pending = "pending", InProgress = "in_progress", Done = "done" });

impl TodoStatus {
    /// Reads the word, `completed` too, which other lists say for `done`.
    pub fn read(word: &str) -> Option<TodoStatus> {
        match word.eq_ignore_ascii_case("completed") {
            true => Some(TodoStatus::Done),
            false => TodoStatus::parse(word),
        }
    }
}

/// One item, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// `t_` and twelve characters.
    pub id: String,
    /// One line.
    pub title: String,
    /// Where it stands.
    #[serde(default)]
    pub status: TodoStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl Todo {
    /// The item as tools and verbs print it.
    pub fn record(&self) -> Value {
        let (created, updated) = (self.created_at.as_millisecond(), self.updated_at.as_millisecond());
        json!({
            "id": self.id,
            "title": self.title,
            "status": self.status,
            "created_at_ms": created,
            "created_at": rfc3339(created),
            "updated_at_ms": updated,
            "updated_at": rfc3339(updated),
        })
    }
}

/// What a new item is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTodo {
    /// One line; checked when it is added.
    pub title: String,
    /// Where it begins.
    pub status: TodoStatus,
}

/// All items of a session, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoList {
    /// The session, as it calls itself.
    pub session: String,
    /// The items.
    pub items: Vec<Todo>,
}

impl TodoList {
    /// Adds items, all or none; gives those that were added.
    pub fn add(
        &mut self,
        new: Vec<NewTodo>,
        now: Millis,
        mut random: impl FnMut() -> u64,
    ) -> Result<Vec<Todo>, Refusal> {
        if self.items.len() + new.len() > ITEMS_LIMIT {
            return Err(Refusal::state(
                "too_many_todos",
                format!(
                    "the session has {} todos and {} would be added, of at most {ITEMS_LIMIT}; delete what is \
                     done, or make tasks of them",
                    self.items.len(),
                    new.len()
                ),
            ));
        }
        let at = stamp(now);
        let mut added = Vec::new();
        for NewTodo { title, status } in new {
            let title = one_line(&text::title(&title)?);
            let id = loop {
                let id = id::render(IdKind::Task, random());
                if !self.items.iter().chain(&added).any(|item| item.id == id) {
                    break id;
                }
            };
            added.push(Todo { id, title, status, created_at: at, updated_at: at });
        }
        self.items.extend(added.iter().cloned());
        Ok(added)
    }

    /// Changes an item.
    pub fn update(
        &mut self,
        which: &str,
        status: Option<TodoStatus>,
        title: Option<&str>,
        now: Millis,
    ) -> Result<Todo, Refusal> {
        let title = title.map(|title| text::title(title).map(|title| one_line(&title))).transpose()?;
        let item = self.find(which)?;
        let item = &mut self.items[item];
        item.status = status.unwrap_or(item.status);
        if let Some(title) = title {
            item.title = title;
        }
        item.updated_at = stamp(now);
        Ok(item.clone())
    }

    /// Takes an item away for good.
    pub fn delete(&mut self, which: &str) -> Result<Todo, Refusal> {
        let item = self.find(which)?;
        Ok(self.items.remove(item))
    }

    /// The place of the item with this id, or with the only id that begins so.
    pub fn find(&self, which: &str) -> Result<usize, Refusal> {
        let which = which.trim().to_ascii_lowercase();
        let begins = |item: &Todo| which.len() > IdKind::Task.prefix().len() && item.id.starts_with(&which);
        let found: Vec<usize> =
            self.items.iter().enumerate().filter(|(_, item)| begins(item)).map(|(at, _)| at).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(self.not_here(&which)),
            many => {
                let ids: Vec<String> = many.iter().map(|at| self.items[*at].id.clone()).collect();
                Err(Refusal::ambiguous("todo", &which, &ids))
            }
        }
    }

    fn not_here(&self, which: &str) -> Refusal {
        let shown = shortened(&one_line(which), 60);
        let session = shortened(&one_line(&self.session), 60);
        Refusal {
            class: RefusalClass::NotFound,
            code: "not_found",
            message: format!("the session {session} has no todo `{shown}`; `todo list` shows what it has"),
            detail: json!({ "kind": "todo", "name": which }),
        }
    }
}

fn stamp(now: Millis) -> Timestamp {
    Timestamp::from_millisecond(now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(titles: &[&str]) -> TodoList {
        let mut list = TodoList { session: "s".into(), items: Vec::new() };
        let mut random = 0;
        let new = titles.iter().map(|title| NewTodo { title: (*title).into(), ..NewTodo::default() });
        list.add(new.collect(), 0, || {
            random += 1;
            random
        })
        .unwrap();
        list
    }

    #[test]
    fn items_are_added_all_or_none() {
        let mut list = list(&["one"]);
        let new = ["two", " "].map(|title| NewTodo { title: title.into(), ..NewTodo::default() });
        assert!(list.add(new.to_vec(), 0, || 9).is_err());
        let many = vec![NewTodo { title: "x".into(), ..NewTodo::default() }; ITEMS_LIMIT];
        assert_eq!(list.add(many, 0, || 9).unwrap_err().code, "too_many_todos");
        assert_eq!(list.items.len(), 1);
    }

    #[test]
    fn an_item_goes_by_its_id_or_the_only_one_that_begins_so() {
        let mut list = list(&["one", "two"]);
        let id = list.items[1].id.clone();
        assert_eq!(list.find(&id.to_uppercase()), Ok(1));
        assert_eq!(list.find("t_").unwrap_err().code, "not_found");
        assert_eq!(list.find("t_a").unwrap_err().code, "not_found");
        list.items[0].id = "t_xa0000000000".into();
        list.items[1].id = "t_xb0000000000".into();
        assert_eq!(list.find("t_x").unwrap_err().code, "ambiguous_id");
        assert_eq!(list.find("t_xb"), Ok(1));
    }

    #[test]
    fn a_new_id_is_never_one_that_is_there() {
        let mut list = list(&["one"]);
        let mut numbers = [1, 1, 2].into_iter();
        let new = vec![NewTodo { title: "two".into(), ..NewTodo::default() }];
        list.add(new, 0, || numbers.next().unwrap()).unwrap();
        assert_ne!(list.items[0].id, list.items[1].id);
    }

    #[test]
    fn completed_is_another_word_for_done() {
        assert_eq!(TodoStatus::read("Completed"), Some(TodoStatus::Done));
        assert_eq!(TodoStatus::read("IN_PROGRESS"), Some(TodoStatus::InProgress));
        assert_eq!(TodoStatus::read("finished"), None);
    }
}
