//! The keywords of the grammar, and which of them are reserved: they can be names only in quotes.
//!
//! One table makes the enum, its texts and the lookup by text. The lexer looks each word up once.

/// Makes the enum and its tables. A variant has the spelling of its word, so that the two cannot differ.
macro_rules! keywords {
    (reserved { $($reserved:ident)* } nonreserved { $($nonreserved:ident)* } other { $($other:ident)* }) => {
        /// A word of the grammar.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Keyword { $($reserved,)* $($nonreserved,)* $($other,)* }

        /// By number.
        const ALL: &[Keyword] =
            &[$(Keyword::$reserved,)* $(Keyword::$nonreserved,)* $(Keyword::$other,)*];

        /// By number, upper case.
        const TEXTS: &[&str] =
            &[$(stringify!($reserved),)* $(stringify!($nonreserved),)* $(stringify!($other),)*];

        const RESERVED: usize = [$(Keyword::$reserved,)*].len();
        const MYSQL: usize = RESERVED + [$(Keyword::$nonreserved,)*].len();
    };
}

// MySQL's keywords are those of `information_schema.keywords` of 8.0.33. The others are functions with a
// syntax of their own, and words of TiDB's statements.
keywords! {
    reserved {
        ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB BOTH BY
        CALL CASCADE CASE CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT
        CREATE CROSS CUBE CUME_DIST CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE
        DATABASES DAY_HOUR DAY_MICROSECOND DAY_MINUTE DAY_SECOND DEC DECIMAL DECLARE DEFAULT DELAYED DELETE
        DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF
        EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR
        FORCE FOREIGN FROM FULLTEXT FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS HAVING HIGH_PRIORITY
        HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE INNER INOUT INSENSITIVE INSERT
        INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS
        ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT
        LINEAR LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MASTER_BIND
        MASTER_SSL_VERIFY_SERVER_CERT MATCH MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT MIDDLEINT
        MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL
        NUMERIC OF ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER OUTFILE OVER PARTITION
        PERCENT_RANK PRECISION PRIMARY PROCEDURE PURGE RANGE RANK READ READS READ_WRITE REAL RECURSIVE
        REFERENCES REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE RESIGNAL RESTRICT RETURN REVOKE RIGHT RLIKE
        ROW ROWS ROW_NUMBER SCHEMA SCHEMAS SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL
        SMALLINT SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS
        SQL_SMALL_RESULT SSL STARTING STORED STRAIGHT_JOIN SYSTEM TABLE TERMINATED THEN TINYBLOB TINYINT
        TINYTEXT TO TRAILING TRIGGER TRUE UNDO UNION UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE
        UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER VARYING VIRTUAL WHEN WHERE WHILE WINDOW
        WITH WRITE XOR YEAR_MONTH ZEROFILL
    }
    nonreserved {
        ACCOUNT ACTION ACTIVE ADMIN AFTER AGAINST AGGREGATE ALGORITHM ALWAYS ANY ARRAY ASCII
        ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS AT ATTRIBUTE AUTHENTICATION AUTOEXTEND_SIZE AUTO_INCREMENT
        AVG AVG_ROW_LENGTH BACKUP BEGIN BINLOG BIT BLOCK BOOL BOOLEAN BTREE BUCKETS BULK BYTE CACHE CASCADED
        CATALOG_NAME CHAIN CHALLENGE_RESPONSE CHANGED CHANNEL CHARSET CHECKSUM CIPHER CLASS_ORIGIN CLIENT
        CLONE CLOSE COALESCE CODE COLLATION COLUMNS COLUMN_FORMAT COLUMN_NAME COMMENT COMMIT COMMITTED
        COMPACT COMPLETION COMPONENT COMPRESSED COMPRESSION CONCURRENT CONNECTION CONSISTENT
        CONSTRAINT_CATALOG CONSTRAINT_NAME CONSTRAINT_SCHEMA CONTAINS CONTEXT CPU CURRENT CURSOR_NAME DATA
        DATAFILE DATE DATETIME DAY DEALLOCATE DEFAULT_AUTH DEFINER DEFINITION DELAY_KEY_WRITE DESCRIPTION
        DIAGNOSTICS DIRECTORY DISABLE DISCARD DISK DO DUMPFILE DUPLICATE DYNAMIC ENABLE ENCRYPTION END ENDS
        ENFORCED ENGINE ENGINES ENGINE_ATTRIBUTE ENUM ERROR ERRORS ESCAPE EVENT EVENTS EVERY EXCHANGE
        EXCLUDE EXECUTE EXPANSION EXPIRE EXPORT EXTENDED EXTENT_SIZE FACTOR FAILED_LOGIN_ATTEMPTS FAST
        FAULTS FIELDS FILE FILE_BLOCK_SIZE FILTER FINISH FIRST FIXED FLUSH FOLLOWING FOLLOWS FORMAT FOUND
        FULL GENERAL GENERATE GEOMCOLLECTION GEOMETRY GEOMETRYCOLLECTION GET_FORMAT GET_MASTER_PUBLIC_KEY
        GET_SOURCE_PUBLIC_KEY GLOBAL GRANTS GROUP_REPLICATION GTID_ONLY HANDLER HASH HELP HISTOGRAM HISTORY
        HOST HOSTS HOUR IDENTIFIED IGNORE_SERVER_IDS IMPORT INACTIVE INDEXES INITIAL INITIAL_SIZE INITIATE
        INSERT_METHOD INSTALL INSTANCE INVISIBLE INVOKER IO IO_THREAD IPC ISOLATION ISSUER JSON JSON_VALUE
        KEYRING KEY_BLOCK_SIZE LANGUAGE LAST LEAVES LESS LEVEL LINESTRING LIST LOCAL LOCKED LOCKS LOGFILE
        LOGS MASTER MASTER_AUTO_POSITION MASTER_COMPRESSION_ALGORITHMS MASTER_CONNECT_RETRY MASTER_DELAY
        MASTER_HEARTBEAT_PERIOD MASTER_HOST MASTER_LOG_FILE MASTER_LOG_POS MASTER_PASSWORD MASTER_PORT
        MASTER_PUBLIC_KEY_PATH MASTER_RETRY_COUNT MASTER_SSL MASTER_SSL_CA MASTER_SSL_CAPATH MASTER_SSL_CERT
        MASTER_SSL_CIPHER MASTER_SSL_CRL MASTER_SSL_CRLPATH MASTER_SSL_KEY MASTER_TLS_CIPHERSUITES
        MASTER_TLS_VERSION MASTER_USER MASTER_ZSTD_COMPRESSION_LEVEL MAX_CONNECTIONS_PER_HOUR
        MAX_QUERIES_PER_HOUR MAX_ROWS MAX_SIZE MAX_UPDATES_PER_HOUR MAX_USER_CONNECTIONS MEDIUM MEMBER
        MEMORY MERGE MESSAGE_TEXT MICROSECOND MIGRATE MINUTE MIN_ROWS MODE MODIFY MONTH MULTILINESTRING
        MULTIPOINT MULTIPOLYGON MUTEX MYSQL_ERRNO NAME NAMES NATIONAL NCHAR NDB NDBCLUSTER NESTED
        NETWORK_NAMESPACE NEVER NEW NEXT NO NODEGROUP NONE NOWAIT NO_WAIT NULLS NUMBER NVARCHAR OFF OFFSET
        OJ OLD ONE ONLY OPEN OPTIONAL OPTIONS ORDINALITY ORGANIZATION OTHERS OWNER PACK_KEYS PAGE PARSER
        PARTIAL PARTITIONING PARTITIONS PASSWORD PASSWORD_LOCK_TIME PATH PERSIST PERSIST_ONLY PHASE PLUGIN
        PLUGINS PLUGIN_DIR POINT POLYGON PORT PRECEDES PRECEDING PREPARE PRESERVE PREV PRIVILEGES
        PRIVILEGE_CHECKS_USER PROCESS PROCESSLIST PROFILE PROFILES PROXY QUARTER QUERY QUICK RANDOM
        READ_ONLY REBUILD RECOVER REDO_BUFFER_SIZE REDUNDANT REFERENCE REGISTRATION RELAY RELAYLOG
        RELAY_LOG_FILE RELAY_LOG_POS RELAY_THREAD RELOAD REMOVE REORGANIZE REPAIR REPEATABLE REPLICA
        REPLICAS REPLICATE_DO_DB REPLICATE_DO_TABLE REPLICATE_IGNORE_DB REPLICATE_IGNORE_TABLE
        REPLICATE_REWRITE_DB REPLICATE_WILD_DO_TABLE REPLICATE_WILD_IGNORE_TABLE REPLICATION
        REQUIRE_ROW_FORMAT REQUIRE_TABLE_PRIMARY_KEY_CHECK RESET RESOURCE RESPECT RESTART RESTORE RESUME
        RETAIN RETURNED_SQLSTATE RETURNING RETURNS REUSE REVERSE ROLE ROLLBACK ROLLUP ROTATE ROUTINE
        ROW_COUNT ROW_FORMAT RTREE SAVEPOINT SCHEDULE SCHEMA_NAME SECOND SECONDARY SECONDARY_ENGINE
        SECONDARY_ENGINE_ATTRIBUTE SECONDARY_LOAD SECONDARY_UNLOAD SECURITY SERIAL SERIALIZABLE SERVER
        SESSION SHARE SHUTDOWN SIGNED SIMPLE SKIP SLAVE SLOW SNAPSHOT SOCKET SOME SONAME SOUNDS SOURCE
        SOURCE_AUTO_POSITION SOURCE_BIND SOURCE_COMPRESSION_ALGORITHMS SOURCE_CONNECTION_AUTO_FAILOVER
        SOURCE_CONNECT_RETRY SOURCE_DELAY SOURCE_HEARTBEAT_PERIOD SOURCE_HOST SOURCE_LOG_FILE SOURCE_LOG_POS
        SOURCE_PASSWORD SOURCE_PORT SOURCE_PUBLIC_KEY_PATH SOURCE_RETRY_COUNT SOURCE_SSL SOURCE_SSL_CA
        SOURCE_SSL_CAPATH SOURCE_SSL_CERT SOURCE_SSL_CIPHER SOURCE_SSL_CRL SOURCE_SSL_CRLPATH SOURCE_SSL_KEY
        SOURCE_SSL_VERIFY_SERVER_CERT SOURCE_TLS_CIPHERSUITES SOURCE_TLS_VERSION SOURCE_USER
        SOURCE_ZSTD_COMPRESSION_LEVEL SQL_AFTER_GTIDS SQL_AFTER_MTS_GAPS SQL_BEFORE_GTIDS SQL_BUFFER_RESULT
        SQL_NO_CACHE SQL_THREAD SQL_TSI_DAY SQL_TSI_HOUR SQL_TSI_MINUTE SQL_TSI_MONTH SQL_TSI_QUARTER
        SQL_TSI_SECOND SQL_TSI_WEEK SQL_TSI_YEAR SRID STACKED START STARTS STATS_AUTO_RECALC
        STATS_PERSISTENT STATS_SAMPLE_PAGES STATUS STOP STORAGE STREAM STRING SUBCLASS_ORIGIN SUBJECT
        SUBPARTITION SUBPARTITIONS SUPER SUSPEND SWAPS SWITCHES TABLES TABLESPACE TABLE_CHECKSUM TABLE_NAME
        TEMPORARY TEMPTABLE TEXT THAN THREAD_PRIORITY TIES TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TLS
        TRANSACTION TRIGGERS TRUNCATE TYPE TYPES UNBOUNDED UNCOMMITTED UNDEFINED UNDOFILE UNDO_BUFFER_SIZE
        UNICODE UNINSTALL UNKNOWN UNREGISTER UNTIL UPGRADE URL USER USER_RESOURCES USE_FRM VALIDATION VALUE
        VARIABLES VCPU VIEW VISIBLE WAIT WARNINGS WEEK WEIGHT_STRING WITHOUT WORK WRAPPER X509 XA XID XML
        YEAR ZONE
    }
    other {
        ADDDATE AUTO_RANDOM AUTO_RANDOM_BASE BIT_AND BIT_OR BIT_XOR CANCEL CAST CLUSTERED COUNT CURDATE
        CURTIME DATE_ADD DATE_FORMAT DATE_SUB DDL EXTRACT GROUP_CONCAT JOBS JSON_ARRAYAGG JSON_EXTRACT
        JSON_OBJECTAGG LOG MAX MID MIN NONCLUSTERED NOW OPTIMISTIC PESSIMISTIC POSITION PRE_SPLIT_REGIONS
        REGION REGIONS SESSION_USER SHARD_ROW_ID_BITS SPLIT STD STDDEV STDDEV_POP STDDEV_SAMP STR_TO_DATE
        ST_COLLECT SUBDATE SUBSTR SUBSTRING SUM SYSDATE SYSTEM_USER TABLESAMPLE TIDB TRIM VARIANCE VAR_POP
        VAR_SAMP VECTOR
    }
}

