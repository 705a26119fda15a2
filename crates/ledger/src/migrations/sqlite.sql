-- The ledger in a SQLite file, version 1.

-- The tables that opsctl shares with the session manager of Claude Ops. Where another program has created them, they stay as
-- they are. `session_id` is the number of a session of the session manager, or NULL: it cannot read a text there. The client's
-- session is in `recorded_events` and `recorded_actions`.
CREATE TABLE IF NOT EXISTS events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER,
    level      TEXT NOT NULL,
    service    TEXT,
    message    TEXT NOT NULL,
    created_at TEXT NOT NULL,
    source     TEXT
);
CREATE TABLE IF NOT EXISTS cooldown_actions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    service     TEXT NOT NULL,
    action_type TEXT NOT NULL,
    timestamp   TEXT NOT NULL,
    success     INTEGER NOT NULL,
    tier        INTEGER NOT NULL,
    error       TEXT,
    session_id  INTEGER
);
-- Healthy checks in a row, for other programs to read.
CREATE TABLE IF NOT EXISTS service_health_streak (
    service             TEXT PRIMARY KEY,
    consecutive_healthy INTEGER NOT NULL DEFAULT 0,
    last_checked_at     TEXT
);

-- The rows of the shared tables that opsctl wrote. Another writer's row of `cooldown_actions` may be a second record of an
-- action. `by_hand`: recorded with `opsctl cooldown record`. `agent`: several agents may share a ledger.
CREATE TABLE recorded_actions (
    action_id  INTEGER PRIMARY KEY,
    session_id TEXT,
    by_hand    INTEGER NOT NULL,
    agent      TEXT
);
-- Stop: the recorded actions of one session.
CREATE INDEX recorded_actions_by_session ON recorded_actions(session_id);

-- The client's session of an event, where `events.session_id` holds the number of a session of the session manager.
CREATE TABLE recorded_events (
    event_id   INTEGER PRIMARY KEY,
    session_id TEXT,
    source     TEXT NOT NULL,
    agent      TEXT
);

-- Every action that a hook allowed: reserved before it runs, settled when it has run. It holds what `cooldown_actions` has no
-- column for: the tool call, the verb, the host, and starts that close a stop (`counts` = 0, never copied to
-- `cooldown_actions`).
CREATE TABLE hook_actions (
    id          INTEGER PRIMARY KEY,
    session_id  TEXT,
    tool_use_id TEXT,
    service     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    verb        TEXT NOT NULL,
    host        TEXT,
    counts      INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('reserved', 'done', 'failed', 'unknown', 'released')),
    reserved_at TEXT NOT NULL,
    settled_at  TEXT,
    agent       TEXT,
    gate        TEXT
);
-- PreToolUse: the last verb of one service.
CREATE INDEX hook_actions_by_service ON hook_actions(service, kind, id);
-- PostToolUse and SessionEnd: what a tool call or a session has reserved.
CREATE INDEX hook_actions_by_session ON hook_actions(session_id, tool_use_id);
-- PreToolUse and SessionStart: the open reservations, without the history of settled ones.
CREATE INDEX hook_actions_open ON hook_actions(service, kind, reserved_at) WHERE state = 'reserved';
-- SessionStart and Stop: the actions that an operator or the next session has to look at.
CREATE INDEX hook_actions_overdue ON hook_actions(reserved_at) WHERE state = 'reserved';
CREATE INDEX hook_actions_unknown ON hook_actions(reserved_at) WHERE state = 'unknown';

-- Reports and Stop: the latest that have run.
CREATE INDEX hook_actions_settled ON hook_actions(settled_at);

-- Tool calls that have been reported as run. One that is reported again changes nothing, also when it only wrote an event,
-- such as a pull request.
CREATE TABLE hook_settled (
    id          INTEGER PRIMARY KEY,
    session_id  TEXT,
    tool_use_id TEXT NOT NULL,
    actions     TEXT NOT NULL,
    settled_at  TEXT NOT NULL
);
-- PostToolUse: whether a tool call has been reported before.
CREATE INDEX hook_settled_by_call ON hook_settled(session_id, tool_use_id);

