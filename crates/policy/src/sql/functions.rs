//! Functions of SQL that only read.

/// The functions that a database may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Functions {
    /// Functions may have been added, and some built-in ones change something: only the listed ones read.
    Listed,
    /// Only built-in functions, few of which change something.
    BuiltIn,
}

impl Functions {
    /// Whether the word before a bracket is a function that reads, or not a function.
    pub(super) fn reads(self, name: &str) -> bool {
        let among = |list: &str| list.split_whitespace().any(|one| one == name);
        if among(NO_FUNCTIONS) {
            return true;
        }
        if self == Self::BuiltIn {
            return !among(CHANGING) && !name.starts_with("pg_");
        }
        let plain = name.strip_prefix("pg_catalog.").unwrap_or(name);
        let list = |list: &str| list.split_whitespace().any(|one| one == plain);
        list(READING) || PREFIXES.iter().any(|prefix| plain.starts_with(prefix))
    }
}

/// Keywords and types that may precede a bracket.
const NO_FUNCTIONS: &str = "
    in and or not as over filter using on exists any all some from join select where by then when else values with
    recursive case between like ilike interval lateral within group materialized union except intersect limit offset
    numeric decimal varchar char character varying timestamp timestamptz time bit nchar binary varbinary datetime float
    double int integer bigint real text is partition order window returning distinct explain analyze verbose table
    tablesample bernoulli rows cube rollup sets grouping similar escape match against end unnest json_table
";

/// Built-in functions of programs without others that change something.
const CHANGING: &str = "
    load_extension writefile edit fts3_tokenizer executable nextval setval checkpoint force_checkpoint postgres_execute
    mysql_execute sqlite_execute system shell generateserialid eval
";

/// Prefixes of functions of `PostgreSQL` that read.
const PREFIXES: &[&str] = &[
    "pg_get_",
    "pg_stat_get_",
    "pg_ls_",
    "pg_control_",
    "pg_snapshot_",
    "has_",
    "json_",
    "jsonb_",
    "regexp_",
    "st_",
    "ts_rank",
];