impl Keyword {
    /// The keyword that an unquoted word is, in any case of letters.
    #[inline]
    pub fn of(word: &[u8]) -> Option<Self> {
        let letters = Letters::of(word);
        let mut slot = letters.hash(word.len());
        loop {
            let number = usize::from(SLOTS[slot].checked_sub(1)?);
            if LETTERS[number] == letters && is_same(TEXTS[number], word) {
                return Some(ALL[number]);
            }
            slot = (slot + 1) % SLOT_COUNT;
        }
    }

    /// In upper case.
    pub fn text(self) -> &'static str {
        TEXTS[self as usize]
    }

    /// Whether the word can be a name only in quotes.
    pub fn is_reserved(self) -> bool {
        (self as usize) < RESERVED
    }

    /// Whether MySQL has it as a keyword, reserved or not.
    pub fn is_of_mysql(self) -> bool {
        (self as usize) < MYSQL
    }
}

/// MySQL's keywords and whether they are reserved: what `information_schema.keywords` shows, in no order.
pub fn of_mysql() -> impl Iterator<Item = (&'static str, bool)> {
    TEXTS[..MYSQL]
        .iter()
        .enumerate()
        .map(|(number, text)| (*text, number < RESERVED))
}

/// Whether a text is a word whose [`Letters`] are the same.
#[inline]
fn is_same(text: &str, word: &[u8]) -> bool {
    text.len() == word.len() && (word.len() <= 16 || text.as_bytes().eq_ignore_ascii_case(word))
}

