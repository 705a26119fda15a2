//! Data in databases.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "destroy-rows",
        reason: "Data in databases is not removed to repair a service. Report what you found and leave it to a person.",
        matches: &[
            "psql -U shop -c 'DROP TABLE orders'",
            "docker exec db mysql -e 'truncate orders'",
            "sqlite3 app.db 'DELETE FROM jobs'",
            "echo 'drop database shop' | ssh root@db01 psql",
        ],
        differs: &[
            "psql -c 'SELECT * FROM orders'",
            "sqlite3 app.db 'DELETE FROM jobs WHERE id = 3'",
            "grep -r 'DROP TABLE' migrations",
            "psql -c \"SELECT 'drop table x'\"",
        ],
        ..RULE
    },
    DefaultRule {
        name: "flush-database",
        reason: "It empties a store or a queue at once. Name the one key or message that is in the way, or leave it to a person.",
        matches: &[
            "redis-cli -n 2 FLUSHDB",
            "docker exec redis redis-cli flushall",
            "mongosh shop --eval 'db.dropDatabase()'",
            "mongosh shop --eval 'db.orders.deleteMany({})'",
            "rabbitmqctl purge_queue ingest",
            "kafka-topics.sh --bootstrap-server kafka:9092 --delete --topic events",
        ],
        differs: &[
            "redis-cli DEL lock:import",
            "redis-cli DBSIZE",
            "mongosh shop --eval 'db.orders.deleteMany({id: 3})'",
            "rabbitmqctl list_queues",
            "kafka-topics.sh --list",
        ],
        ..RULE
    },
    DefaultRule {
        name: "database-accounts",
        reason: "Who may use a database is not changed to repair a service. Report what is missing and leave it to a person.",
        matches: &[
            "psql -c \"ALTER ROLE app PASSWORD 'x'\"",
            "mysql -e 'GRANT ALL ON app.* TO app'",
            "createuser --superuser ops",
            "rabbitmqctl change_password app x",
            "redis-cli ACL SETUSER app on",
        ],
        differs: &[
            "psql -c '\\du'",
            "mysql -e 'SHOW GRANTS FOR app'",
            "psql -c 'SELECT grantee FROM information_schema.role_table_grants'",
            "rabbitmqctl list_users",
            "redis-cli ACL LIST",
        ],
        ..RULE
    },
];
