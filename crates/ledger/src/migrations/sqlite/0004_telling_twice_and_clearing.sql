-- A reset clears what was written down before it. The order of writing says what that is: times are whole
-- seconds, and a clock may be set back.
ALTER TABLE budget_resets ADD COLUMN last_action INTEGER NOT NULL DEFAULT 0;
UPDATE budget_resets SET last_action =
    (SELECT coalesce(max(id), 0) FROM cooldown_actions WHERE timestamp <= budget_resets.at);
ALTER TABLE hook_actions ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;

-- PreToolUse and SessionStart: the open reservations, without the history of settled ones.
CREATE INDEX hook_actions_open ON hook_actions(service, kind, expires_at) WHERE state = 'reserved';

-- Tool calls that have been told as run. One that is told again changes nothing, also when it only wrote an
-- event, such as a pull request.
CREATE TABLE hook_settled (
    id          INTEGER PRIMARY KEY,
    session_id  TEXT,
    tool_use_id TEXT NOT NULL,
    actions     TEXT NOT NULL,
    settled_at  TEXT NOT NULL
);

-- PostToolUse: whether a tool call has been told before.
CREATE INDEX hook_settled_by_call ON hook_settled(session_id, tool_use_id);
INSERT INTO hook_settled (session_id, tool_use_id, actions, settled_at)
    SELECT session_id, tool_use_id, '', max(settled_at) FROM hook_actions
    WHERE state IN ('done', 'failed') AND tool_use_id IS NOT NULL GROUP BY session_id, tool_use_id;
