import static org.jooq.impl.DSL.*;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.jooq.CommonTableExpression;
import org.jooq.Configuration;
import org.jooq.DSLContext;
import org.jooq.Field;
import org.jooq.JSON;
import org.jooq.Record;
import org.jooq.Result;
import org.jooq.SQLDialect;
import org.jooq.Table;
import org.jooq.codegen.GenerationTool;
import org.jooq.conf.Settings;
import org.jooq.impl.SQLDataType;
import org.jooq.meta.jaxb.Database;
import org.jooq.meta.jaxb.Generate;
import org.jooq.meta.jaxb.Generator;
import org.jooq.meta.jaxb.Jdbc;
import org.jooq.meta.jaxb.Target;

/** An application on jOOQ: classes generated from information_schema, and statements built from Java. */
public class JooqApp {
    static final String DATABASE = "framework_jooq";
    static DSLContext db;

    static final Table<Record> CUSTOMER = table(name("customer"));
    static final Field<Long> ID = field(name("customer", "id"), SQLDataType.BIGINT);
    static final Field<String> NAME = field(name("customer", "name"), SQLDataType.VARCHAR(80));
    static final Field<BigDecimal> BALANCE = field(name("customer", "balance"), SQLDataType.DECIMAL(12, 2));
    // Without the table's name: jOOQ looks for the column in its own alias of the new row.
    static final Field<BigDecimal> OWN_BALANCE = field(name("balance"), SQLDataType.DECIMAL(12, 2));
    static final Field<LocalDate> BORN = field(name("customer", "born"), SQLDataType.LOCALDATE);
    static final Field<LocalDateTime> SEEN = field(name("customer", "seen"), SQLDataType.LOCALDATETIME(6));
    static final Field<JSON> DATA = field(name("customer", "data"), SQLDataType.JSON);
    static final Table<Record> PURCHASE = table(name("purchase"));
    static final Field<Long> PURCHASE_ID = field(name("purchase", "id"), SQLDataType.BIGINT);
    static final Field<Long> CUSTOMER_ID = field(name("purchase", "customer_id"), SQLDataType.BIGINT);
    static final Field<Integer> TOTAL = field(name("purchase", "total"), SQLDataType.INTEGER);

    public static void main(String[] args) throws Exception {
        System.setProperty("org.jooq.no-logo", "true");
        System.setProperty("org.jooq.no-tips", "true");
        java.util.logging.LogManager.getLogManager().reset();
        java.util.TimeZone.setDefault(java.util.TimeZone.getTimeZone("UTC"));
        try (var c = DriverManager.getConnection(Steps.url("", ""), "root", ""); var s = c.createStatement()) {
            s.execute("DROP DATABASE IF EXISTS " + DATABASE);
            s.execute("CREATE DATABASE " + DATABASE);
        }
        Connection connection = DriverManager.getConnection(Steps.url(DATABASE, "allowMultiQueries=true"), "root", "");
        db = using(connection, SQLDialect.MYSQL, new Settings().withExecuteLogging(false));
        definitions();
        generate();
        writes();
        queries();
        nested();
        transactions();
        Steps.step("metadata", JooqApp::metadata);
        Steps.step("drop", () -> {
            db.dropView("totals").execute();
            db.dropTable("purchase").cascade().execute();
            return db.dropTableIfExists("customer").execute();
        });
        connection.close();
    }

    static void definitions() {
        Steps.step("create tables", () -> db.createTable(CUSTOMER)
            .column("id", SQLDataType.BIGINT.identity(true))
            .column("name", SQLDataType.VARCHAR(80).notNull())
            .column("balance", SQLDataType.DECIMAL(12, 2).notNull().defaultValue(BigDecimal.ZERO))
            .column("born", SQLDataType.LOCALDATE)
            .column("seen", SQLDataType.LOCALDATETIME(6))
            .column("active", SQLDataType.BOOLEAN.defaultValue(true))
            .column("kind", SQLDataType.VARCHAR(10))
            .column("picture", SQLDataType.BLOB)
            .column("data", SQLDataType.JSON)
            .constraints(primaryKey("id"), unique("name"), check(condition("length(name) > 1")))
            .comment("Customers' names").execute());
        Steps.step("create a child", () -> db.createTableIfNotExists(PURCHASE)
            .column("id", SQLDataType.BIGINT.identity(true))
            .column("customer_id", SQLDataType.BIGINT.notNull())
            .column("total", SQLDataType.INTEGER.notNull())
            .constraints(primaryKey("id"), constraint("buyer").foreignKey("customer_id").references("customer", "id").onDeleteCascade())
            .execute());
        Steps.step("alter", () -> {
            db.alterTable(CUSTOMER).addColumn("note", SQLDataType.CLOB).execute();
            db.alterTable(CUSTOMER).alterColumn("kind").set(SQLDataType.VARCHAR(20).notNull()).execute();
            db.alterTable(CUSTOMER).alterColumn("kind").setDefault("small").execute();
            db.alterTable(CUSTOMER).renameColumn("note").to("remark").execute();
            db.createIndex("by_total").on(table("purchase"), field(name("customer_id")), field(name("total")).desc()).execute();
            return db.createOrReplaceView("totals").as(select(CUSTOMER_ID, sum(TOTAL).as("total")).from(PURCHASE).groupBy(CUSTOMER_ID)).execute();
        });
    }

