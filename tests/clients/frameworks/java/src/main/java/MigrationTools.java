import java.sql.Connection;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.UpdateSummaryEnum;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.compare.CompareControl;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import org.flywaydb.core.Flyway;

/** Migrations by Flyway and Liquibase. */
public class MigrationTools {
    static final String FLYWAY = "framework_flyway";
    static final String LIQUIBASE = "framework_liquibase";

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        try (Connection c = connect(""); var s = c.createStatement()) {
            for (String name : List.of(FLYWAY, LIQUIBASE)) {
                s.execute("DROP DATABASE IF EXISTS " + name);
                s.execute("CREATE DATABASE " + name);
            }
        }
        flyway();
        liquibase();
        System.exit(0);
    }

    static void flyway() {
        Flyway flyway = Flyway.configure().dataSource(Steps.url(FLYWAY, ""), "root", "").locations("classpath:db/migration").cleanDisabled(false).load();
        Steps.step("flyway migrate", () -> flyway.migrate().migrationsExecuted);
        Steps.step("flyway migrate again", () -> flyway.migrate().migrationsExecuted);
        Steps.step("flyway validate", () -> flyway.validateWithResult().validationSuccessful);
        Steps.step("flyway info", () -> {
            List<String> out = new ArrayList<>();
            for (var m : flyway.info().all()) out.add(m.getVersion() + " " + m.getDescription() + " " + m.getState());
            return out;
        });
        Steps.step("flyway result", () -> rows(FLYWAY, "SELECT name, total FROM totals ORDER BY name"));
        Steps.step("flyway history", () -> rows(FLYWAY, "SELECT installed_rank, version, description, type, script, checksum, success FROM flyway_schema_history ORDER BY installed_rank"));
        Steps.step("flyway clean", () -> {
            flyway.clean();
            return rows(FLYWAY, "SHOW TABLES");
        });
        Steps.step("flyway baseline", () -> Flyway.configure().dataSource(Steps.url(FLYWAY, ""), "root", "").baselineVersion("1").load().baseline().successfullyBaselined);
    }

    static void liquibase() throws Exception {
        liquibase.Scope.child(java.util.Map.of(liquibase.Scope.Attr.ui.name(), new liquibase.ui.LoggerUIService()), () -> {
            try (Connection c = connect(LIQUIBASE)) {
                var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(c));
                var liquibase = new Liquibase("db/changelog/changes.xml", new ClassLoaderResourceAccessor(), database);
                liquibase.setShowSummary(UpdateSummaryEnum.OFF);
                Steps.step("liquibase update", () -> {
                    liquibase.update(new Contexts());
                    return rows(LIQUIBASE, "SELECT id, author, orderexecuted, exectype, md5sum, description FROM DATABASECHANGELOG ORDER BY orderexecuted");
                });
                Steps.step("liquibase update again", () -> {
                    liquibase.update(new Contexts());
                    return liquibase.listUnrunChangeSets(new Contexts(), new liquibase.LabelExpression()).size();
                });
                Steps.step("liquibase result", () -> rows(LIQUIBASE, "SELECT name, nickname, active FROM person"));
                Steps.step("liquibase definitions", () -> List.of(rows(LIQUIBASE, "SHOW CREATE TABLE person"), rows(LIQUIBASE, "SHOW CREATE TABLE animal")));
                Steps.step("liquibase snapshot", () -> {
                    var snapshot = SnapshotGeneratorFactory.getInstance().createSnapshot(database.getDefaultSchema(), database, new SnapshotControl(database));
                    TreeSet<String> out = new TreeSet<>();
                    for (var column : snapshot.get(liquibase.structure.core.Column.class)) {
                        if (column.getRelation() instanceof liquibase.structure.core.Table && !column.getRelation().getName().startsWith("DATABASE"))
                            out.add(column.getRelation().getName() + "." + column.getName() + " " + column.getType() + " " + column.isNullable() + " " + column.getDefaultValue());
                    }
                    for (var index : snapshot.get(liquibase.structure.core.Index.class)) out.add(index.getName() + " " + index.getColumnNames() + " " + index.isUnique());
                    for (var key : snapshot.get(liquibase.structure.core.ForeignKey.class)) out.add(key.getName() + " " + key.getDeleteRule());
                    return out;
                });
                Steps.step("liquibase differs from itself", () -> {
                    var diff = liquibase.diff(database, database, CompareControl.STANDARD);
                    return diff.areEqual();
                });
                Steps.step("liquibase drop all", () -> {
                    liquibase.dropAll();
                    return rows(LIQUIBASE, "SHOW TABLES");
                });
            }
        });
    }

    static Connection connect(String database) throws Exception {
        return DriverManager.getConnection(Steps.url(database, ""), "root", "");
    }

    static List<List<Object>> rows(String database, String sql) throws Exception {
        List<List<Object>> out = new ArrayList<>();
        try (Connection c = connect(database); var s = c.createStatement(); var r = s.executeQuery(sql)) {
            while (r.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) row.add(r.getObject(i));
                out.add(row);
            }
        }
        return out;
    }
}