const READING: &str = "
    abs acos acosh age any_value approx_count_distinct ascii asin asinh atan atan2 atan2d atanh avg bin bit_and bit_count
    bit_length bit_or bit_xor bool_and bool_or broadcast btrim cardinality cast cbrt ceil ceiling char_length character_length chr
    clock_timestamp coalesce col_description collation compress concat concat_ws conv convert convert_from convert_to
    convert_tz corr cos cosd cosh cot count count_if covar_pop covar_samp crc32 cume_dist curdate current_catalog
    current_database current_date current_query current_role current_schema current_schemas current_setting current_time
    current_timestamp current_user curtime database datediff dateadd datepart day dayname dayofmonth dayofweek
    dayofyear decode degrees dense_rank div elt encode enum_first enum_last enum_range every exp export_set extract
    extractvalue factorial family field find_in_set first first_value floor format format_type formatreadablesize
    found_rows from_base64 from_days from_unixtime gcd generate_series generate_subscripts get_bit get_byte
    get_format getdate glob greatest group_concat hex histogram host hostmask hour hstore if ifnull iif inet_aton
    inet_ntoa inet6_aton inet6_ntoa inet_client_addr inet_client_port inet_merge inet_same_family inet_server_addr
    inet_server_port initcap instr interval_length is_ipv4 is_ipv6 isfinite isnull jsonb json json_extract
    json_unquote jsonb_pretty julianday justify_days justify_hours justify_interval lag last last_day last_insert_id
    last_value lcase lcm lead least left length ln localtime localtimestamp locate log log10 log2 lower lpad ltrim
    make_date make_interval make_set make_time make_timestamp make_timestamptz makedate maketime masklen max
    md5 median microsecond mid min minute mod mode month monthname name_const netmask network ntile nth_value now
    nullif num_nonnulls num_nulls numnode obj_description shobj_description oct octet_length ord overlay percent_rank
    percentile_cont percentile_disc period_add period_diff pi pg_backend_pid pg_blocking_pids pg_char_to_encoding
    pg_client_encoding pg_collation_for pg_collation_is_visible pg_column_compression pg_column_size
    pg_conf_load_time pg_current_logfile pg_current_snapshot pg_current_wal_flush_lsn pg_current_wal_insert_lsn
    pg_current_wal_lsn pg_current_xact_id_if_assigned pg_database_size pg_describe_object pg_encoding_to_char
    pg_filenode_relation pg_freespace pg_function_is_visible pg_has_role pg_hba_file_rules pg_identify_object
    pg_index_column_has_property pg_indexam_has_property pg_indexes_size pg_is_in_backup pg_is_in_recovery
    pg_is_other_temp_schema pg_is_wal_replay_paused pg_jit_available pg_last_committed_xact pg_last_wal_receive_lsn
    pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_listening_channels pg_lock_status
    pg_logical_slot_peek_changes pg_my_temp_schema pg_notification_queue_usage pg_options_to_table
    pg_postmaster_start_time pg_read_binary_file pg_read_file pg_relation_filenode pg_relation_filepath
    pg_relation_size pg_relpages pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_sequence_parameters
    pg_show_all_file_settings pg_show_all_settings pg_size_bytes pg_size_pretty pg_sleep pg_stat_file
    pg_stat_statements pg_stat_statements_info pg_table_is_visible pg_table_size pg_tablespace_databases
    pg_tablespace_location pg_tablespace_size pg_total_relation_size pg_trigger_depth pg_type_is_visible pg_typeof
    pg_visible_in_snapshot pg_wal_lsn_diff pg_walfile_name pg_walfile_name_offset pg_xact_commit_timestamp
    pg_buffercache_pages pg_buffercache_summary pgstattuple pgstattuple_approx pgstatindex phraseto_tsquery
    plainto_tsquery point position pow power printf quarter quote quote_ident quote_literal quote_nullable quotename
    radians rand random random_uuid range_agg rank regr_slope repeat replace reverse right round row row_count
    row_number row_to_json rpad rtrim schema scale sec_to_time second session_user set_bit set_byte setweight sha sha1
    sha2 sha224 sha256 sha384 sha512 sign sin sind sinh sleep soundex space split_part sqlite_version sqrt
    starts_with statement_timestamp std stddev stddev_pop stddev_samp str_to_date strcmp strftime strpos strip
    subdate adddate addtime subtime substr substring substring_index sum sysdate system_user tan tand tanh
    text timediff timeofday timestampadd timestampdiff timezone total total_changes transaction_timestamp translate
    trim trim_array trim_scale trunc truncate try_cast ts_headline ts_lexize tsvector_to_array txid_current_if_assigned
    txid_status typeof ucase uncompress unhex unicode unix_timestamp unixepoch updatexml upper user utc_date utc_time
    utc_timestamp uuid uuid_generate_v4 gen_random_uuid uuid_short var_pop var_samp variance version week weekday
    weekofyear width_bucket xmlagg xmlelement xmlforest xpath year yearweek datetime date time timestamp changes quantile
    aclexplode makeaclitem abbrev set_masklen similarity word_similarity levenshtein digest hmac crypt bit_length
    time_bucket first last hypertable_size hypertable_detailed_size chunks_detailed_size show_chunks
    approximate_row_count insert to_char to_date to_number to_timestamp to_json to_jsonb to_tsvector to_tsquery
    to_regclass to_regproc to_regtype to_regnamespace to_regrole to_hex to_ascii to_days to_seconds to_base64 array_agg
    array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions
    array_prepend array_remove array_replace array_to_string array_upper array_to_json string_agg string_to_array
    string_to_table date_part date_trunc date_format date_add date_sub date_bin date_diff time_format time_to_sec
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_change_are_not_listed() {
        for name in [
            "pg_reload_conf",
            "pg_terminate_backend",
            "setval",
            "nextval",
            "lo_import",
            "dblink_exec",
            "set_config",
            "x.count",
            "cron.schedule",
            "pg_advisory_lock",
            "get_lock",
        ] {
            assert!(!Functions::Listed.reads(name), "{name}");
        }
        for name in ["count", "pg_catalog.count", "pg_get_indexdef", "json_agg", "in"] {
            assert!(Functions::Listed.reads(name), "{name}");
        }
        assert!(
            Functions::BuiltIn.reads("formatreadablesize") && !Functions::BuiltIn.reads("load_extension")
        );
    }
}