/// The first and the last eight bytes of a word, in one letter case. Two words of the same length, up to 16,
/// with the same `Letters` differ at most in case. The mask clears only the bit of the case: it does not make
/// any two other bytes equal that names can contain.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Letters(u64, u64);

impl Letters {
    #[inline]
    const fn of(word: &[u8]) -> Self {
        const MASK: u64 = 0xdfdf_dfdf_dfdf_dfdf;
        if let (Some(first), Some(last)) = (word.first_chunk(), word.last_chunk()) {
            return Self(
                u64::from_le_bytes(*first) & MASK,
                u64::from_le_bytes(*last) & MASK,
            );
        }
        if let (Some(first), Some(last)) = (word.first_chunk(), word.last_chunk()) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            return Self((first as u64 | (last as u64) << 32) & MASK, 0);
        }
        let n = word.len();
        if n == 0 {
            return Self(0, 0);
        }
        let bytes = [word[0], word[n / 2], word[n - 1], 0];
        Self(u32::from_le_bytes(bytes) as u64 & MASK, 0)
    }

    #[inline]
    const fn hash(self, length: usize) -> usize {
        let mixed = self.0 ^ self.1.rotate_left(23) ^ length as u64;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOT_COUNT.ilog2())) as usize
    }
}

/// By number.
static LETTERS: [Letters; TEXTS.len()] = {
    let mut letters = [Letters(0, 0); TEXTS.len()];
    let mut number = 0;
    while number < TEXTS.len() {
        letters[number] = Letters::of(TEXTS[number].as_bytes());
        number += 1;
    }
    letters
};

