-- The rows of the shared tables that opsctl wrote. Another writer's row of `cooldown_actions` may be a second record of an
-- action. `by_hand`: recorded with `opsctl cooldown record`.
CREATE TABLE recorded_actions (
    action_id  INTEGER PRIMARY KEY,
    session_id TEXT,
    by_hand    INTEGER NOT NULL
);

-- Stop: the recorded actions of one session.
CREATE INDEX recorded_actions_by_session ON recorded_actions(session_id);
INSERT OR IGNORE INTO recorded_actions (action_id, session_id, by_hand)
    SELECT cooldown_actions.id, hook_actions.session_id, 0 FROM hook_actions JOIN cooldown_actions
        ON cooldown_actions.service = hook_actions.service AND action_type = kind AND timestamp = settled_at
    WHERE state IN ('done', 'failed') AND counts;

-- The client's session of an event, where `events.session_id` holds the number of a session of the session manager.
CREATE TABLE recorded_events (
    event_id   INTEGER PRIMARY KEY,
    session_id TEXT,
    source     TEXT NOT NULL
);

-- The session manager cannot read the texts that earlier releases wrote to its columns of numbers.
INSERT INTO recorded_events (event_id, session_id, source)
    SELECT id, session_id, 'hook' FROM events WHERE typeof(session_id) = 'text'
        AND EXISTS (SELECT 1 FROM pragma_table_info('events') WHERE name = 'session_id' AND type = 'INTEGER');
UPDATE events SET session_id = NULL WHERE typeof(session_id) = 'text'
    AND EXISTS (SELECT 1 FROM pragma_table_info('events') WHERE name = 'session_id' AND type = 'INTEGER');
UPDATE cooldown_actions SET session_id = NULL WHERE typeof(session_id) = 'text'
    AND EXISTS (SELECT 1 FROM pragma_table_info('cooldown_actions') WHERE name = 'session_id' AND type = 'INTEGER');
