import com.mysql.cj.jdbc.MysqlXADataSource;
import com.mysql.cj.jdbc.MysqlXid;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import javax.sql.XAConnection;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

/** Checks of a MySQL server through Connector/J. What is checked is listed in tests/clients/README.md. */
public class Checks {
    static final String DATABASE = "client_java";
    static final String ADDRESS = System.getenv("STEMDB_HOST") + ":" + System.getenv("STEMDB_PORT");

    interface Check {
        void run() throws Exception;
    }

    /** Both ways a driver may prepare: on its own side, then over the text protocol, or on the server's. */
    static final String CLIENT_SIDE = "useServerPrepStmts=false";
    static final String SERVER_SIDE = "useServerPrepStmts=true&cachePrepStmts=true";

    static boolean failed;

    public static void main(String[] args) {
        check("set up", Checks::setUp);
        check("caching_sha2_password over TLS", () -> login("java_tls", "sslMode=REQUIRED"));
        check("caching_sha2_password by RSA", () -> login("java_rsa", "sslMode=DISABLED&allowPublicKeyRetrieval=true"));
        check("caching_sha2_password, the fast way", () -> login("java_rsa", "sslMode=DISABLED"));
        check("FLUSH PRIVILEGES forgets verified passwords", Checks::forgetPasswords);
        check("sha256_password over TLS", () -> login("java_sha256", "sslMode=REQUIRED"));
        check("sha256_password by RSA", () -> login("java_sha256", "sslMode=DISABLED&allowPublicKeyRetrieval=true"));
        check("mysql_native_password", () -> login("java_native", "sslMode=DISABLED"));
        check("wrong password", Checks::wrongPassword);
        check("unknown database", () -> refused(() -> connect("root", "", "no_such_database", "").close(), 1049, "42000"));
        check("text statements", () -> statements(CLIENT_SIDE));
        check("prepared statements", () -> statements(SERVER_SIDE));
        check("types, text protocol", () -> types(CLIENT_SIDE));
        check("types, binary protocol", () -> types(SERVER_SIDE));
        check("batches", Checks::batches);
        check("rows one by one", Checks::streaming);
        check("cursors", Checks::cursors);
        check("metadata", Checks::metadata);
        check("transactions", Checks::transactions);
        check("XA", Checks::xa);
        check("errors", Checks::errors);
        check("several statements", Checks::severalStatements);
        check("big packets", () -> bigPackets("maxAllowedPacket=67108864"));
        check("compression", () -> bigPackets("maxAllowedPacket=67108864&useCompression=true"));
        check("kill", Checks::kill);
        check("timeouts", Checks::timeouts);
        System.exit(failed ? 1 : 0);
    }

    static void check(String name, Check check) {
        try {
            check.run();
            System.out.println("ok " + name);
        } catch (Throwable e) {
            failed = true;
            System.out.println("FAIL " + name + ": " + String.valueOf(e).replaceAll("\\s+", " "));
        }
    }

