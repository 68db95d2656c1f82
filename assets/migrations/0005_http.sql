-- Answers kept under the Idempotency-Key of their requests, for a day.

CREATE TABLE answers (
  key         TEXT NOT NULL PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  about       TEXT NOT NULL,
  status      INTEGER,
  body        TEXT,
  at_ms       INTEGER NOT NULL
) STRICT;
CREATE INDEX answers_by_age ON answers (at_ms);
