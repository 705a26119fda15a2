//! Data in databases.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "destroy-rows",
        reason: "No repair needs to remove data from a database. Report what you found and leave it to an operator.",
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
        reason: "It empties a whole store or queue. Remove only the key or message that causes the problem, or leave it to an operator.",
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
        reason: "No repair needs to change the accounts or rights of a database. Report what is missing and leave it to an operator.",
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
