//! The closed tables of statuses. Every change of a status anywhere in the house asks [`TaskStatus::allows`]
//!; nothing goes around it.

macro_rules! wire_enum {
    ($name:ident { $($variant:ident = $wire:literal),+ $(,)? }) => {
        impl $name {
            /// All of them, in the order of the board.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The lower-case word on every wire.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $wire),+ }
            }

            /// Reads the word in any case; `None` for anything else.
            pub fn parse(text: &str) -> Option<Self> {
                $(if text.eq_ignore_ascii_case($wire) { return Some($name::$variant); })+
                None
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                $name::parse(&text).ok_or_else(|| {
                    let known: Vec<&str> = $name::ALL.iter().map(|s| s.as_str()).collect();
                    serde::de::Error::custom(format!("`{text}` is not one of {}", known.join(", ")))
                })
            }
        }
    };
}
pub(crate) use wire_enum;

/// The nine statuses of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskStatus {
    /// Created, awaiting queue entry.
    #[default]
    Pending,
    /// Queued, awaiting execution.
    Queued,
    /// Executing now: exactly one active run.
    Running,
    /// Execution complete, awaiting a person's review.
    Review,
    /// Waits for something outside: a person, an answer.
    Blocked,
    /// Execution failed; ends the run, can be reopened by a retry.
    Failed,
    /// Paused by hand.
    Suspended,
    /// Completed; closed.
    Success,
    /// Cancelled; closed.
    Cancelled,
}

wire_enum!(TaskStatus {
    Pending = "pending",
    Queued = "queued",
    Running = "running",
    Review = "review",
    Blocked = "blocked",
    Failed = "failed",
    Suspended = "suspended",
    Success = "success",
    Cancelled = "cancelled",
});

impl TaskStatus {
    /// What may follow. This table is the whole truth.
    pub fn successors(self) -> &'static [TaskStatus] {
        use TaskStatus::*;
        match self {
            Pending => &[Queued, Cancelled],
            Queued => &[Running, Cancelled],
            Running => &[Review, Blocked, Failed, Suspended, Cancelled],
            Blocked => &[Queued, Running, Cancelled],
            Review => &[Success, Queued, Cancelled],
            Suspended => &[Queued, Running, Cancelled],
            Failed => &[Queued],
            Success | Cancelled => &[],
        }
    }

    /// Whether `to` may follow directly.
    pub fn allows(self, to: TaskStatus) -> bool {
        self.successors().contains(&to)
    }

    /// The run has ended: SUCCESS, FAILED or CANCELLED. A retry may still reopen FAILED.
    pub fn is_settled(self) -> bool {
        matches!(self, TaskStatus::Success | TaskStatus::Failed | TaskStatus::Cancelled)
    }

    /// Nothing can follow: SUCCESS or CANCELLED.
    pub fn is_closed(self) -> bool {
        self.successors().is_empty()
    }
}

/// The statuses of a workflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkflowStatus {
    /// Created, not started.
    #[default]
    Pending,
    /// Started, something can move.
    Running,
    /// Paused by a person.
    Waiting,
    /// Nothing moves until a person acts on a step.
    Blocked,
    /// Every step succeeded.
    Success,
    /// A step failed for good.
    Failed,
    /// Cancelled on request, or a step was.
    Cancelled,
}

wire_enum!(WorkflowStatus {
    Pending = "pending",
    Running = "running",
    Waiting = "waiting",
    Blocked = "blocked",
    Success = "success",
    Failed = "failed",
    Cancelled = "cancelled",
});

impl WorkflowStatus {
    /// What may follow.
    pub fn successors(self) -> &'static [WorkflowStatus] {
        use WorkflowStatus::*;
        match self {
            Pending => &[Running, Cancelled],
            Running => &[Waiting, Blocked, Success, Failed, Cancelled],
            Waiting => &[Running, Blocked, Success, Failed, Cancelled],
            Blocked => &[Running, Waiting, Success, Failed, Cancelled],
            Success | Failed | Cancelled => &[],
        }
    }

    /// Whether `to` may follow directly.
    pub fn allows(self, to: WorkflowStatus) -> bool {
        self.successors().contains(&to)
    }

    /// Nothing can follow.
    pub fn is_closed(self) -> bool {
        self.successors().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::TaskStatus::*;
    use super::*;

    #[test]
    fn there_are_exactly_nine_statuses_and_the_table_is_closed() {
        assert_eq!(TaskStatus::ALL.len(), 9);
        let table: &[(TaskStatus, &[TaskStatus])] = &[
            (Pending, &[Queued, Cancelled]),
            (Queued, &[Running, Cancelled]),
            (Running, &[Review, Blocked, Failed, Suspended, Cancelled]),
            (Blocked, &[Queued, Running, Cancelled]),
            (Review, &[Success, Queued, Cancelled]),
            (Suspended, &[Queued, Running, Cancelled]),
            (Failed, &[Queued]),
            (Success, &[]),
            (Cancelled, &[]),
        ];
        for (from, allowed) in table {
            for to in TaskStatus::ALL {
                assert_eq!(from.allows(*to), allowed.contains(to), "{from} to {to}");
            }
        }
    }

    #[test]
    fn failed_is_settled_but_only_success_and_cancelled_are_closed() {
        assert!(Failed.is_settled() && !Failed.is_closed());
        for status in TaskStatus::ALL {
            assert_eq!(status.is_closed(), matches!(status, Success | Cancelled));
        }
    }

    #[test]
    fn failed_to_queued_is_the_only_way_out_of_failed() {
        assert_eq!(Failed.successors(), &[Queued]);
        let into_queued: Vec<_> =
            TaskStatus::ALL.iter().filter(|s| s.is_settled() && s.allows(Queued)).collect();
        assert_eq!(into_queued, [&Failed]);
    }

    #[test]
    fn cancelled_is_reachable_from_every_status_that_is_not_settled() {
        for status in TaskStatus::ALL {
            assert_eq!(status.allows(Cancelled), !status.is_settled(), "{status}");
        }
    }

    #[test]
    fn workflow_table_lets_every_open_status_be_cancelled_and_nothing_leave_the_end() {
        for status in WorkflowStatus::ALL {
            assert_eq!(status.allows(WorkflowStatus::Cancelled), !status.is_closed(), "{status}");
        }
        assert!(WorkflowStatus::Failed.is_closed());
        assert!(WorkflowStatus::Running.allows(WorkflowStatus::Waiting));
        assert!(WorkflowStatus::Running.allows(WorkflowStatus::Blocked));
    }

    #[test]
    fn words_are_lower_case_and_read_in_any_case() {
        assert_eq!(TaskStatus::parse("SuCcEsS"), Some(Success));
        assert_eq!(serde_json::to_string(&Review).unwrap(), "\"review\"");
        assert!(serde_json::from_str::<TaskStatus>("\"done\"").is_err());
    }
}
