-- The first schema. Every table is STRICT; JSON columns are checked; times are milliseconds since 1970, UTC.

CREATE TABLE boards (
  id            TEXT NOT NULL PRIMARY KEY,
  created_at_ms INTEGER NOT NULL,
  defaults      TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(defaults))
) STRICT, WITHOUT ROWID;

INSERT INTO boards (id, created_at_ms) VALUES ('default', 0);

CREATE TABLE workflows (
  id               TEXT NOT NULL PRIMARY KEY,
  name             TEXT NOT NULL,
  board_id         TEXT NOT NULL REFERENCES boards (id),
  status           TEXT NOT NULL CHECK (status IN
                     ('pending','running','waiting','blocked','success','failed','cancelled')),
  started          INTEGER NOT NULL DEFAULT 0,
  paused           INTEGER NOT NULL DEFAULT 0,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  counts           TEXT NOT NULL CHECK (json_valid(counts)),
  definition       TEXT NOT NULL CHECK (json_valid(definition)),
  version          INTEGER NOT NULL,
  rerun_of         TEXT,
  created_at_ms    INTEGER NOT NULL,
  updated_at_ms    INTEGER NOT NULL,
  started_at_ms    INTEGER,
  finished_at_ms   INTEGER
) STRICT;
CREATE INDEX workflows_by_name ON workflows (name);
CREATE INDEX workflows_by_age ON workflows (created_at_ms);

CREATE TABLE tasks (
  seq               INTEGER PRIMARY KEY AUTOINCREMENT,
  id                TEXT NOT NULL UNIQUE,
  workflow_id       TEXT REFERENCES workflows (id),
  step_id           TEXT NOT NULL,
  parent_task_id    TEXT,
  board_id          TEXT NOT NULL REFERENCES boards (id),
  title             TEXT NOT NULL,
  description       TEXT NOT NULL,
  status            TEXT NOT NULL CHECK (status IN
                      ('pending','queued','running','review','blocked','failed','suspended','success','cancelled')),
  priority          INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
  labels            TEXT NOT NULL CHECK (json_valid(labels)),
  assignee          TEXT NOT NULL,
  source            TEXT NOT NULL,
  created_by        TEXT NOT NULL,
  session_id        TEXT NOT NULL,
  blocked_reason    TEXT NOT NULL,
  review_summary    TEXT NOT NULL,
  result            TEXT NOT NULL,
  error             TEXT NOT NULL,
  retry_count       INTEGER NOT NULL,
  max_retries       INTEGER NOT NULL,
  retry_max         INTEGER NOT NULL,
  dispatch          TEXT NOT NULL CHECK (dispatch IN ('auto','manual')),
  executor          TEXT CHECK (executor IS NULL OR json_valid(executor)),
  lane              TEXT NOT NULL,
  review_required   INTEGER NOT NULL,
  worktree          TEXT NOT NULL,
  worktree_state    TEXT NOT NULL,
  metadata          TEXT NOT NULL CHECK (json_valid(metadata)),
  version           INTEGER NOT NULL,
  epoch             INTEGER NOT NULL,
  current_run_id    TEXT,
  timeout_seconds   INTEGER,
  deadline_ms       INTEGER,
  time_left_ms      INTEGER,
  not_before_ms     INTEGER,
  open_predecessors INTEGER NOT NULL,
  held              INTEGER NOT NULL,
  run_next          INTEGER NOT NULL,
  since_ms          INTEGER NOT NULL,
  created_at_ms     INTEGER NOT NULL,
  updated_at_ms     INTEGER NOT NULL,
  queued_at_ms      INTEGER,
  started_at_ms     INTEGER,
  finished_at_ms    INTEGER,
  archived_at_ms    INTEGER
) STRICT;

-- The ready queue. The claim names it with INDEXED BY; nothing that is not ready is in it.
CREATE INDEX tasks_ready ON tasks (lane, run_next DESC, priority, queued_at_ms, seq)
  WHERE status = 'queued' AND dispatch = 'auto' AND open_predecessors = 0 AND held = 0
    AND not_before_ms IS NULL AND archived_at_ms IS NULL;
CREATE INDEX tasks_open ON tasks (board_id, priority, seq)
  WHERE status NOT IN ('success','cancelled') AND archived_at_ms IS NULL;
CREATE INDEX tasks_closed ON tasks (board_id, finished_at_ms)
  WHERE status IN ('success','cancelled') AND archived_at_ms IS NULL;
CREATE INDEX tasks_of_workflow ON tasks (workflow_id, seq) WHERE workflow_id IS NOT NULL;
CREATE INDEX tasks_of_parent ON tasks (parent_task_id) WHERE parent_task_id IS NOT NULL;
CREATE INDEX tasks_due ON tasks (not_before_ms) WHERE not_before_ms IS NOT NULL;
CREATE INDEX tasks_deadline ON tasks (deadline_ms) WHERE deadline_ms IS NOT NULL;

