//! Queries that random choices would rarely produce: nothing to read, nothing to return, values at their
//! types' limits.

use super::table::COLUMNS;

pub fn queries() -> Vec<String> {
    let mut queries: Vec<String> = [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM none",
        "SELECT 1, 'a', NULL FROM t",
        "SELECT 1 FROM none",
        "SELECT NULL FROM t GROUP BY NULL",
        "SELECT DISTINCT 1 FROM t",
        "SELECT DISTINCT NULL FROM t",
        "SELECT COUNT(*) FROM t GROUP BY 1 + 1",
        "SELECT COUNT(*) FROM none GROUP BY v",
        "SELECT 1 FROM t HAVING 1 = 1 ORDER BY 1",
        "SELECT MAX(id) + MIN(id), COUNT(*) / 2 FROM t",
        "SELECT * FROM t ORDER BY id LIMIT 0",
        "SELECT * FROM t ORDER BY id LIMIT 5, 18446744073709551615",
        "SELECT * FROM t ORDER BY id LIMIT 18446744073709551615 OFFSET 2990",
        "SELECT * FROM t ORDER BY id LIMIT 10 OFFSET 18446744073709551615",
        "SELECT COUNT(*) FROM t LIMIT 0",
        "SELECT v, COUNT(*) FROM t GROUP BY v ORDER BY v LIMIT 0",
        "SELECT COUNT(*) FROM t HAVING COUNT(*) < 0",
        "SELECT COUNT(*) FROM t WHERE FALSE",
        "SELECT COUNT(*) FROM t WHERE NULL",
        "SELECT id FROM t WHERE 1 / 0 ORDER BY id",
        "SELECT COUNT(NULL), MAX(NULL), SUM(NULL), AVG(NULL) FROM t",
        "SELECT COUNT(DISTINCT NULL), COUNT(DISTINCT 1) FROM t",
        "SELECT COUNT(DISTINCT NULL) FROM t",
        "SELECT COUNT(DISTINCT 1) FROM none",
        "SELECT COUNT(1), SUM(1), MAX(1), MIN('a') FROM none",
        "SELECT ti, MAX(d1), COUNT(*), SUM(id) FROM t GROUP BY ti ORDER BY SUM(id) DESC, ti",
        "SELECT SUM(d4) + 1, -SUM(d4), SUM(d4) / 3, SUM(d4) > 0, CONCAT(SUM(d4)), ROUND(AVG(d4)) FROM t",
        "SELECT v, SUM(d4) FROM t GROUP BY v HAVING SUM(d4) > 0 ORDER BY SUM(d4), v LIMIT 5",
        "SELECT COUNT(DISTINCT v, c), COUNT(DISTINCT vb, id), COUNT(DISTINCT f, db) FROM t",
        "SELECT COUNT(DISTINCT v), COUNT(DISTINCT c), COUNT(DISTINCT l), COUNT(DISTINCT vy) FROM t",
        "SELECT v, COUNT(DISTINCT c), SUM(DISTINCT i), AVG(DISTINCT d1), SUM(d4) FROM t GROUP BY v",
        "SELECT SUM(db * 1e8) FROM t",
        "SELECT AVG(db * 1e8), ti FROM t GROUP BY ti",
        "SELECT SUM(bi), SUM(bu), AVG(bi), AVG(bu) FROM t",
        "SELECT SUM(d3), AVG(d3), MIN(d3), MAX(d3) FROM t",
        "SELECT SUM(d4), AVG(d4), MIN(d4), MAX(d4) FROM t",
        "SELECT SUM(DISTINCT d4), AVG(DISTINCT d3), COUNT(DISTINCT d4) FROM t",
        "SELECT SUM(i / 3), AVG(i / 7), SUM(d1 / 3) FROM t",
        "SELECT SUM(v), AVG(c), SUM(dt), AVG(tm), SUM(y) FROM t",
        "SELECT bi + 1 FROM t",
        "SELECT SUM(bi + bu) FROM t",
        "SELECT f, COUNT(*) FROM t GROUP BY f ORDER BY f",
        "SELECT DISTINCT db FROM t ORDER BY db DESC",
        "SELECT id, -db, 1 / db FROM t ORDER BY id",
        "SELECT ANY_VALUE(v), i FROM t GROUP BY i",
        "SELECT v, i, COUNT(*) AS n FROM t GROUP BY v, i HAVING n > 3 ORDER BY n DESC, v, i DESC",
        "SELECT UPPER(v) AS u, MIN(c), MAX(l) FROM t GROUP BY u ORDER BY u DESC",
        "SELECT COUNT(*) FROM t GROUP BY v, c, l, vb, tx",
        "SELECT id % 10 AS k, SUM(id) FROM t GROUP BY k ORDER BY SUM(id) DESC",
        "SELECT DISTINCT v, c FROM t WHERE i > 0 ORDER BY v, c LIMIT 20 OFFSET 10",
        "SELECT CAST(i AS CHAR) AS s, COUNT(*) FROM t GROUP BY s ORDER BY s",
        "SELECT IF(i > 0, 'more', 'less') AS s, AVG(i) FROM t GROUP BY s ORDER BY s",
        "SELECT @@stemdb_route IS NULL, COUNT(*) FROM t",
        "SELECT id FROM t WHERE v = 'A' AND c = 'ä' ORDER BY id DESC",
    ]
    .into_iter()
    .map(str::to_string)
    .collect();
    for name in COLUMNS.iter().map(|c| c.name) {
        queries.push(format!("SELECT {name}, COUNT(*) FROM t GROUP BY {name}"));
        queries.push(format!("SELECT DISTINCT {name} FROM t"));
        queries.push(format!(
            "SELECT MIN({name}), MAX({name}), COUNT({name}), COUNT(DISTINCT {name}) FROM t"
        ));
        queries.push(format!(
            "SELECT MIN({name}), MAX({name}), COUNT({name}) FROM none"
        ));
        queries.push(format!("SELECT SUM({name}), AVG({name}) FROM t"));
        queries.push(format!("SELECT SUM({name}), AVG(DISTINCT {name}) FROM none"));
        queries.push(format!("SELECT ti, MIN({name}), MAX({name}) FROM t GROUP BY ti"));
        queries.push(format!("SELECT id, {name} FROM t ORDER BY {name}, id"));
        queries.push(format!(
            "SELECT id, {name} FROM t ORDER BY {name} DESC, id DESC LIMIT 50 OFFSET 7"
        ));
    }
    queries
}
