-- The definition of a workflow in a table of its own: SQLite writes a row whole, and the row of a workflow is written
-- each time one of its steps moves.

CREATE TABLE definitions (
  workflow_id TEXT NOT NULL PRIMARY KEY REFERENCES workflows (id),
  definition  TEXT NOT NULL CHECK (json_valid(definition))
) STRICT;

INSERT INTO definitions (workflow_id, definition) SELECT id, definition FROM workflows;
ALTER TABLE workflows DROP COLUMN definition;