CREATE TABLE dependencies (
  task_seq INTEGER NOT NULL REFERENCES tasks (seq),
  on_seq   INTEGER NOT NULL REFERENCES tasks (seq),
  PRIMARY KEY (task_seq, on_seq),
  CHECK (task_seq <> on_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_on ON dependencies (on_seq, task_seq);

-- By task and number: the runs of neighbouring tasks lie side by side, so that draining a queue writes few pages.
CREATE TABLE runs (
  task_seq      INTEGER NOT NULL REFERENCES tasks (seq),
  number        INTEGER NOT NULL,
  id            TEXT NOT NULL,
  task_id       TEXT NOT NULL,
  epoch         INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  owner         TEXT NOT NULL,
  holder        TEXT,
  session_id    TEXT NOT NULL,
  lease_until_ms INTEGER,
  active_at_ms  INTEGER,
  started_at_ms INTEGER NOT NULL,
  ended_at_ms   INTEGER,
  deadline_ms   INTEGER,
  process       TEXT CHECK (process IS NULL OR json_valid(process)),
  closing_as    TEXT,
  closing_text  TEXT NOT NULL DEFAULT '',
  closing_self  INTEGER NOT NULL DEFAULT 0,
  outcome       TEXT,
  exit_code     INTEGER,
  exit_signal   INTEGER,
  note          TEXT NOT NULL DEFAULT '',
  parked        INTEGER NOT NULL DEFAULT 0,
  usage         TEXT CHECK (usage IS NULL OR json_valid(usage)),
  PRIMARY KEY (task_seq, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX runs_by_id ON runs (id);
-- At most one active run a task.
CREATE UNIQUE INDEX runs_active ON runs (task_seq) WHERE ended_at_ms IS NULL;
CREATE INDEX runs_held ON runs (holder) WHERE ended_at_ms IS NULL AND holder IS NOT NULL;
CREATE INDEX runs_closing ON runs (holder) WHERE ended_at_ms IS NULL AND closing_as IS NOT NULL;

CREATE TABLE waits (
  id            TEXT NOT NULL PRIMARY KEY,
  kind          TEXT NOT NULL CHECK (kind IN ('question')),
  purpose       TEXT NOT NULL,
  task_seq      INTEGER NOT NULL REFERENCES tasks (seq),
  task_id       TEXT NOT NULL,
  run_id        TEXT,
  body          TEXT NOT NULL,
  options       TEXT NOT NULL CHECK (json_valid(options)),
  asked_by      TEXT NOT NULL,
  asker_waits   INTEGER NOT NULL DEFAULT 0,
  state         TEXT NOT NULL CHECK (state IN ('open','answered','consumed','superseded','cancelled')),
  answer        TEXT NOT NULL DEFAULT '',
  delivered_to  TEXT,
  asked_at_ms   INTEGER NOT NULL,
  closed_at_ms  INTEGER
) STRICT;
CREATE INDEX waits_of_task ON waits (task_seq);
-- At most one open question a task.
CREATE UNIQUE INDEX waits_open ON waits (task_seq) WHERE kind = 'question' AND state = 'open';
CREATE INDEX waits_undelivered ON waits (task_seq) WHERE state = 'consumed' AND delivered_to IS NULL;

CREATE TABLE artifacts (
  id            INTEGER PRIMARY KEY,
  task_seq      INTEGER REFERENCES tasks (seq),
  kind          TEXT NOT NULL,
  reference     TEXT NOT NULL,
  detail        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(detail)),
  created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX artifacts_of_task ON artifacts (task_seq);

CREATE TABLE sessions (
  id            TEXT NOT NULL PRIMARY KEY,
  task_seq      INTEGER REFERENCES tasks (seq),
  facts         TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(facts)),
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last line is never deleted, so numbers are never used again.
CREATE TABLE events (
  seq         INTEGER PRIMARY KEY,
  at_ms       INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  actor       TEXT NOT NULL,
  task_seq    INTEGER,
  task_id     TEXT,
  workflow_id TEXT,
  run_id      TEXT,
  data        TEXT NOT NULL CHECK (json_valid(data)),
  patch       TEXT NOT NULL CHECK (json_valid(patch))
) STRICT;
CREATE INDEX events_of_task ON events (task_seq) WHERE task_seq IS NOT NULL;

CREATE TABLE dispatchers (
  id            TEXT NOT NULL PRIMARY KEY,
  pid           INTEGER NOT NULL,
  slots         INTEGER NOT NULL,
  draining      INTEGER NOT NULL DEFAULT 0,
  started_at_ms INTEGER NOT NULL,
  seen_at_ms    INTEGER NOT NULL,
  ended_at_ms   INTEGER
) STRICT, WITHOUT ROWID;