-- The requests of hooks to a guard that allowed a call: a hook sends its request again if the connection breaks, and no other
-- hook may use what was allowed.
CREATE TABLE allowed_requests (
    request     TEXT PRIMARY KEY,
    session_id  TEXT,
    tool_use_id TEXT NOT NULL,
    digest      TEXT NOT NULL,
    at          TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX allowed_requests_by_time ON allowed_requests(at);

-- A service whose counters were cleared: by a person, or by two healthy checks. Earlier rows stay, and no longer count. The
-- order of rows determines which are earlier: times are whole seconds, and a clock may be set back.
CREATE TABLE budget_resets (
    id               INTEGER PRIMARY KEY,
    service          TEXT NOT NULL,
    at               TEXT NOT NULL,
    why              TEXT NOT NULL CHECK (why IN ('reset', 'healthy')),
    last_action      INTEGER NOT NULL DEFAULT 0,
    agent            TEXT,
    last_reservation INTEGER NOT NULL DEFAULT 0,
    last_check       INTEGER NOT NULL DEFAULT 0
);
-- PreToolUse: the last reset of one service.
CREATE INDEX budget_resets_by_service ON budget_resets(service, id);

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

-- The checks that opsctl has made in a session that the ledger knows. Only they clear budgets.
CREATE TABLE verified_checks (
    check_id INTEGER PRIMARY KEY
);

-- How the verifications ended that the Stop hook made: how often a session may still be blocked, and whether anything was
-- done since it was allowed to end.
CREATE TABLE verifications (
    id         INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    at         TEXT NOT NULL,
    outcome    TEXT NOT NULL CHECK (outcome IN ('healthy', 'unhealthy', 'given-up', 'confirmed', 'objected', 'reminded')),
    actions    INTEGER NOT NULL,
    agent      TEXT
);
-- Stop: those of one session.
CREATE INDEX verifications_by_session ON verifications(session_id, id);

-- Every decision, with the usage of the budgets at that time and the time that the hook took to decide. `effect` is what the
-- command does to the world: `reads`, `acts`, `changes` or `unknown`; NULL: no rule asked for it. With the verdict `operator`:
-- what a `person` has done with a verb of opsctl or at the desk. `entry` and `hash` chain the rows.
CREATE TABLE hook_decisions (
    id          INTEGER PRIMARY KEY,
    at          TEXT NOT NULL,
    session_id  TEXT,
    tool_use_id TEXT,
    tier        INTEGER,
    verdict     TEXT NOT NULL CHECK (verdict IN ('allow', 'deny', 'fail-open', 'fail-closed', 'operator', 'would deny')),
    rule        TEXT NOT NULL,
    actions     TEXT NOT NULL,
    services    TEXT NOT NULL,
    budgets     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    micros      INTEGER,
    effect      TEXT,
    agent       TEXT,
    command     TEXT NOT NULL DEFAULT '',
    hosts       TEXT NOT NULL DEFAULT '',
    person      TEXT,
    undo        TEXT,
    entry       INTEGER,
    hash        TEXT
);

-- The chain of `hook_decisions`: the number and the hash of the last decision, and of the last one that was deleted because it was old.
CREATE TABLE audit_head (
    id          INTEGER PRIMARY KEY,
    entries     INTEGER NOT NULL,
    hash        TEXT NOT NULL,
    pruned      INTEGER,
    pruned_hash TEXT
);

-- The audit: the latest decisions, of a session, of a verdict.
CREATE INDEX hook_decisions_by_time ON hook_decisions(at);
CREATE INDEX hook_decisions_by_call ON hook_decisions(session_id, tool_use_id);
CREATE INDEX hook_decisions_by_verdict ON hook_decisions(verdict, at);

-- The durations of the other hooks that write to the ledger.
CREATE TABLE hook_times (
    id     INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    event  TEXT NOT NULL,
    micros INTEGER NOT NULL,
    agent  TEXT
);

CREATE INDEX hook_times_by_time ON hook_times(at);

-- The sessions of the client. The `_us` columns are microseconds since 1970, from which the state follows. The latest of each
-- counts, in any order of writing.
CREATE TABLE hook_sessions (
    session_id        TEXT PRIMARY KEY,
    client_session_id TEXT,
    tier              INTEGER,
    mode              TEXT,
    role              TEXT,
    model             TEXT,
    source            TEXT,
    cwd               TEXT,
    transcript        TEXT,
    parent_mission    TEXT,
    process           TEXT,
    started_at        TEXT NOT NULL,
    last_seen_at      TEXT NOT NULL,
    ended_at          TEXT,
    end_reason        TEXT,
    state             TEXT NOT NULL CHECK (state IN ('active', 'tool_active', 'idle', 'ended')),
    status            TEXT,
    status_at         TEXT,
    reminded_at       TEXT,
    awake_us          INTEGER NOT NULL DEFAULT 0,
    idle_us           INTEGER NOT NULL DEFAULT 0,
    over_us           INTEGER NOT NULL DEFAULT 0,
    settled_us        INTEGER NOT NULL DEFAULT 0,
    -- The terminal in which it runs, for programs that write prompts to it.
    tmux_pane         TEXT,
    agent             TEXT
) WITHOUT ROWID;
-- `opsctl sessions`: the latest.
CREATE INDEX hook_sessions_by_sign ON hook_sessions(last_seen_at);

-- A session by the client's id, those of a mission, those that have not ended, and the names of agents.
CREATE INDEX hook_sessions_by_client ON hook_sessions(client_session_id);
CREATE INDEX hook_sessions_by_mission ON hook_sessions(parent_mission, last_seen_at) WHERE parent_mission IS NOT NULL;
CREATE INDEX hook_sessions_open ON hook_sessions(last_seen_at) WHERE state <> 'ended';
CREATE INDEX hook_sessions_by_agent ON hook_sessions(agent, last_seen_at);

-- The tool calls of the current turns. The beginning may be written after the end, so both are kept until the turn is over.
CREATE TABLE hook_calls (
    session_id  TEXT NOT NULL,
    tool_use_id TEXT NOT NULL,
    agent_id    TEXT,
    began_us    INTEGER,
    done        INTEGER NOT NULL,
    PRIMARY KEY (session_id, tool_use_id)
) WITHOUT ROWID;

-- The subagents of a session. `settled_us`: the tool calls of one that began until then are done.
CREATE TABLE hook_subagents (
    session_id TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    agent_type TEXT,
    started_at TEXT,
    ended_at   TEXT,
    settled_us INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, agent_id)
) WITHOUT ROWID;