    /** What the generator reads of the catalogue decides the classes' text, which is compiled and loaded. */
    static void generate() throws IOException {
        Path directory = Files.createTempDirectory("jooq");
        Steps.step("generate classes", () -> {
            GenerationTool.generate(new org.jooq.meta.jaxb.Configuration()
                .withJdbc(new Jdbc().withDriver("com.mysql.cj.jdbc.Driver").withUrl(Steps.url(DATABASE, "")).withUser("root").withPassword(""))
                .withGenerator(new Generator()
                    .withDatabase(new Database().withName("org.jooq.meta.mysql.MySQLDatabase").withInputSchema(DATABASE).withIncludes(".*"))
                    .withGenerate(new Generate().withGeneratedAnnotation(false).withComments(true))
                    .withTarget(new Target().withPackageName("generated").withDirectory(directory.toString()))));
            List<String> files = files(directory);
            return files.stream().map(f -> f.substring(f.lastIndexOf('/') + 1)).toList();
        });
        for (String name : List.of("Keys", "Indexes", "tables/Customer", "tables/Totals")) {
            Steps.step("generated " + name, () -> {
                try (Stream<String> lines = Files.lines(directory.resolve("generated").resolve(name + ".java"))) {
                    return lines.map(String::strip).filter(l -> l.contains("create") || l.contains(" * ") && l.contains("'") || l.contains("DSL.name"))
                        .collect(Collectors.joining(" | "));
                }
            });
        }
        Steps.step("compile them", () -> {
            List<String> arguments = new ArrayList<>(List.of("-nowarn", "-proc:none", "-cp", System.getProperty("java.class.path"), "-d", directory.toString()));
            arguments.addAll(files(directory));
            return ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new));
        });
        Steps.step("query by them", () -> {
            try (var loader = new java.net.URLClassLoader(new java.net.URL[] {directory.toUri().toURL()})) {
                Table<?> customer = (Table<?>) loader.loadClass("generated.tables.Customer").getField("CUSTOMER").get(null);
                db.insertInto(customer).set(customer.newRecord()).set(NAME, "Ann").execute();
                return db.selectFrom(customer).fetch().intoMaps() + " " + customer.getReferences() + customer.getKeys() + customer.getIndexes();
            }
        });
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
        }
    }

    static List<String> files(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.map(Path::toString).filter(f -> f.endsWith(".java")).sorted().toList();
        }
    }

    static void writes() {
        Steps.step("insert, returning its id", () -> db.insertInto(CUSTOMER, NAME, BALANCE, BORN, SEEN, DATA)
            .values("Bob", new BigDecimal("12.50"), LocalDate.of(1990, 2, 28), LocalDateTime.of(2024, 5, 6, 7, 8, 9, 123456000), JSON.json("{\"a\": [1, null, \"😀\"]}"))
            .returningResult(ID).fetchOne());
        Steps.step("many rows", () -> {
            var insert = db.insertInto(PURCHASE, CUSTOMER_ID, TOTAL);
            for (int i = 0; i < 100; i++) insert = insert.values(1L + i % 2, i);
            return insert.execute();
        });
        Steps.step("batch", () -> {
            var batch = db.batch(db.insertInto(CUSTOMER, NAME, BALANCE).values((String) null, null));
            for (String name : List.of("Cid", "Dan", "Eve")) batch = batch.bind(name, new BigDecimal(name.length()));
            return java.util.Arrays.toString(batch.execute());
        });
        Steps.step("upsert", () -> List.of(
            db.insertInto(CUSTOMER, NAME, BALANCE).values("Cid", BigDecimal.TEN).onDuplicateKeyUpdate().set(BALANCE, BALANCE.plus(field("VALUES({0})", BigDecimal.class, BALANCE))).execute(),
            db.insertInto(CUSTOMER, NAME, BALANCE).values("Cid", BigDecimal.TEN).onDuplicateKeyIgnore().execute(),
            db.insertInto(CUSTOMER, NAME, OWN_BALANCE).values("Fay", BigDecimal.ONE).onConflict(NAME).doUpdate().set(OWN_BALANCE, excluded(OWN_BALANCE)).execute()));
        Steps.step("update with a join and a limit", () -> List.of(
            db.update(CUSTOMER.join(PURCHASE).on(CUSTOMER_ID.eq(ID))).set(BALANCE, BALANCE.plus(TOTAL)).where(TOTAL.gt(97)).execute(),
            db.update(PURCHASE).set(TOTAL, TOTAL.plus(1)).where(CUSTOMER_ID.eq(2L)).orderBy(TOTAL.desc()).limit(3).execute(),
            db.deleteFrom(PURCHASE).where(TOTAL.between(10, 12)).orderBy(PURCHASE_ID).limit(2).execute()));
        Steps.step("loader", () -> db.loadInto(PURCHASE).onErrorIgnore().bulkAfter(2).batchAfter(2).commitNone()
            .loadCSV("a;b\n1;500\n2;501\n77;502\n").fields(CUSTOMER_ID, TOTAL).separator(';').execute().stored());
    }

    static String rows(Result<?> result) {
        return result.formatCSV(false, ',', "null");
    }

    static void queries() {
        Steps.step("filters", () -> rows(db.select(ID, NAME, BALANCE, BORN, SEEN, DATA).from(CUSTOMER)
            .where(NAME.likeIgnoreCase("%N%").or(BORN.isNotNull()).and(ID.in(1L, 2L, 3L))).orderBy(BORN.asc().nullsLast(), ID).fetch()));
        Steps.step("row values and quantified", () -> rows(db.select(NAME).from(CUSTOMER)
            .where(row(ID, NAME).in(row(1L, "Ann"), row(2L, "Zoe"))).or(ID.eq(any(select(CUSTOMER_ID).from(PURCHASE).where(TOTAL.gt(499))))).orderBy(NAME).fetch()));
        Steps.step("seek", () -> rows(db.select(PURCHASE_ID, TOTAL).from(PURCHASE).orderBy(TOTAL.desc(), PURCHASE_ID).seek(90, 50L).limit(3).fetch()));
        Steps.step("windows", () -> rows(db.select(PURCHASE_ID, rowNumber().over(partitionBy(CUSTOMER_ID).orderBy(TOTAL)), lag(TOTAL).over(orderBy(PURCHASE_ID)),
            sum(TOTAL).over(orderBy(PURCHASE_ID).rowsBetweenPreceding(2).andCurrentRow()), ntile(3).over(orderBy(TOTAL))).from(PURCHASE).orderBy(PURCHASE_ID).limit(5).fetch()));
        Steps.step("groups", () -> rows(db.select(CUSTOMER_ID, count(), avg(TOTAL), groupConcat(TOTAL).orderBy(TOTAL).separator("+"), max(TOTAL))
            .from(PURCHASE).where(TOTAL.lt(12)).groupBy(rollup(CUSTOMER_ID)).orderBy(CUSTOMER_ID).fetch()));
        Steps.step("recursion", () -> {
            CommonTableExpression<?> t = name("t").fields("n").as(select(val(1)).unionAll(select(field(name("n"), Integer.class).plus(1)).from(table(name("t"))).where(field(name("n"), Integer.class).lt(5))));
            return rows(db.withRecursive(t).selectFrom(t).fetch());
        });
        Steps.step("set operations", () -> rows(db.select(ID).from(CUSTOMER).union(select(CUSTOMER_ID).from(PURCHASE)).except(select(val(2L))).orderBy(1).fetch()));
        Steps.step("lateral", () -> {
            var last = lateral(select(PURCHASE_ID, TOTAL).from(PURCHASE).where(CUSTOMER_ID.eq(ID)).orderBy(TOTAL.desc()).limit(2)).as("l");
            return rows(db.select(NAME, last.field(1)).from(CUSTOMER).leftJoin(last).on(trueCondition()).orderBy(ID, last.field(1).desc()).fetch());
        });
        Steps.step("functions", () -> rows(db.select(trunc(val(1.57), 1), position("hello", "l"), lpad(val("7"), 3, "0"), coalesce(val((String) null), val("x")),
            year(BORN), localDateDiff(val(LocalDate.of(2024, 3, 1)), val(LocalDate.of(2024, 2, 1))), localDateAdd(BORN, 1), greatest(val(1), val(3)), md5("a"), nullif(val(1), val(1)),
            case_(NAME).when("Bob", 1).else_(0), bitXor(val(5), val(3))).from(CUSTOMER).where(ID.eq(2L)).fetch()));
        Steps.step("values and derived tables", () -> rows(db.selectFrom(values(row(1, "a"), row(2, "b")).as("v", "n", "s")).orderBy(1).fetch()));
        Steps.step("lazy", () -> {
            int sum = 0;
            try (var cursor = db.select(TOTAL).from(PURCHASE).orderBy(PURCHASE_ID).fetchSize(Integer.MIN_VALUE).fetchLazy()) {
                for (var record : cursor) sum += record.value1();
            }
            return sum;
        });
        Steps.step("several results", () -> db.fetchMany("SELECT 1; SELECT 'two', 3").stream().map(JooqApp::rows).toList());
        Steps.step("explain", () -> db.explain(db.selectOne()).plan() != null);
    }

    /** Nested collections, which jOOQ makes of JSON. */
    static void nested() {
        Steps.step("multiset", () -> db.select(NAME, multiset(select(PURCHASE_ID, TOTAL).from(PURCHASE).where(CUSTOMER_ID.eq(ID)).and(TOTAL.gt(96)).orderBy(TOTAL)))
            .from(CUSTOMER).orderBy(ID).limit(3).fetch().intoMaps().toString());
        Steps.step("multiset of multisets", () -> db.select(multisetAgg(NAME, BALANCE, BORN)).from(CUSTOMER).where(ID.le(2L)).fetchSingle().value1().formatCSV());
        Steps.step("rows in rows", () -> db.select(row(ID, NAME, row(BALANCE, SEEN))).from(CUSTOMER).where(ID.eq(2L)).fetchSingle().value1());
        Steps.step("JSON functions", () -> rows(db.select(jsonObject(key("n").value(NAME), key("b").value(BALANCE)), jsonArray(ID, BORN), jsonValue(DATA, "$.a[2]"),
            field(jsonExists(DATA, "$.a")), jsonKeys(DATA)).from(CUSTOMER).where(ID.eq(2L)).fetch()));
        Steps.step("JSON aggregates", () -> rows(db.select(jsonArrayAgg(NAME).orderBy(NAME), jsonObjectAgg(NAME, ID)).from(CUSTOMER).where(ID.lt(4L)).fetch()));
        Steps.step("JSON table", () -> rows(db.select().from(jsonTable(JSON.json("[{\"a\":1},{\"a\":2}]"), "$[*]")
            .column("n").forOrdinality().column("a", SQLDataType.INTEGER).path("$.a").as("t")).fetch()));
    }

    static int purchases(Configuration configuration) {
        return using(configuration).fetchCount(PURCHASE);
    }

    static void transactions() {
        Steps.step("nested transactions", () -> {
            List<Integer> counts = new ArrayList<>();
            try {
                db.transaction(outer -> {
                    using(outer).deleteFrom(PURCHASE).where(TOTAL.lt(20)).execute();
                    counts.add(purchases(outer));
                    try {
                        outer.dsl().transaction(inner -> {
                            using(inner).deleteFrom(PURCHASE).execute();
                            counts.add(purchases(inner));
                            throw new IllegalStateException("inner");
                        });
                    } catch (IllegalStateException e) {
                        counts.add(purchases(outer));
                    }
                    throw new IllegalStateException("outer");
                });
            } catch (IllegalStateException e) {
                counts.add(purchases(db.configuration()));
            }
            return counts;
        });
        Steps.step("locks", () -> db.transactionResult(c -> {
            using(c).select(ID).from(CUSTOMER).where(ID.eq(1L)).forUpdate().of(CUSTOMER).fetch();
            try (var other = DriverManager.getConnection(Steps.url(DATABASE, ""), "root", "")) {
                DSLContext second = using(other, SQLDialect.MYSQL);
                String free = rows(second.select(ID).from(CUSTOMER).orderBy(ID).forUpdate().skipLocked().fetch());
                try {
                    second.selectFrom(CUSTOMER).forShare().noWait().fetch();
                    return free;
                } catch (org.jooq.exception.DataAccessException e) {
                    return free + e.sqlStateClass() + " " + e.getCause().getMessage();
                }
            }
        }));
        Steps.step("errors", () -> {
            List<String> all = new ArrayList<>();
            for (String sql : List.of("INSERT INTO customer (name) VALUES ('Ann')", "INSERT INTO purchase (customer_id, total) VALUES (77, 1)",
                "INSERT INTO customer (name) VALUES ('A')", "INSERT INTO customer (name) VALUES (NULL)", "SELECT nothing")) {
                try {
                    db.execute(sql);
                } catch (org.jooq.exception.DataAccessException e) {
                    all.add(e.getClass().getSimpleName() + " " + e.sqlState() + " " + e.sqlStateClass() + " " + e.getCause().getMessage());
                }
            }
            return all;
        });
    }

    /** What jOOQ finds by JDBC's metadata, written as statements. */
    static Object metadata() {
        return db.meta().filterSchemas(s -> s.getName().equals(DATABASE)).filterCatalogs(c -> c.getName().equals(DATABASE) || c.getName().isEmpty()).ddl().toString();
    }
}
