-- What the removal of old tasks looks up. Both indexes are small: few tasks have a session, few events are about a
-- workflow and no task.

CREATE INDEX sessions_of_task ON sessions (task_seq);
CREATE INDEX events_of_workflow ON events (workflow_id) WHERE task_seq IS NULL AND workflow_id IS NOT NULL;