const SLOT_COUNT: usize = 2048;

/// A hash table with linear probing, made at compile time: a keyword's number + 1, or 0.
static SLOTS: [u16; SLOT_COUNT] = {
    let mut slots = [0; SLOT_COUNT];
    let mut number = 0;
    while number < TEXTS.len() {
        let word = TEXTS[number].as_bytes();
        let mut slot = Letters::of(word).hash(word.len());
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOT_COUNT;
        }
        slots[slot] = number as u16 + 1;
        number += 1;
    }
    slots
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_by_its_text() {
        for (keyword, text) in ALL.iter().zip(TEXTS) {
            assert_eq!(Keyword::of(text.as_bytes()), Some(*keyword));
            assert_eq!(Keyword::of(text.to_ascii_lowercase().as_bytes()), Some(*keyword));
            assert_eq!(keyword.text(), *text);
        }
        for word in [
            "",
            "x",
            "selec",
            "selects",
            "\u{e9}",
            "s\u{c5}LECT",
            &"x".repeat(100),
        ] {
            assert_eq!(Keyword::of(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn reserved_words() {
        assert!(Keyword::SELECT.is_reserved() && Keyword::KEY.is_reserved());
        assert!(
            !Keyword::STATUS.is_reserved() && !Keyword::DATE.is_reserved() && !Keyword::COUNT.is_reserved()
        );
        assert_eq!(of_mysql().count(), 751);
    }
}
