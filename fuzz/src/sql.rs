//! SQL text: the lexer, the normaliser that makes plan cache keys, and the parser.

use types::SqlMode;

pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for mode in modes() {
        if let Some(normalized) = syntax::normalize(&text, &mode, types::Collation::DEFAULT) {
            // The normaliser's output must lex again.
            drop(syntax::parse(&normalized.template.text, &mode));
            if let Some(values) = normalized.template.read(&text, &mode) {
                assert_eq!(values, normalized.params);
            }
        }
        drop(syntax::parse(&text, &mode));
    }
}

fn modes() -> [SqlMode; 2] {
    let plain = SqlMode::default();
    let odd = SqlMode {
        ansi_quotes: true,
        pipes_as_concat: true,
        no_backslash_escapes: true,
        ..plain
    };
    [plain, odd]
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
    seeds.push(format!("SELECT {}1{}", "(".repeat(3000), ")".repeat(3000)).into_bytes());
    seeds.push(format!("SELECT {}1", "NOT -".repeat(3000)).into_bytes());
    seeds.push(format!("SELECT * FROM t WHERE {}", vec!["a = 1"; 500].join(" OR ")).into_bytes());
    seeds.push(format!("SELECT 1 IN ({})", vec!["1"; 1000].join(", ")).into_bytes());
    seeds
}

const TEXTS: &[&str] = &[
    "SELECT a, COUNT(DISTINCT b) c FROM db.t WHERE x = 'it''s \\'' AND y BETWEEN -1.5e3 AND 0x1F GROUP BY 1 HAVING c > 2 ORDER BY c DESC LIMIT 5, 10 FOR UPDATE SKIP LOCKED",
    "INSERT IGNORE INTO t (a, b) VALUES (1, DEFAULT), (?, _utf8mb4'x' COLLATE utf8mb4_bin) ON DUPLICATE KEY UPDATE a = VALUES(a) + 1",
    "REPLACE INTO t SET a = b'101', c = DATE '2024-02-29' + INTERVAL '1:2' HOUR_MINUTE",
    "UPDATE `weird ``name` SET a = a + 1, b = CASE WHEN a THEN NULL ELSE ~a END WHERE a <=> NULL ORDER BY a LIMIT 3",
    "DELETE FROM t WHERE a LIKE 'x%' ESCAPE '!' OR NOT b RLIKE '^a' XOR c IS NOT TRUE",
    "CREATE TABLE IF NOT EXISTS t (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, a VARCHAR(20) CHARACTER SET latin1 DEFAULT 'x', b DECIMAL(10,2), c TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), PRIMARY KEY (id), UNIQUE KEY u (a(3), b DESC)) ENGINE=InnoDB COMMENT='c'",
    "ALTER TABLE t ADD COLUMN (x INT, y TEXT), DROP INDEX u, RENAME TO db.t2, AUTO_INCREMENT = 7",
    "SET @a := 1, SESSION sql_mode = 'ANSI', @@global.max_connections = 5, NAMES utf8mb4",
    "SHOW FULL COLUMNS FROM t FROM db LIKE 'a%'; KILL QUERY 5; ADMIN CHECK TABLE t, u",
    "START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT /* c */ -- d\n",
    "/*!40101 SET character_set_client = utf8 */; /*!99999 nothing */ # end",
    "CREATE USER 'a'@'%' IDENTIFIED WITH mysql_native_password BY 'p' ACCOUNT LOCK",
    "PREPARE s FROM 'SELECT ?'; EXECUTE s USING @x; DEALLOCATE PREPARE s",
    "SELECT * FROM t AS OF TIMESTAMP NOW() - INTERVAL 1 SECOND WHERE j->>'$.a' = \"x\"",
    "EXPLAIN FORMAT=TREE SELECT CAST(a AS SIGNED), CONVERT(b USING utf8mb4), SUBSTRING(c FROM 2 FOR 3), TRIM(LEADING 'x' FROM d) FROM t",
];
