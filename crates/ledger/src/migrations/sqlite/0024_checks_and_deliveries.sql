-- Checks of services: those that opsctl has made, and those that the agent states. A row is never changed.
CREATE TABLE service_checks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    service    TEXT NOT NULL,
    healthy    INTEGER NOT NULL,
    at         TEXT NOT NULL,
    session_id TEXT,
    agent      TEXT
);
-- The checks of a service since its last reset.
CREATE INDEX service_checks_by_service ON service_checks(service, id);

-- The checks that opsctl has made in a session that the ledger knows. Only they clear budgets. On a server, only the role of guards
-- adds them.
CREATE TABLE verified_checks (
    check_id INTEGER PRIMARY KEY
);

INSERT INTO service_checks (service, healthy, at, session_id)
    SELECT streak.service, consecutive_healthy > 0, last_checked_at, session_id
    FROM service_health_streak AS streak LEFT JOIN health_marks ON health_marks.service = streak.service
    WHERE typeof(last_checked_at) = 'text';
DROP TABLE health_marks;

-- The last reservation and the last check before a reset: both no longer count.
ALTER TABLE budget_resets ADD COLUMN last_reservation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budget_resets ADD COLUMN last_check INTEGER NOT NULL DEFAULT 0;
UPDATE budget_resets SET last_reservation = coalesce((
    SELECT max(id) FROM hook_actions WHERE hook_actions.service = budget_resets.service AND cleared), 0);
ALTER TABLE hook_actions DROP COLUMN cleared;

-- The requests of hooks to a guard that allowed a call: a hook sends its request again if the connection breaks, and no other hook
-- may use what was allowed.
CREATE TABLE allowed_requests (
    request     TEXT PRIMARY KEY,
    session_id  TEXT,
    tool_use_id TEXT NOT NULL,
    digest      TEXT NOT NULL,
    at          TEXT NOT NULL
) WITHOUT ROWID;

-- The user id of the peer whose records a session consists of; NULL: opsctl itself has recorded it.
ALTER TABLE client_runs ADD COLUMN peer INTEGER;

-- What became of a notice. Rows are only added: an attempt by any process, and the final result. On a server, only the role of guards
-- adds results; an agent states that it has sent a notice.
CREATE TABLE notice_attempts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    notice_id     INTEGER NOT NULL,
    at            TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'no_target')),
    claimed_until TEXT,
    error         TEXT,
    agent         TEXT
);
CREATE INDEX notice_attempts_by_notice ON notice_attempts(notice_id, id);
CREATE INDEX notice_attempts_claimed ON notice_attempts(claimed_until);
CREATE TABLE notice_deliveries (
    notice_id INTEGER PRIMARY KEY,
    at        TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('delivered', 'no_target')),
    remark    TEXT
);
INSERT INTO notice_deliveries (notice_id, at, state, remark)
    SELECT id, coalesce(delivered_at, created_at), state, last_error FROM notices WHERE state IN ('delivered', 'no_target');
INSERT INTO notice_attempts (notice_id, at, state, error, agent)
    SELECT id, created_at, state, last_error, agent FROM notices WHERE state = 'failed';
ALTER TABLE notices DROP COLUMN attempts;
ALTER TABLE notices DROP COLUMN claimed_until;
ALTER TABLE notices DROP COLUMN delivered_at;
ALTER TABLE notices DROP COLUMN last_error;

-- Notices with their state now.
CREATE VIEW notice_states AS
    SELECT notices.id, key, created_at, level, title, body, format, tags, notices.agent,
        coalesce(result.state, last.state, notices.state) AS state,
        (SELECT count(*) FROM notice_attempts AS claim WHERE claim.notice_id = notices.id AND claim.state = 'sending') AS attempts,
        CASE result.state WHEN 'delivered' THEN result.at END AS delivered_at,
        CASE WHEN result.state IS NULL THEN last.error ELSE result.remark END AS last_error
    FROM notices
        LEFT JOIN notice_deliveries AS result ON result.notice_id = notices.id
        LEFT JOIN notice_attempts AS last ON last.id = (SELECT max(id) FROM notice_attempts AS attempt WHERE attempt.notice_id = notices.id);