    static Connection connect(String user, String password, String database, String options) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        // No answer must not hang the tests.
        String common = "connectTimeout=60000&socketTimeout=60000&connectionTimeZone=UTC";
        return DriverManager.getConnection(
                "jdbc:mysql://" + ADDRESS + "/" + database + "?" + common + "&" + options, properties);
    }

    static Connection open(String options) throws SQLException {
        return connect("root", "", DATABASE, options);
    }

    static void setUp() throws Exception {
        try (Connection connection = connect("root", "", "", "")) {
            run(connection, "DROP DATABASE IF EXISTS client_java", "CREATE DATABASE client_java");
            for (String[] account : new String[][] {
                {"java_tls", "caching_sha2_password"}, {"java_rsa", "caching_sha2_password"},
                {"java_sha256", "sha256_password"}, {"java_native", "mysql_native_password"}}) {
                String user = account[0];
                String plugin = account[1];
                run(connection,
                        "DROP USER IF EXISTS '" + user + "'@'%'",
                        "CREATE USER '" + user + "'@'%' IDENTIFIED WITH " + plugin + " BY 'sesame'",
                        "GRANT ALL ON client_java.* TO '" + user + "'@'%'");
            }
        }
    }

    static void login(String user, String options) throws Exception {
        try (Connection connection = connect(user, "sesame", DATABASE, options)) {
            equal(one(connection, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), user);
            try (ResultSet rows = connection.createStatement().executeQuery("SHOW STATUS LIKE 'Ssl_cipher'")) {
                rows.next();
                equal(!rows.getString(2).isEmpty(), options.contains("REQUIRED"));
            }
        }
    }

    /** A login without TLS and without the server's key works only while the server has the password's digest. */
    static void forgetPasswords() throws Exception {
        String fast = "sslMode=DISABLED&allowPublicKeyRetrieval=false";
        login("java_rsa", fast);
        try (Connection root = connect("root", "", DATABASE, "")) {
            run(root, "FLUSH PRIVILEGES");
        }
        try {
            login("java_rsa", fast);
        } catch (SQLException e) {
            equal(e.getMessage(), "Public Key Retrieval is not allowed");
            login("java_rsa", "sslMode=DISABLED&allowPublicKeyRetrieval=true");
            login("java_rsa", fast);
            return;
        }
        throw new AssertionError("the password is still known");
    }

    static void wrongPassword() throws Exception {
        for (String user : List.of("java_rsa", "java_sha256", "java_native", "nobody_here")) {
            refused(() -> connect(user, "wrong", DATABASE, "allowPublicKeyRetrieval=true").close(), 1045, "28000");
        }
    }

    static void statements(String options) throws Exception {
        try (Connection connection = open(options)) {
            run(connection, "DROP TABLE IF EXISTS s", "CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50))");
            try (PreparedStatement insert = connection.prepareStatement(
                    "INSERT INTO s (v) VALUES (?), (?)", Statement.RETURN_GENERATED_KEYS)) {
                insert.setString(1, "it's \\ \"x\"");
                insert.setNull(2, java.sql.Types.VARCHAR);
                equal(insert.executeUpdate(), 2);
                ResultSet keys = insert.getGeneratedKeys();
                keys.next();
                equal(keys.getLong(1), 1L);
            }
            try (PreparedStatement update = connection.prepareStatement("UPDATE s SET v = ? WHERE id = ?")) {
                for (int i = 0; i < 5; i++) {
                    update.setString(1, "again " + i);
                    update.setInt(2, 2);
                    equal(update.executeUpdate(), 1);
                }
            }
            try (PreparedStatement select = connection.prepareStatement("SELECT id, v FROM s WHERE id >= ? ORDER BY id")) {
                for (int from = 1; from <= 3; from++) {
                    select.setInt(1, from);
                    int count = 0;
                    try (ResultSet rows = select.executeQuery()) {
                        while (rows.next()) {
                            equal(rows.getString("v"), rows.getInt(1) == 1 ? "it's \\ \"x\"" : "again 4");
                            count++;
                        }
                    }
                    equal(count, 3 - from);
                }
            }
            equal(connection.isValid(5), true);
        }
    }

    static void types(String options) throws Exception {
        Object[][] typed = {
            {"TINYINT", -128, "-128"}, {"TINYINT UNSIGNED", 255, "255"}, {"SMALLINT", -32768, "-32768"},
            {"MEDIUMINT", 8388607, "8388607"}, {"INT", Integer.MIN_VALUE, "-2147483648"},
            {"INT UNSIGNED", 4294967295L, "4294967295"}, {"BIGINT", Long.MIN_VALUE, "-9223372036854775808"},
            {"BIGINT UNSIGNED", new BigDecimal("18446744073709551615"), "18446744073709551615"},
            {"BOOL", true, "true"},
            {"DECIMAL(65,30)", new BigDecimal("12345678901234567890123456789012345.123456789012345678901234567890"),
                "12345678901234567890123456789012345.123456789012345678901234567890"},
            {"DECIMAL(10,2)", new BigDecimal("-0.05"), "-0.05"},
            {"FLOAT", 1.5f, "1.5"}, {"DOUBLE", -2.25e300, "-2.25E300"},
            {"CHAR(5)", "äöü", "äöü"}, {"VARCHAR(100)", "😀 it's \\ \"text\"\n ", "😀 it's \\ \"text\"\n "},
            {"BINARY(4)", new byte[] {0, -1}, "[0, -1, 0, 0]"}, {"VARBINARY(10)", new byte[] {0, -1, 10}, "[0, -1, 10]"},
            {"TINYTEXT", "tiny", "tiny"}, {"TEXT", "t".repeat(60000), "t".repeat(60000)},
            {"MEDIUMTEXT", "m".repeat(70000), "m".repeat(70000)}, {"LONGTEXT", "", ""},
            {"BLOB", new byte[] {-34, -83}, "[-34, -83]"}, {"LONGBLOB", new byte[0], "[]"},
            {"DATE", LocalDate.of(2024, 2, 29), "2024-02-29"},
            {"DATETIME", LocalDateTime.of(2024, 2, 29, 23, 59, 59), "2024-02-29T23:59:59"},
            {"DATETIME(6)", LocalDateTime.of(2024, 2, 29, 23, 59, 59, 123456000), "2024-02-29T23:59:59.123456"},
            {"TIMESTAMP NULL", Timestamp.valueOf("2024-02-29 12:00:00"), "2024-02-29 12:00:00.0"},
            {"TIME", "23:59:59", "23:59:59"}, {"TIME(3)", "12:34:56.789", "12:34:56.789"},
            {"YEAR", 2155, "2155"}, {"JSON", "{\"a\": [1, null]}", "{\"a\": [1, null]}"},
            {"INT", null, "null"}, {"VARCHAR(10)", null, "null"}, {"DATETIME", null, "null"},
        };
        try (Connection connection = open(options + "&yearIsDateType=false")) {
            List<String> columns = new ArrayList<>();
            for (int i = 0; i < typed.length; i++) {
                columns.add("c" + i + " " + typed[i][0]);
            }
            run(connection, "DROP TABLE IF EXISTS ty", "CREATE TABLE ty (" + String.join(", ", columns) + ")");
            String marks = String.join(", ", java.util.Collections.nCopies(typed.length, "?"));
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO ty VALUES (" + marks + ")")) {
                for (int i = 0; i < typed.length; i++) {
                    insert.setObject(i + 1, typed[i][1]);
                }
                equal(insert.executeUpdate(), 1);
            }
            try (PreparedStatement select = connection.prepareStatement("SELECT * FROM ty"); ResultSet row = select.executeQuery()) {
                row.next();
                for (int i = 0; i < typed.length; i++) {
                    boolean text = ((String) typed[i][0]).startsWith("TIME") && typed[i][1] instanceof String;
                    Object value = text ? row.getString(i + 1) : row.getObject(i + 1);
                    String got = value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
                    if (!got.equals(typed[i][2])) {
                        throw new AssertionError(typed[i][0] + ": got " + shorten(got) + ", expected " + shorten((String) typed[i][2]));
                    }
                }
                equal(row.getDate(24), Date.valueOf("2024-02-29"));
            }
        }
    }

    static void batches() throws Exception {
        for (String options : List.of(CLIENT_SIDE, SERVER_SIDE, "rewriteBatchedStatements=true")) {
            try (Connection connection = open(options)) {
                run(connection, "DROP TABLE IF EXISTS ba", "CREATE TABLE ba (id INT PRIMARY KEY, v VARCHAR(20))");
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO ba (id, v) VALUES (?, ?)")) {
                    for (int i = 0; i < 500; i++) {
                        insert.setInt(1, i);
                        insert.setString(2, "value " + i);
                        insert.addBatch();
                    }
                    equal(insert.executeBatch().length, 500);
                }
                equal(one(connection, "SELECT COUNT(*) FROM ba"), "500");
            }
        }
    }

    static void streaming() throws Exception {
        try (Connection connection = open("")) {
            Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY);
            statement.setFetchSize(Integer.MIN_VALUE);
            try (ResultSet rows = statement.executeQuery("SELECT id FROM ba ORDER BY id")) {
                for (int i = 0; i < 500; i++) {
                    rows.next();
                    equal(rows.getInt(1), i);
                }
                equal(rows.next(), false);
            }
        }
    }

    /** Rows fetched from a server's cursor, a few at a time. */
    static void cursors() throws Exception {
        try (Connection connection = open("useCursorFetch=true")) {
            try (PreparedStatement statement = connection.prepareStatement("SELECT id, v FROM ba WHERE id >= ? ORDER BY id")) {
                statement.setFetchSize(7);
                for (int from : new int[] {0, 490, 1000}) {
                    statement.setInt(1, from);
                    int expected = from;
                    try (ResultSet rows = statement.executeQuery()) {
                        while (rows.next()) {
                            equal(rows.getInt(1), expected++);
                        }
                    }
                    equal(expected, Math.max(500, from));
                }
            }
        }
    }

    static void metadata() throws Exception {
        try (Connection connection = open("")) {
            run(connection, "DROP TABLE IF EXISTS me",
                    "CREATE TABLE me (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20) NOT NULL, d DECIMAL(10,2), UNIQUE KEY v (v))");
            DatabaseMetaData metadata = connection.getMetaData();
            equal(metadata.getDatabaseProductName(), "MySQL");
            // Hibernate asks for them before anything else.
            equal(metadata.getSQLKeywords().contains("ACCESSIBLE,"), true);
            StringBuilder seen = new StringBuilder();
            try (ResultSet columns = metadata.getColumns(DATABASE, null, "me", "%")) {
                while (columns.next()) {
                    seen.append(columns.getString("COLUMN_NAME")).append(' ').append(columns.getString("TYPE_NAME")).append(' ')
                            .append(columns.getInt("COLUMN_SIZE")).append(' ').append(columns.getString("IS_NULLABLE")).append("; ");
                }
            }
            equal(seen.toString(), "id BIGINT 19 NO; v VARCHAR 20 NO; d DECIMAL 10 YES; ");
            try (ResultSet keys = metadata.getPrimaryKeys(DATABASE, null, "me")) {
                keys.next();
                equal(keys.getString("COLUMN_NAME"), "id");
            }
            List<String> indexes = new ArrayList<>();
            try (ResultSet info = metadata.getIndexInfo(DATABASE, null, "me", true, false)) {
                while (info.next()) {
                    indexes.add(info.getString("INDEX_NAME"));
                }
            }
            equal(indexes, List.of("PRIMARY", "v"));
            try (ResultSet tables = metadata.getTables(DATABASE, null, "me", new String[] {"TABLE"})) {
                equal(tables.next(), true);
            }
        }
    }

    static void transactions() throws Exception {
        try (Connection connection = open(""); Connection other = open("")) {
            run(other, "DROP TABLE IF EXISTS tr", "CREATE TABLE tr (id INT PRIMARY KEY)");
            for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ}) {
                connection.setTransactionIsolation(level);
                connection.setAutoCommit(false);
                run(connection, "INSERT INTO tr VALUES (1)");
                equal(one(other, "SELECT COUNT(*) FROM tr"), "0");
                connection.rollback();
                run(connection, "INSERT INTO tr VALUES (1)");
                java.sql.Savepoint savepoint = connection.setSavepoint("here");
                run(connection, "INSERT INTO tr VALUES (2)");
                connection.rollback(savepoint);
                connection.commit();
                equal(one(other, "SELECT COUNT(*) FROM tr"), "1");
                connection.setAutoCommit(true);
                run(other, "DELETE FROM tr");
            }
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            try {
                run(connection, "INSERT INTO tr VALUES (5)");
                throw new AssertionError("a read-only connection wrote");
            } catch (SQLException expected) {
                // The driver refuses by itself, or the server does; either way nothing is written.
                connection.rollback();
            }
        }
    }

    /** What a transaction manager does: one phase, two phases, recovery by another connection. */
    static void xa() throws Exception {
        MysqlXADataSource source = new MysqlXADataSource();
        source.setUrl("jdbc:mysql://" + ADDRESS + "/" + DATABASE + "?sslMode=DISABLED&allowPublicKeyRetrieval=true");
        source.setUser("root");
        source.setPassword("");
        XAConnection first = source.getXAConnection();
        Connection connection = first.getConnection();
        run(connection, "DROP TABLE IF EXISTS xa", "CREATE TABLE xa (id INT PRIMARY KEY)");
        XAResource resource = first.getXAResource();
        Xid one = new MysqlXid("java-one".getBytes(), "\u0001\u0002".getBytes(), 4660);
        resource.start(one, XAResource.TMNOFLAGS);
        run(connection, "INSERT INTO xa VALUES (1)");
        resource.end(one, XAResource.TMSUCCESS);
        resource.commit(one, true);

        Xid two = new MysqlXid("java-two".getBytes(), "b".getBytes(), 4660);
        Xid three = new MysqlXid("java-three".getBytes(), "b".getBytes(), 4660);
        for (Xid xid : new Xid[] {two, three}) {
            resource.start(xid, XAResource.TMNOFLAGS);
            run(connection, "INSERT INTO xa VALUES (" + (xid == two ? 2 : 3) + ")");
            resource.end(xid, XAResource.TMSUCCESS);
            equal(resource.prepare(xid), XAResource.XA_OK);
        }
        first.close();

        XAConnection second = source.getXAConnection();
        XAResource recovering = second.getXAResource();
        Xid[] recovered = recovering.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN);
        List<String> names = new ArrayList<>();
        for (Xid xid : recovered) {
            names.add(new String(xid.getGlobalTransactionId()) + " " + xid.getFormatId());
        }
        names.sort(null);
        equal(names, List.of("java-three 4660", "java-two 4660"));
        recovering.commit(two, false);
        recovering.rollback(three);
        try {
            recovering.commit(two, false);
            throw new AssertionError("an xid that has ended was committed");
        } catch (XAException error) {
            equal(error.errorCode, XAException.XAER_NOTA);
        }
        try (Statement statement = second.getConnection().createStatement();
                ResultSet rows = statement.executeQuery("SELECT GROUP_CONCAT(id ORDER BY id) FROM xa")) {
            rows.next();
            equal(rows.getString(1), "1,2");
        }
        second.close();
    }

    static void errors() throws Exception {
        try (Connection connection = open(SERVER_SIDE)) {
            run(connection, "DROP TABLE IF EXISTS er", "CREATE TABLE er (id INT PRIMARY KEY, v VARCHAR(2) NOT NULL)", "INSERT INTO er VALUES (1, 'a')");
            Object[][] cases = {
                {"INSERT INTO er VALUES (1, 'b')", 1062, "23000"}, {"INSERT INTO er VALUES (2, NULL)", 1048, "23000"},
                {"SELECT * FROM nowhere", 1146, "42S02"}, {"SELECT nope FROM er", 1054, "42S22"}, {"SELEC 1", 1064, "42000"},
                {"CREATE TABLE er (id INT)", 1050, "42S01"},
            };
            for (Object[] c : cases) {
                refused(() -> run(connection, (String) c[0]), (int) c[1], (String) c[2]);
                refused(() -> {
                    try (PreparedStatement statement = connection.prepareStatement((String) c[0])) {
                        statement.execute();
                    }
                }, (int) c[1], (String) c[2]);
            }
            equal(one(connection, "SELECT 1"), "1");
        }
    }

    static void severalStatements() throws Exception {
        try (Connection connection = open("allowMultiQueries=true"); Statement statement = connection.createStatement()) {
            equal(statement.execute("SELECT 1; DO 1; SELECT 'two', 3"), true);
            equal(statement.getMoreResults(), false);
            equal(statement.getUpdateCount(), 0);
            equal(statement.getMoreResults(), true);
            ResultSet rows = statement.getResultSet();
            rows.next();
            equal(rows.getString(1), "two");
        }
    }

    static void bigPackets(String options) throws Exception {
        try (Connection connection = open(options)) {
            run(connection, "DROP TABLE IF EXISTS big", "CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT)");
            // Around the 16 MiB - 1 that one packet holds, and beyond it.
            int[] sizes = {100, 70_000, (1 << 24) - 60, (1 << 24) - 1, 17 << 20};
            for (int i = 0; i < sizes.length; i++) {
                String value = "0123456789abcdef".repeat(sizes[i] / 16 + 1).substring(0, sizes[i]);
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO big VALUES (?, ?)")) {
                    insert.setInt(1, i);
                    insert.setString(2, value);
                    insert.execute();
                }
                if (!value.equals(one(connection, "SELECT v FROM big WHERE id = " + i))) {
                    throw new AssertionError(sizes[i] + " bytes came back as others");
                }
            }
            // Long data: parts of one parameter, sent before the statement runs.
            try (Connection prepared = open(options + "&" + SERVER_SIDE);
                    PreparedStatement insert = prepared.prepareStatement("INSERT INTO big VALUES (100, ?)")) {
                insert.setBinaryStream(1, new java.io.ByteArrayInputStream("long data ".repeat(100_000).getBytes()));
                insert.execute();
            }
            equal(one(connection, "SELECT LENGTH(v) FROM big WHERE id = 100"), "1000000");
            run(connection, "DROP TABLE big");
        }
    }

    static void kill() throws Exception {
        try (Connection connection = open(""); Connection holder = open(""); Connection victim = open("")) {
            run(connection, "DROP TABLE IF EXISTS ki", "CREATE TABLE ki (id INT PRIMARY KEY)", "INSERT INTO ki VALUES (1)");
            holder.setAutoCommit(false);
            run(holder, "SELECT * FROM ki WHERE id = 1 FOR UPDATE");
            // The driver's own way to stop a statement: another connection that says KILL QUERY.
            var stopped = new java.util.concurrent.atomic.AtomicBoolean();
            try (Statement statement = victim.createStatement()) {
                Thread canceller = new Thread(() -> {
                    try {
                        // A KILL that comes before the statement is forgotten.
                        while (!stopped.get()) {
                            Thread.sleep(300);
                            if (!stopped.get()) statement.cancel();
                        }
                    } catch (Exception e) {
                        throw new RuntimeException(e);
                    }
                });
                canceller.start();
                try {
                    statement.execute("DELETE FROM ki WHERE id = 1");
                    throw new AssertionError("the statement was not stopped");
                } catch (SQLException e) {
                    equal(e.getErrorCode() == 1317 || e instanceof com.mysql.cj.jdbc.exceptions.MySQLStatementCancelledException, true);
                } finally {
                    stopped.set(true);
                }
                canceller.join();
            }
            equal(one(victim, "SELECT 1"), "1");
            String id = one(victim, "SELECT CONNECTION_ID()");
            run(connection, "KILL " + id);
            Thread.sleep(200);
            equal(victim.isValid(5), false);
        }
    }

    static void timeouts() throws Exception {
        try (Connection connection = open(""); Connection holder = open("")) {
            run(connection, "DROP TABLE IF EXISTS ti", "CREATE TABLE ti (id INT PRIMARY KEY)", "INSERT INTO ti VALUES (1)");
            holder.setAutoCommit(false);
            run(holder, "UPDATE ti SET id = 2");
            run(connection, "SET innodb_lock_wait_timeout = 1");
            refused(() -> run(connection, "UPDATE ti SET id = 3"), 1205, "40001");
            run(connection, "SET innodb_lock_wait_timeout = 50");
            try (Statement statement = connection.createStatement()) {
                statement.setQueryTimeout(1);
                long start = System.nanoTime();
                try {
                    statement.execute("UPDATE ti SET id = 4");
                    throw new AssertionError("setQueryTimeout did not stop the statement");
                } catch (SQLException expected) {
                    equal(System.nanoTime() - start < 20_000_000_000L, true);
                }
            }
            holder.rollback();
            equal(one(connection, "SELECT id FROM ti"), "1");
        }
    }

    static void run(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static String one(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    static void equal(Object got, Object expected) {
        if (!got.equals(expected)) {
            throw new AssertionError("got " + shorten(got.toString()) + ", expected " + shorten(expected.toString()));
        }
    }

    static void refused(Check check, int number, String state) throws Exception {
        try {
            check.run();
        } catch (SQLException e) {
            equal(e.getErrorCode() + " " + e.getSQLState(), number + " " + state);
            return;
        }
        throw new AssertionError("no error where " + number + " was expected");
    }

    static String shorten(String text) {
        return text.length() > 80 ? text.substring(0, 80) + "..." : text;
    }
}
