import com.mysql.cj.jdbc.JdbcConnection;
import com.mysql.cj.jdbc.JdbcStatement;
import com.mysql.cj.jdbc.MysqlXADataSource;
import com.mysql.cj.jdbc.MysqlXid;
import java.io.ByteArrayInputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import javax.sql.XAConnection;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

/** What Connector/J does by itself, by its options: XA, rewritten batches, cursors, metadata, failover, local files. */
public class ConnectorApp {
    static final String DATABASE = "framework_connector";
    static final String ADDRESS = System.getenv("STEMDB_HOST") + ":" + System.getenv("STEMDB_PORT");

    interface Body {
        Object run(Connection c) throws Exception;
    }

    static Connection open(String options) throws SQLException {
        return DriverManager.getConnection(Steps.url(DATABASE, "connectionTimeZone=UTC&" + options), "root", "");
    }

    /** A step with a connection of its own. */
    static void step(String name, String options, Body body) {
        Steps.step(name, () -> {
            try (Connection c = open(options)) {
                return body.run(c);
            }
        });
    }

    static void run(Connection c, String... statements) throws SQLException {
        try (Statement s = c.createStatement()) {
            for (String sql : statements) s.execute(sql);
        }
    }

    static String rows(ResultSet rows) throws SQLException {
        List<String> all = new ArrayList<>();
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            List<String> row = new ArrayList<>();
            for (int i = 1; i <= columns; i++) {
                Object value = rows.getObject(i);
                row.add(value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value));
            }
            all.add(String.join(" ", row));
        }
        rows.close();
        return all.toString();
    }

    static String ask(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            return rows(s.executeQuery(sql));
        }
    }

    static String refused(Body body) throws Exception {
        try {
            return "done: " + body.run(null);
        } catch (XAException e) {
            return "XA " + e.errorCode + " " + e.getMessage();
        } catch (SQLException e) {
            return e.getClass().getSimpleName() + " " + e.getErrorCode() + " " + e.getSQLState() + " " + e.getMessage();
        }
    }

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        java.util.TimeZone.setDefault(java.util.TimeZone.getTimeZone("UTC"));
        try (var c = DriverManager.getConnection(Steps.url("", ""), "root", "")) {
            run(c, "DROP DATABASE IF EXISTS " + DATABASE, "CREATE DATABASE " + DATABASE);
        }
        try (var c = open("")) {
            run(c, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50), n DECIMAL(10,2), UNIQUE KEY by_v (v))",
                "CREATE TABLE parent (id INT PRIMARY KEY)", "INSERT INTO parent VALUES (1)",
                "CREATE TABLE child (id INT PRIMARY KEY, p_id INT NOT NULL COMMENT 'whose', CONSTRAINT of_parent FOREIGN KEY (p_id) REFERENCES parent (id) ON DELETE CASCADE)",
                "CREATE TABLE two (a INT, b VARCHAR(10), d DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), e ENUM('x','y') DEFAULT 'x', s SET('p','q'), "
                    + "g INT AS (a + 1) STORED, j JSON, u BIGINT UNSIGNED, bo TINYINT(1), bi BIT(4), ye YEAR, bl MEDIUMBLOB, tx TEXT CHARACTER SET latin1, f FLOAT, PRIMARY KEY (b, a), INDEX by_u (u DESC, a)) COMMENT 'two keys'",
                "CREATE VIEW v AS SELECT id, UPPER(v) AS big, n * 2 AS twice FROM t");
        }
        xa();
        batches();
        prepared();
        cursors();
        metadata();
        several();
        hosts();
        localFiles();
        results();
        sessions();
    }

    static MysqlXADataSource source() {
        MysqlXADataSource source = new MysqlXADataSource();
        source.setUrl(Steps.url(DATABASE, "connectionTimeZone=UTC"));
        source.setUser("root");
        source.setPassword("");
        return source;
    }

    static Xid xid(String name, String branch) {
        return new MysqlXid(name.getBytes(), branch.getBytes(), 7);
    }

    static List<String> recovered(XAResource resource) throws XAException {
        TreeSet<String> names = new TreeSet<>();
        for (Xid xid : resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN)) {
            String name = new String(xid.getGlobalTransactionId()) + "/" + new String(xid.getBranchQualifier());
            if (name.startsWith("connector")) names.add(name + "/" + xid.getFormatId());
        }
        return List.copyOf(names);
    }

    static void xa() {
        Steps.step("XA, two branches of one transaction", () -> {
            XAConnection a = source().getXAConnection();
            XAConnection b = source().getXAConnection();
            XAResource ra = a.getXAResource();
            XAResource rb = b.getXAResource();
            Xid one = xid("connector", "a");
            Xid two = xid("connector", "b");
            ra.start(one, XAResource.TMNOFLAGS);
            rb.start(two, XAResource.TMNOFLAGS);
            run(a.getConnection(), "INSERT INTO t (v) VALUES ('xa a')");
            run(b.getConnection(), "INSERT INTO t (v) VALUES ('xa b')");
            ra.end(one, XAResource.TMSUCCESS);
            rb.end(two, XAResource.TMSUCCESS);
            String votes = ra.prepare(one) + " " + rb.prepare(two);
            List<String> before = recovered(ra);
            ra.commit(one, false);
            rb.commit(two, false);
            String left = votes + " " + before + " " + recovered(rb);
            a.close();
            b.close();
            return left;
        });
        Steps.step("XA, states and errors", () -> {
            XAConnection a = source().getXAConnection();
            XAResource r = a.getXAResource();
            Xid one = xid("connector-errors", "a");
            List<String> all = new ArrayList<>();
            all.add(refused(c -> { r.end(one, XAResource.TMSUCCESS); return ""; }));
            r.start(one, XAResource.TMNOFLAGS);
            all.add(refused(c -> { r.start(one, XAResource.TMNOFLAGS); return ""; }));
            all.add(refused(c -> { run(a.getConnection(), "CREATE TABLE z (a INT)"); return ""; }));
            all.add(refused(c -> { run(a.getConnection(), "COMMIT"); return ""; }));
            all.add(refused(c -> r.prepare(one)));
            all.add(refused(c -> { r.end(one, XAResource.TMSUSPEND); return ""; }));
            all.add(refused(c -> { r.start(one, XAResource.TMRESUME); return ""; }));
            all.add(refused(c -> { r.end(one, XAResource.TMFAIL); return ""; }));
            all.add(refused(c -> { r.start(xid("connector-other", ""), XAResource.TMJOIN); return ""; }));
            all.add(refused(c -> { r.rollback(one); return ""; }));
            all.add(refused(c -> { r.commit(one, true); return ""; }));
            all.add(refused(c -> { r.forget(one); return ""; }));
            all.add(r.setTransactionTimeout(10) + " " + r.getTransactionTimeout());
            a.close();
            return all;
        });
        Steps.step("XA, nothing written", () -> {
            XAConnection a = source().getXAConnection();
            XAResource r = a.getXAResource();
            Xid one = xid("connector-read", "a");
            r.start(one, XAResource.TMNOFLAGS);
            String seen = ask(a.getConnection(), "SELECT COUNT(*) FROM t");
            r.end(one, XAResource.TMSUCCESS);
            int vote = r.prepare(one);
            r.rollback(one);
            a.close();
            return seen + " " + vote;
        });
        Steps.step("XA, the client is gone", () -> {
            XAConnection a = source().getXAConnection();
            Xid one = xid("connector-gone", "a");
            a.getXAResource().start(one, XAResource.TMNOFLAGS);
            run(a.getConnection(), "INSERT INTO t (v) VALUES ('gone')");
            a.getXAResource().end(one, XAResource.TMSUCCESS);
            a.getXAResource().prepare(one);
            a.close();
            XAConnection b = source().getXAConnection();
            List<String> seen = recovered(b.getXAResource());
            String before = ask(b.getConnection(), "SELECT COUNT(*) FROM t WHERE v = 'gone'");
            // Until the server has seen that the connection is closed, the branch is its.
            for (int i = 0; ; i++) {
                try {
                    b.getXAResource().commit(one, false);
                    break;
                } catch (XAException e) {
                    if (i > 100) throw e;
                    Thread.sleep(50);
                }
            }
            String after = ask(b.getConnection(), "SELECT COUNT(*) FROM t WHERE v = 'gone'");
            b.close();
            return seen + " " + before + " " + after;
        });
    }

    static String batch(PreparedStatement s) throws SQLException {
        try {
            return Arrays.toString(s.executeBatch());
        } catch (BatchUpdateException e) {
            return Arrays.toString(e.getUpdateCounts()) + " " + e.getErrorCode() + " " + e.getMessage();
        }
    }

    static void batches() {
        for (String options : List.of("rewriteBatchedStatements=false", "rewriteBatchedStatements=true", "rewriteBatchedStatements=true&useServerPrepStmts=true",
            "rewriteBatchedStatements=true&continueBatchOnError=false")) {
            step("batch of inserts, " + options, options, c -> {
                run(c, "DELETE FROM t", "ALTER TABLE t AUTO_INCREMENT = 1");
                try (PreparedStatement s = c.prepareStatement("INSERT INTO t (v, n) VALUES (?, ? + 1)", Statement.RETURN_GENERATED_KEYS)) {
                    for (int i = 0; i < 6; i++) {
                        s.setString(1, "it's \\ " + i);
                        s.setBigDecimal(2, new BigDecimal("1.25"));
                        s.addBatch();
                    }
                    return batch(s) + " " + rows(s.getGeneratedKeys()) + " " + ask(c, "SELECT v, n FROM t ORDER BY id LIMIT 2");
                }
            });
            step("batch with a duplicate, " + options, options, c -> {
                try (PreparedStatement s = c.prepareStatement("INSERT INTO t (v) VALUES (?)")) {
                    for (String v : List.of("d1", "d2", "d1", "d3")) {
                        s.setString(1, v);
                        s.addBatch();
                    }
                    return batch(s) + " " + ask(c, "SELECT v FROM t WHERE v LIKE 'd%' ORDER BY v");
                }
            });
            step("batch of upserts, " + options, options, c -> {
                try (PreparedStatement s = c.prepareStatement("INSERT INTO t (v, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = VALUES(n)", Statement.RETURN_GENERATED_KEYS)) {
                    for (int i = 0; i < 3; i++) {
                        s.setString(1, "u" + i % 2);
                        s.setInt(2, i);
                        s.addBatch();
                    }
                    return batch(s) + " " + ask(c, "SELECT v, n FROM t WHERE v LIKE 'u%' ORDER BY v");
                }
            });
            step("batch of updates, " + options, options, c -> {
                try (PreparedStatement s = c.prepareStatement("UPDATE t SET n = ? WHERE v LIKE ?")) {
                    for (String v : List.of("u%", "none", "d1", "u1", "%")) {
                        s.setInt(1, v.length());
                        s.setString(2, v);
                        s.addBatch();
                    }
                    return batch(s);
                }
            });
            step("batch of statements, " + options, options, c -> {
                try (Statement s = c.createStatement()) {
                    for (int i = 0; i < 5; i++) s.addBatch("DELETE FROM t WHERE v = 'u" + i + "'");
                    s.addBatch("INSERT INTO t (v) VALUES ('last')");
                    return Arrays.toString(s.executeBatch());
                }
            });
        }
    }

    static void prepared() {
        for (String options : List.of("useServerPrepStmts=false", "useServerPrepStmts=true")) {
            step("a table that changes under a statement, " + options, options, c -> {
                run(c, "DROP TABLE IF EXISTS p", "CREATE TABLE p (a INT, b VARCHAR(10))", "INSERT INTO p VALUES (1, 'x')");
                try (PreparedStatement s = c.prepareStatement("SELECT * FROM p WHERE a = ?")) {
                    s.setInt(1, 1);
                    String before = rows(s.executeQuery());
                    run(c, "ALTER TABLE p ADD COLUMN c DATE DEFAULT '2024-01-02' FIRST, MODIFY a BIGINT");
                    return before + " " + rows(s.executeQuery());
                }
            });
            step("parameters everywhere, " + options, options, c -> {
                try (PreparedStatement s = c.prepareStatement("SELECT ? + 1, CONCAT(?, ?), ? IS NULL, ? LIKE ?, CAST(? AS DATETIME(6)), ? IN (?, ?) FROM (SELECT 1) x WHERE ? = ? LIMIT ? OFFSET ?")) {
                    Object[] values = {41, "a", "ü😀", null, "abc", "a_c", LocalDateTime.of(2024, 2, 29, 1, 2, 3, 456000), 2L, 1, 2, new BigDecimal("1.50"), 1.5, 5, 0};
                    for (int i = 0; i < values.length; i++) s.setObject(i + 1, values[i]);
                    return rows(s.executeQuery());
                }
            });
            step("types of results, " + options, options, c -> {
                run(c, "DELETE FROM two", "INSERT INTO two VALUES (1, 'b', '2024-01-02 03:04:05.678', 'y', 'p,q', DEFAULT, '[1]', 18446744073709551615, 1, b'101', 2024, x'00ff', 'ä', 1.1)");
                try (PreparedStatement s = c.prepareStatement("SELECT *, a / 3, a = 1, NULL, 'x', 1.5, NOW() > 0, CAST(1 AS UNSIGNED), TIMEDIFF('3:0:0', '2:0:0') FROM two")) {
                    ResultSet rows = s.executeQuery();
                    ResultSetMetaData m = rows.getMetaData();
                    List<String> types = new ArrayList<>();
                    for (int i = 1; i <= m.getColumnCount(); i++) {
                        types.add(m.getColumnLabel(i) + " " + m.getColumnTypeName(i) + " " + m.getColumnClassName(i) + " " + m.getPrecision(i) + " " + m.getScale(i) + " "
                            + m.getColumnDisplaySize(i) + " " + m.isNullable(i) + m.isSigned(i) + m.isAutoIncrement(i) + m.isReadOnly(i) + " " + m.getTableName(i) + "." + m.getColumnName(i));
                    }
                    return types + rows(rows);
                }
            });
        }
        step("parameters' metadata", "useServerPrepStmts=true&generateSimpleParameterMetadata=true", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO t (v, n) VALUES (?, ?)")) {
                var m = s.getParameterMetaData();
                return m.getParameterCount() + " " + m.getParameterTypeName(1) + " " + s.getMetaData();
            }
        });
        step("a stream as a parameter", "useServerPrepStmts=true", c -> {
            run(c, "CREATE TABLE IF NOT EXISTS b (v LONGBLOB)", "DELETE FROM b");
            try (PreparedStatement s = c.prepareStatement("INSERT INTO b VALUES (?)")) {
                for (int i = 0; i < 2; i++) {
                    s.setBinaryStream(1, new ByteArrayInputStream(new byte[200_000]));
                    s.executeUpdate();
                }
            }
            return ask(c, "SELECT LENGTH(v), MD5(v) FROM b");
        });
    }

    static void cursors() {
        step("cursors side by side", "useCursorFetch=true", c -> {
            run(c, "DROP TABLE IF EXISTS many", "CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(20), b BLOB)",
                "INSERT INTO many WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n, CONCAT('v', n), REPEAT('x', n) FROM s");
            try (PreparedStatement one = c.prepareStatement("SELECT id, b FROM many ORDER BY id DESC"); PreparedStatement two = c.prepareStatement("SELECT v FROM many WHERE id > ? ORDER BY id")) {
                one.setFetchSize(10);
                two.setFetchSize(3);
                two.setInt(1, 990);
                ResultSet a = one.executeQuery();
                ResultSet b = two.executeQuery();
                long sum = 0;
                StringBuilder seen = new StringBuilder();
                while (a.next()) {
                    sum += a.getBytes(2).length;
                    if (b.next()) seen.append(b.getString(1));
                }
                return sum + " " + seen;
            }
        });
        step("a cursor over a commit and a change", "useCursorFetch=true", c -> {
            c.setAutoCommit(false);
            try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*), MAX(id) FROM many GROUP BY id % 300 ORDER BY id % 300")) {
                s.setFetchSize(7);
                ResultSet rows = s.executeQuery();
                int count = 0;
                while (rows.next()) {
                    if (count++ == 20) {
                        run(c, "DELETE FROM many WHERE id > 900");
                        c.commit();
                    }
                }
                return count + " " + ask(c, "SELECT COUNT(*) FROM many");
            }
        });
        step("a cursor left early", "useCursorFetch=true&defaultFetchSize=5", c -> {
            for (int i = 0; i < 3; i++) {
                try (Statement s = c.createStatement(); ResultSet rows = s.executeQuery("SELECT * FROM many")) {
                    rows.next();
                }
            }
            return ask(c, "SELECT 1");
        });
        step("what has no rows to fetch", "useCursorFetch=true&defaultFetchSize=5", c -> ask(c, "SHOW TABLES") + ask(c, "SELECT * FROM many WHERE id < 0"));
        step("rows one by one, the result left", "", c -> {
            try (Statement s = c.createStatement()) {
                s.setFetchSize(Integer.MIN_VALUE);
                try (ResultSet rows = s.executeQuery("SELECT * FROM many ORDER BY id")) {
                    rows.next();
                }
                return ask(c, "SELECT COUNT(*) FROM many");
            }
        });
        step("limits of rows and scrolling", "", c -> {
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
                s.setMaxRows(4);
                ResultSet rows = s.executeQuery("SELECT id FROM many ORDER BY id");
                rows.last();
                int last = rows.getInt(1);
                rows.absolute(-3);
                s.setMaxRows(0);
                return last + " " + rows.getInt(1) + " " + ask(c, "SELECT @@sql_select_limit");
            }
        });
    }

    static void metadata() {
        step("statistics", "", c -> ask(c, "ANALYZE TABLE t, two"));
        for (String options : List.of("useInformationSchema=true", "useInformationSchema=false", "useInformationSchema=true&databaseTerm=SCHEMA&tinyInt1isBit=false")) {
            metadata(options);
        }
        step("limits and functions", "", c -> {
            DatabaseMetaData m = c.getMetaData();
            return List.of(m.getDatabaseProductName(), m.getSQLKeywords().length(), m.getNumericFunctions().length(), m.supportsTransactionIsolationLevel(8), m.storesLowerCaseIdentifiers(),
                m.supportsMixedCaseIdentifiers(), m.getMaxColumnNameLength(), m.supportsGetGeneratedKeys(), m.getDefaultTransactionIsolation(), m.getIdentifierQuoteString(), m.nullsAreSortedLow());
        });
    }

    interface Listing {
        ResultSet of(DatabaseMetaData m, String catalog, String schema) throws SQLException;
    }

    static void metadata(String options) {
        boolean schemas = options.contains("SCHEMA");
        Listing[] listings = {
            (m, c, s) -> m.getTables(c, s, "%", null), (m, c, s) -> m.getTables(c, s, "t%", new String[] {"TABLE", "VIEW"}), (m, c, s) -> m.getColumns(c, s, "%", "%"),
            (m, c, s) -> m.getColumns(c, s, "t_o", "_"), (m, c, s) -> m.getPrimaryKeys(c, s, "two"), (m, c, s) -> m.getIndexInfo(c, s, "two", false, true),
            (m, c, s) -> m.getIndexInfo(c, s, "t", true, false), (m, c, s) -> m.getImportedKeys(c, s, "child"), (m, c, s) -> m.getExportedKeys(c, s, "parent"),
            (m, c, s) -> m.getCrossReference(c, s, "parent", c, s, "child"), (m, c, s) -> m.getBestRowIdentifier(c, s, "two", 2, true), (m, c, s) -> m.getVersionColumns(c, s, "two"),
            (m, c, s) -> m.getTablePrivileges(c, s, "t"), (m, c, s) -> m.getColumnPrivileges(c, s, "t", "%"), (m, c, s) -> m.getProcedures(c, s, "%"),
            (m, c, s) -> m.getProcedureColumns(c, s, "%", "%"), (m, c, s) -> m.getFunctions(c, s, "%"), (m, c, s) -> m.getTypeInfo(), (m, c, s) -> m.getTableTypes(), (m, c, s) -> m.getClientInfoProperties(),
        };
        String[] names = {"tables", "some tables", "columns", "some columns", "primary key", "indexes", "unique indexes", "imported keys", "exported keys", "cross reference", "row identifier",
            "version columns", "table privileges", "column privileges", "procedures", "procedure columns", "functions", "types", "table types", "client properties"};
        for (int i = 0; i < listings.length; i++) {
            Listing listing = listings[i];
            step("metadata, " + names[i] + ", " + options, options, c -> rows(listing.of(c.getMetaData(), schemas ? null : DATABASE, schemas ? DATABASE : null)));
        }
    }

    static String all(Statement s, boolean isRows) throws SQLException {
        List<String> all = new ArrayList<>();
        while (isRows || s.getUpdateCount() != -1) {
            all.add(isRows ? rows(s.getResultSet()) : String.valueOf(s.getUpdateCount()));
            isRows = s.getMoreResults();
        }
        return all.toString();
    }

    static void several() {
        step("several statements", "allowMultiQueries=true", c -> {
            try (Statement s = c.createStatement()) {
                return all(s, s.execute("INSERT INTO t (v) VALUES ('m1'), ('m2'); SELECT v FROM t WHERE v LIKE 'm_' ORDER BY v; UPDATE t SET n = 5 WHERE v = 'm1'; SELECT 1; DELETE FROM t WHERE v LIKE 'm_';"));
            }
        });
        step("several, one of them wrong", "allowMultiQueries=true", c -> {
            try (Statement s = c.createStatement()) {
                return refused(x -> s.execute("INSERT INTO p (a) VALUES (7); SELECT nothing; INSERT INTO p (a) VALUES (8)")) + ask(c, "SELECT a FROM p WHERE a > 5");
            }
        });
        step("several with parameters", "allowMultiQueries=true", c -> {
            try (PreparedStatement s = c.prepareStatement("SET @a = ?; SELECT @a + ?; SELECT ?")) {
                s.setInt(1, 4);
                s.setInt(2, 5);
                s.setString(3, "it's; SELECT 9");
                return all(s, s.execute());
            }
        });
        step("several are not allowed", "", c -> refused(x -> {
            run(c, "SELECT 1; SELECT 2");
            return "";
        }));
    }

    static String through(String url) throws SQLException {
        try (Connection c = DriverManager.getConnection(url, "root", "")) {
            String first = ask(c, "SELECT DATABASE()");
            c.setReadOnly(true);
            c.setAutoCommit(false);
            String second = ask(c, "SELECT @@session.transaction_read_only, @@autocommit");
            c.commit();
            c.setReadOnly(false);
            return first + second + ask(c, "SELECT COUNT(*) FROM child") + c.isValid(5);
        }
    }

    static void hosts() {
        String dead = "127.0.0.1:1";
        Steps.step("failover", () -> through("jdbc:mysql://" + dead + "," + ADDRESS + "/" + DATABASE + "?connectTimeout=2000&failOverReadOnly=false&secondsBeforeRetrySource=1&queriesBeforeRetrySource=2"));
        Steps.step("failover to read only", () -> refused(x -> {
            try (Connection c = DriverManager.getConnection("jdbc:mysql://" + dead + "," + ADDRESS + "/" + DATABASE + "?connectTimeout=2000", "root", "")) {
                return c.isReadOnly() + ask(c, "SELECT @@transaction_read_only") + refused(y -> {
                    run(c, "INSERT INTO child VALUES (1, 1)");
                    return "";
                });
            }
        }));
        Steps.step("load balancing", () -> through("jdbc:mysql:loadbalance://" + ADDRESS + "," + dead + "/" + DATABASE + "?connectTimeout=2000&loadBalanceStrategy=bestResponseTime&loadBalanceBlocklistTimeout=5000"));
        Steps.step("source and replicas", () -> through("jdbc:mysql:replication://" + ADDRESS + "," + ADDRESS + "/" + DATABASE));
        step("reconnect", "autoReconnect=true", c -> {
            String id = ask(c, "SELECT CONNECTION_ID()");
            try (Connection other = open("")) {
                run(other, "KILL " + id.replaceAll("\\D", ""));
            }
            // The first statement fails, or it is sent before the connection is closed; then the driver connects anew.
            for (int i = 0; i < 100; i++) {
                try {
                    if (!ask(c, "SELECT CONNECTION_ID()").equals(id)) return "a new connection";
                } catch (SQLException e) {
                    Thread.sleep(20);
                }
            }
            return "none";
        });
    }

    static void localFiles() {
        step("LOAD DATA LOCAL from a stream", "allowLoadLocalInfile=true", c -> {
            run(c, "DROP TABLE IF EXISTS l", "CREATE TABLE l (id INT PRIMARY KEY, v VARCHAR(5), d DATE)");
            try (Statement s = c.createStatement()) {
                String text = "id,v,d\n1,\"a,b\",2024-01-02\n2,\\N,\n3,\"too long\",2024-13-01\n1,again,2024-01-02\nx";
                s.unwrap(JdbcStatement.class).setLocalInfileInputStream(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
                int count = s.executeUpdate("LOAD DATA LOCAL INFILE 'ignored' INTO TABLE l FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' IGNORE 1 LINES (id, v, @d) SET d = NULLIF(@d, '')");
                return count + " " + ask(c, "SHOW WARNINGS") + ask(c, "SELECT id, v, CONCAT(d) FROM l ORDER BY id");
            }
        });
        step("LOAD DATA LOCAL from a file", "allowLoadLocalInfile=true&rewriteBatchedStatements=true", c -> {
            java.nio.file.Path file = java.nio.file.Files.createTempFile("stemdb", ".tsv");
            try (Statement s = c.createStatement()) {
                StringBuilder text = new StringBuilder();
                for (int i = 10; i < 50_010; i++) text.append(i).append("\tv\t2024-01-02\n");
                java.nio.file.Files.writeString(file, text);
                int count = s.executeUpdate("LOAD DATA LOCAL INFILE '" + file + "' REPLACE INTO TABLE l");
                return count + ask(c, "SELECT COUNT(*), SUM(id) FROM l");
            } finally {
                java.nio.file.Files.delete(file);
            }
        });
        step("a file that is not there", "allowLoadLocalInfile=true", c -> {
            String error = refused(x -> {
                run(c, "LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE l");
                return "";
            });
            return error.split("\\.")[0] + ask(c, "SELECT 1");
        });
        step("the driver does not allow it", "", c -> {
            String error = refused(x -> {
                run(c, "LOAD DATA LOCAL INFILE '/etc/hosts' INTO TABLE l");
                return "";
            });
            return error;
        });
    }

    static void results() {
        step("updatable results", "", c -> {
            run(c, "DELETE FROM t", "INSERT INTO t (id, v, n) VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE); ResultSet rows = s.executeQuery("SELECT id, v, n FROM t ORDER BY id")) {
                rows.next();
                rows.updateString("v", "A");
                rows.updateRow();
                rows.next();
                rows.deleteRow();
                rows.moveToInsertRow();
                rows.updateInt(1, 9);
                rows.updateString(2, "nine");
                rows.insertRow();
            }
            return ask(c, "SELECT * FROM t ORDER BY id");
        });
        step("found rows and changed rows", "", c -> updates(c));
        step("found rows and changed rows, useAffectedRows", "useAffectedRows=true", c -> updates(c));
        step("generated keys", "", c -> {
            try (Statement s = c.createStatement()) {
                s.executeUpdate("INSERT INTO t (v) VALUES ('k1'), ('k2'), ('k3')", Statement.RETURN_GENERATED_KEYS);
                String many = rows(s.getGeneratedKeys());
                s.executeUpdate("INSERT INTO t (v) VALUES ('k2') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = 3", Statement.RETURN_GENERATED_KEYS);
                String upsert = rows(s.getGeneratedKeys());
                s.executeUpdate("REPLACE INTO t (v) VALUES ('k3')", Statement.RETURN_GENERATED_KEYS);
                return many + upsert + rows(s.getGeneratedKeys());
            }
        });
        step("warnings", "", c -> {
            try (Statement s = c.createStatement()) {
                s.execute("INSERT IGNORE INTO child VALUES (1, 77), ('2x', 1)");
                List<String> all = new ArrayList<>();
                for (var w = s.getWarnings(); w != null; w = w.getNextWarning()) all.add(w.getErrorCode() + " " + w.getSQLState() + " " + w.getMessage());
                return all;
            }
        });
        step("zero dates", "zeroDateTimeBehavior=CONVERT_TO_NULL&sessionVariables=sql_mode=''&jdbcCompliantTruncation=false", c -> {
            run(c, "CREATE TABLE z (d DATE, dt DATETIME)", "INSERT INTO z VALUES ('0000-00-00', 0)");
            return ask(c, "SELECT d, dt, @@sql_mode FROM z");
        });
        step("time zones", "connectionTimeZone=%2B09:00&forceConnectionTimeZoneToSession=true&preserveInstants=true", c -> {
            try (PreparedStatement s = c.prepareStatement("SELECT ?, @@time_zone, UNIX_TIMESTAMP(?)")) {
                s.setTimestamp(1, Timestamp.valueOf("2024-01-02 03:04:05"));
                s.setTimestamp(2, Timestamp.valueOf("2024-01-02 03:04:05.25"));
                return rows(s.executeQuery());
            }
        });
    }

    static String updates(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            return s.executeUpdate("UPDATE t SET v = v") + " " + s.executeUpdate("INSERT INTO t (id, v) VALUES (1, 'A') ON DUPLICATE KEY UPDATE v = VALUES(v)") + " "
                + s.executeUpdate("INSERT INTO t (id, v) VALUES (1, 'A') ON DUPLICATE KEY UPDATE n = 55");
        }
    }

    static void sessions() {
        String variables = "SELECT @@character_set_client, @@collation_connection, @@character_set_results, @@sql_mode, @@autocommit, @@max_allowed_packet > 0, @@net_write_timeout > 0";
        step("variables of a session", "", c -> ask(c, variables));
        step("variables that are set", "characterEncoding=latin1&connectionCollation=latin1_german2_ci&sessionVariables=sql_mode='ANSI_QUOTES',@mine=7,group_concat_max_len=9&jdbcCompliantTruncation=false",
            c -> ask(c, variables) + ask(c, "SELECT @mine, @@group_concat_max_len, 'ä', HEX('ä')"));
        step("few questions", "useLocalSessionState=true&cacheServerConfiguration=true&useLocalTransactionState=true&elideSetAutoCommits=true&alwaysSendSetIsolation=false&enableQueryTimeouts=false", c -> {
            c.setAutoCommit(false);
            c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            run(c, "INSERT INTO t (v) VALUES ('gone')");
            c.rollback();
            c.setAutoCommit(true);
            return ask(c, "SELECT @@transaction_isolation, COUNT(*) FROM t WHERE v = 'gone'") + c.getCatalog() + c.getTransactionIsolation();
        });
        step("attributes of a connection", "connectionAttributes=program:tests,team:blue", c -> ask(c,
            "SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() AND attr_name IN ('program', 'team', '_client_name') ORDER BY 1"));
        step("a session is reset and changes its user", "", c -> {
            run(c, "SET @a = 1, autocommit = 0", "CREATE TEMPORARY TABLE te (a INT)");
            c.unwrap(JdbcConnection.class).resetServerState();
            String reset = ask(c, "SELECT @a, @@autocommit") + refused(x -> ask(c, "SELECT * FROM te"));
            c.unwrap(JdbcConnection.class).changeUser("root", "");
            return reset + ask(c, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)");
        });
        step("savepoints", "", c -> {
            c.setAutoCommit(false);
            run(c, "INSERT INTO t (v) VALUES ('s1')");
            var named = c.setSavepoint("here's");
            run(c, "INSERT INTO t (v) VALUES ('s2')");
            var other = c.setSavepoint();
            c.rollback(named);
            String seen = ask(c, "SELECT COUNT(*) FROM t WHERE v LIKE 's_'") + refused(x -> {
                c.rollback(other);
                return "";
            }).replaceAll("SAVEPOINT \\S+", "SAVEPOINT ...");
            c.rollback();
            return seen;
        });
        step("escapes", "", c -> ask(c, "SELECT {fn CONCAT('a', {fn UCASE('b')})}, {d '2024-01-02'}, {ts '2024-01-02 03:04:05'}, {t '10:11:12'}, {fn TIMESTAMPDIFF(SQL_TSI_DAY, {d '2024-01-01'}, {d '2024-03-01'})}, 1"));
        step("no TLS, compression", "sslMode=DISABLED&allowPublicKeyRetrieval=true&useCompression=true", c -> ask(c, "SELECT LENGTH(REPEAT('x', 100000)), MD5(REPEAT('xy', 100000))"));
    }
}