-- The reminders that a session got: the level of its context, so that each is given once, and to report before it ends.
-- `reported_at`: it has, by a notification or a hand-over. `record_missing`: the client keeps no record of this session.
CREATE TABLE session_reminders (
    session_id      TEXT PRIMARY KEY,
    context_level   INTEGER NOT NULL DEFAULT 0,
    report_asked_at TEXT,
    reported_at     TEXT,
    changed_at      TEXT NOT NULL,
    record_missing  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX session_reminders_by_time ON session_reminders(changed_at);

-- The containers that engines have named for IDs. The host is empty for this machine.
CREATE TABLE engine_containers (
    host      TEXT NOT NULL,
    engine    TEXT NOT NULL,
    id        TEXT NOT NULL,
    container TEXT NOT NULL,
    seen_at   TEXT NOT NULL,
    -- PreToolUse and PostToolUse: the container of an ID or of its beginning.
    PRIMARY KEY (host, engine, id)
) WITHOUT ROWID;

-- The sessions that `opsctl session` started. One that is `running` after its deadline was cut off together with opsctl. One
-- that ends because a call waits for a person is `waiting`; when it is resumed, its row continues.
CREATE TABLE client_runs (
    id             INTEGER PRIMARY KEY,
    session_id     TEXT NOT NULL,
    tier           INTEGER NOT NULL,
    model          TEXT NOT NULL,
    started_at     TEXT NOT NULL,
    ended_at       TEXT,
    outcome        TEXT NOT NULL
        CHECK (outcome IN ('running', 'waiting', 'completed', 'failed', 'timeout', 'signalled', 'cut_off', 'not_started')),
    exit_code      INTEGER,
    cost_usd       REAL,
    turns          INTEGER,
    input_tokens   INTEGER,
    output_tokens  INTEGER,
    duration_ms    INTEGER,
    log_path       TEXT,
    -- The session that handed over to it, and the first session of the chain.
    parent_session TEXT,
    first_session  TEXT,
    -- When it was resumed last.
    resumed_at     TEXT,
    -- The client's id of the call that waits, and the SHA-256 of the transcript that was kept.
    waiting_call   TEXT,
    transcript     TEXT,
    agent          TEXT,
    -- The user id of the peer whose records the session consists of; NULL: opsctl itself has recorded it.
    peer           INTEGER
);
-- From a session's events to its log.
CREATE INDEX client_runs_by_session ON client_runs(session_id);
-- The sessions of a chain, for its cost.
CREATE INDEX client_runs_by_first_session ON client_runs(first_session);
-- Those that wait are looked for before each round, and while the entrypoint sleeps; those that run, by each session.
CREATE INDEX client_runs_by_outcome ON client_runs(outcome, tier);
-- The latest, those of a tier, and the names of agents.
CREATE INDEX client_runs_by_time ON client_runs(started_at, cost_usd);
CREATE INDEX client_runs_by_tier ON client_runs(tier);
CREATE INDEX client_runs_by_agent ON client_runs(agent, started_at);

-- Questions to a person: calls that the policy asks about instead of denying them. `actions` and `reasons` are JSON lists. An
-- approval is used once: `used_at` is set in the transaction that reserves the budgets of the call. `at_terminal`: the client
-- asks the person at the terminal.
CREATE TABLE questions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  TEXT NOT NULL,
    tool_use_id TEXT NOT NULL,
    digest      TEXT NOT NULL,
    command     TEXT NOT NULL,
    actions     TEXT NOT NULL,
    service     TEXT,
    reasons     TEXT NOT NULL,
    tier        INTEGER,
    words       TEXT,
    asked_at    TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    at_terminal INTEGER NOT NULL DEFAULT 0,
    used_at     TEXT,
    agent       TEXT,
    gate           TEXT
);
-- Before a call: the questions of its session.
CREATE INDEX questions_by_session ON questions(session_id, tool_use_id);
-- `opsctl approvals`, and the rate limits.
CREATE INDEX questions_by_time ON questions(asked_at);

