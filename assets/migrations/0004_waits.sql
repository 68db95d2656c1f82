-- Everything that something waits for in one table, for a task or a work item; who wrote what a task runs with; timers,
-- and external events, of which the first of each name counts.

ALTER TABLE tasks ADD COLUMN written_by TEXT NOT NULL DEFAULT '';

ALTER TABLE waits RENAME TO earlier_waits;

CREATE TABLE waits (
  id            TEXT NOT NULL PRIMARY KEY,
  kind          TEXT NOT NULL CHECK (kind IN
                  ('question','approval','task_result','event','timer','system','message')),
  purpose       TEXT NOT NULL DEFAULT '',
  -- Who waits: a task, or a work item.
  task_seq      INTEGER REFERENCES tasks (seq),
  task_id       TEXT,
  item_id       TEXT,
  run_id        TEXT,
  -- What is waited for: a task, an event, a timer; of an approval the hash of the call.
  subject       TEXT NOT NULL DEFAULT '',
  body          TEXT NOT NULL,
  options       TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(options)),
  detail        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(detail)),
  asked_by      TEXT NOT NULL,
  asker_waits   INTEGER NOT NULL DEFAULT 0,
  state         TEXT NOT NULL CHECK (state IN ('open','answered','allowed','denied','triggered','consumed',
                  'superseded','cancelled','expired')),
  answer        TEXT NOT NULL DEFAULT '',
  delivered_to  TEXT,
  asked_at_ms   INTEGER NOT NULL,
  expires_at_ms INTEGER,
  closed_at_ms  INTEGER,
  CHECK ((task_seq IS NULL) <> (item_id IS NULL))
) STRICT;

INSERT INTO waits (id, kind, purpose, task_seq, task_id, run_id, body, options, asked_by, asker_waits, state, answer,
    delivered_to, asked_at_ms, closed_at_ms)
  SELECT id, kind, purpose, task_seq, task_id, run_id, body, options, asked_by, asker_waits, state, answer,
    delivered_to, asked_at_ms, closed_at_ms FROM earlier_waits;
DROP TABLE earlier_waits;

CREATE INDEX waits_of_task ON waits (task_seq) WHERE task_seq IS NOT NULL;
-- A task waits for one thing at a time.
CREATE UNIQUE INDEX waits_open ON waits (task_seq) WHERE state = 'open' AND task_seq IS NOT NULL;
CREATE INDEX waits_undelivered ON waits (task_seq) WHERE state = 'consumed' AND delivered_to IS NULL;
CREATE INDEX waits_for ON waits (kind, subject) WHERE state = 'open';
CREATE INDEX waits_expiring ON waits (expires_at_ms) WHERE state = 'open' AND expires_at_ms IS NOT NULL;

CREATE TABLE timers (
  id            TEXT NOT NULL PRIMARY KEY,
  name          TEXT NOT NULL,
  due_at_ms     INTEGER NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('open','triggered','cancelled')),
  created_by    TEXT NOT NULL,
  task_id       TEXT,
  created_at_ms INTEGER NOT NULL,
  closed_at_ms  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX timers_open ON timers (due_at_ms) WHERE state = 'open';

CREATE TABLE wakes (
  key           TEXT NOT NULL PRIMARY KEY,
  data          TEXT NOT NULL CHECK (json_valid(data)),
  by            TEXT NOT NULL,
  at_ms         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- To whom a question was shown, so that one that nobody has seen is known after a restart too.
CREATE TABLE deliveries (
  wait_id       TEXT NOT NULL,
  client        TEXT NOT NULL,
  at_ms         INTEGER NOT NULL,
  PRIMARY KEY (wait_id, client)
) STRICT, WITHOUT ROWID;