-- The desk and `opsctl approvals`: those that are open.
CREATE INDEX questions_open ON questions(expires_at) WHERE used_at IS NULL;

-- The answers, at most one each. The signature covers all columns and the question.
CREATE TABLE question_answers (
    question_id INTEGER PRIMARY KEY,
    answer      TEXT NOT NULL CHECK (answer IN ('approve', 'refuse')),
    answered_by TEXT NOT NULL,
    answered_at TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    note        TEXT,
    signature   TEXT NOT NULL
);

-- Budgets that a person has given in advance. The signature covers all other columns.
CREATE TABLE grants (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    service    TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('restart', 'redeployment')),
    count      INTEGER NOT NULL,
    granted_by TEXT NOT NULL,
    granted_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    note       TEXT,
    signature  TEXT NOT NULL
);
-- Before an action that exceeds its budget.
CREATE INDEX grants_by_service ON grants(service, kind, expires_at);
-- `opsctl approvals`: all that hold now.
CREATE INDEX grants_by_time ON grants(expires_at);

-- The actions that used a grant. The use of a reservation that is released or expires is free again.
CREATE TABLE grant_uses (
    grant_id  INTEGER NOT NULL,
    action_id INTEGER NOT NULL,
    used_at   TEXT NOT NULL,
    PRIMARY KEY (grant_id, action_id)
) WITHOUT ROWID;

-- The agent that remediates a service now, if the policy lets only one of them do it at a time.
CREATE TABLE leases (
    service    TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    session_id TEXT,
    expires_at TEXT NOT NULL
) WITHOUT ROWID;

-- Messages to the operators: recorded by the process that raises them, delivered by a process of its own.
CREATE TABLE notices (
    id          INTEGER PRIMARY KEY,
    key         TEXT NOT NULL,
    quiet_until TEXT,
    session_id  TEXT,
    created_at  TEXT NOT NULL,
    level       TEXT NOT NULL,
    title       TEXT NOT NULL,
    body        TEXT NOT NULL,
    format      TEXT NOT NULL CHECK (format IN ('markdown', 'text')),
    tags        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'delivered', 'failed', 'no_target')),
    agent       TEXT
);
-- PreToolUse: whether the operators have been notified already.
CREATE INDEX notices_by_key ON notices(key, quiet_until);
-- SessionStart, flush: what has not been delivered.
CREATE INDEX notices_undelivered ON notices(created_at) WHERE state IN ('pending', 'sending', 'failed');

-- Attempts to deliver a notice, by any process, and the final result. Rows are only added.
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

-- The requests to the model that the guard has forwarded, with their cost in millionths of a US dollar. `estimated`: the
-- response did not state all tokens.
CREATE TABLE api_requests (
    id                    INTEGER PRIMARY KEY AUTOINCREMENT,
    at                    TEXT NOT NULL,
    session_id            TEXT NOT NULL,
    model                 TEXT NOT NULL,
    input_tokens          INTEGER NOT NULL,
    output_tokens         INTEGER NOT NULL,
    cache_write_tokens    INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    cache_read_tokens     INTEGER NOT NULL,
    web_searches          INTEGER NOT NULL,
    cost_micros           INTEGER NOT NULL,
    estimated             INTEGER NOT NULL,
    agent                 TEXT
);
-- Each request: the cost of the last 24 hours, and of its session.
CREATE INDEX api_requests_by_time ON api_requests(at, cost_micros);
CREATE INDEX api_requests_by_session ON api_requests(session_id, cost_micros);

-- The counters of the metrics: what the rows up to `counted_rows.up_to` count, whether or not they have been deleted since.
CREATE TABLE running_counts (
    counter TEXT NOT NULL,
    labels  TEXT NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (counter, labels)
) WITHOUT ROWID;
CREATE TABLE counted_rows (
    table_name TEXT PRIMARY KEY,
    up_to      INTEGER NOT NULL
) WITHOUT ROWID;

-- Logins at the desk, the page for people. The cookie itself is not stored, only its SHA-256 in hexadecimal.
CREATE TABLE desk_logins (
    digest     TEXT PRIMARY KEY,
    who        TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
);
-- The last check that the ledger can be written.
CREATE TABLE desk_check (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    checked_at TEXT NOT NULL
);
