import jakarta.persistence.*;
import java.math.BigDecimal;
import java.sql.DriverManager;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

/** An application on Hibernate and Connector/J. */
public class HibernateApp {
    enum Kind { SMALL, LARGE }

    @Entity(name = "Customer")
    @Table(name = "customer", indexes = @Index(columnList = "kind, name"))
    @Inheritance(strategy = InheritanceType.JOINED)
    public static class Customer {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Column(length = 80, nullable = false, unique = true) String name;
        @Enumerated(EnumType.STRING) Kind kind = Kind.SMALL;
        @Column(precision = 12, scale = 2) BigDecimal balance = BigDecimal.ZERO;
        LocalDate born;
        LocalDateTime seen;
        Instant at;
        UUID uuid;
        boolean active = true;
        @Lob String bio;
        byte[] picture;
        double score;
        @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> data;
        @Embedded Address address;
        @ElementCollection Set<String> tags = new HashSet<>();
        @Version int version;
        @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL, orphanRemoval = true) @OrderBy("id") List<Purchase> purchases = new ArrayList<>();

        public Customer() {}

        Customer(String name) {
            this.name = name;
        }
    }

    @Entity(name = "Vip")
    @Table(name = "vip")
    public static class Vip extends Customer {
        int level;

        public Vip() {}

        Vip(String name, int level) {
            super(name);
            this.level = level;
        }
    }

    @Embeddable
    public static class Address {
        String street;
        @Column(length = 40) String city;
    }

    @Entity(name = "Purchase")
    @Table(name = "purchase")
    public static class Purchase {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) Customer customer;
        int total;
        @ManyToMany Set<Product> products = new HashSet<>();

        public Purchase() {}

        Purchase(Customer customer, int total) {
            this.customer = customer;
            this.total = total;
        }
    }

    @Entity(name = "Product")
    @Table(name = "product")
    public static class Product {
        @Id @Column(length = 20) String code;

        public Product() {}

        Product(String code) {
            this.code = code;
        }
    }

    static final String DATABASE = "framework_hibernate";
    static SessionFactory factory;

    static SessionFactory factory(String mode) {
        return new Configuration()
            .addAnnotatedClass(Customer.class).addAnnotatedClass(Vip.class).addAnnotatedClass(Purchase.class).addAnnotatedClass(Product.class)
            .setProperty("hibernate.connection.url", Steps.url(DATABASE, "rewriteBatchedStatements=true"))
            .setProperty("hibernate.connection.username", "root")
            .setProperty("hibernate.connection.password", "")
            .setProperty("hibernate.hbm2ddl.auto", mode)
            .setProperty("hibernate.jdbc.batch_size", "20")
            .setProperty("hibernate.jdbc.time_zone", "UTC")
            .buildSessionFactory();
    }

    static void step(String name, Function<Session, Object> work) {
        Steps.step(name, () -> factory.fromTransaction(work::apply));
    }

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        java.util.TimeZone.setDefault(java.util.TimeZone.getTimeZone("UTC"));
        try (var c = DriverManager.getConnection(Steps.url("", ""), "root", ""); var s = c.createStatement()) {
            s.execute("DROP DATABASE IF EXISTS " + DATABASE);
            s.execute("CREATE DATABASE " + DATABASE);
        }
        Steps.step("create the schema", () -> {
            factory = factory("create");
            return "done";
        });
        Steps.step("update changes nothing, and the schema is valid", () -> {
            factory("update").close();
            factory("validate").close();
            return "done";
        });
        step("persist", s -> {
            Customer c = new Customer("Ann");
            c.kind = Kind.LARGE;
            c.balance = new BigDecimal("12.50");
            c.born = LocalDate.of(1990, 2, 28);
            c.seen = LocalDateTime.of(2024, 5, 6, 7, 8, 9, 123456000);
            c.at = Instant.parse("2024-05-06T07:08:09.123456Z");
            c.uuid = UUID.fromString("6d3f9c1e-0000-4000-8000-00000000abcd");
            c.bio = "é😀";
            c.picture = new byte[] {0, -1, 39};
            c.score = 1.5;
            c.data = Map.of("level", 3, "tags", List.of("a", "b"));
            c.address = new Address();
            c.address.city = "Berlin";
            c.tags.addAll(List.of("x", "y"));
            for (int i = 1; i <= 30; i++) {
                Purchase p = new Purchase(c, i);
                c.purchases.add(p);
            }
            s.persist(c);
            s.persist(new Vip("Bob", 7));
            s.persist(new Customer("Cid"));
            Product product = new Product("seed");
            s.persist(product);
            c.purchases.get(0).products.add(product);
            s.flush();
            return c.id + " " + c.purchases.get(29).id;
        });
        step("find", s -> {
            Customer c = s.find(Customer.class, 1);
            return List.of(c.name, c.kind, c.balance, c.born, c.seen, c.at, c.uuid, c.active, c.bio, c.picture.length, c.score, new java.util.TreeMap<>(c.data),
                c.address.city, new java.util.TreeSet<>(c.tags), c.version, c.purchases.size());
        });
        step("polymorphic query", s -> s.createQuery("from Customer c order by c.name", Customer.class).getResultList().stream().map(c -> c.getClass().getSimpleName() + " " + c.name).toList());
        step("paging", s -> s.createQuery("from Purchase p order by p.total desc", Purchase.class).setFirstResult(5).setMaxResults(3).getResultList().stream().map(p -> p.total).toList());
        step("fetch join", s -> s.createQuery("select distinct c from Customer c left join fetch c.purchases p left join fetch p.products where c.name like :n", Customer.class)
            .setParameter("n", "A%").getSingleResult().purchases.get(0).products.size());
        step("group", s -> s.createQuery("select c.name, count(p), sum(p.total), avg(p.total) from Customer c left join c.purchases p group by c.name having count(p) >= 0 order by 1", Object[].class)
            .getResultList().stream().map(java.util.Arrays::toString).toList());
        step("functions", s -> s.createQuery("select upper(c.name), length(c.name), concat(c.name, '-', c.kind), year(c.born), extract(month from c.seen), cast(c.balance as string), coalesce(c.bio, 'none'),"
            + " c.seen + 1 day, mod(p.total, 7), locate('n', c.name), trim(c.name), substring(c.name, 1, 2), nullif(c.kind, 'SMALL') from Customer c join c.purchases p where p.total = 30", Object[].class)
            .getResultList().stream().map(java.util.Arrays::toString).toList());
        step("window and common table expression", s -> s.createQuery("with big as (select p.id as id, p.total as total, row_number() over (order by p.total desc) as r from Purchase p)"
            + " select b.total from big b where b.r <= 3 order by b.r", Integer.class).getResultList());
        step("subquery, exists, in", s -> s.createQuery("select c.name from Customer c where exists (select 1 from Purchase p where p.customer = c and p.total > (select avg(q.total) from Purchase q))"
            + " or c.name in ('Bob', 'Zoe') order by c.name", String.class).getResultList());
        step("set operations", s -> s.createQuery("select c.name from Customer c union all select p.code from Product p except select 'Bob' from Product p order by 1", String.class).getResultList());
        step("bulk update", s -> s.createMutationQuery("update Customer c set c.balance = c.balance + 1, c.version = c.version + 1 where c.kind = :k").setParameter("k", Kind.LARGE).executeUpdate());
        step("bulk update of an inherited table", s -> s.createMutationQuery("update Vip v set v.level = v.level + 1, v.score = 2 where v.name = 'Bob'").executeUpdate());
        step("insert from a query", s -> s.createMutationQuery("insert into Product (code) select c.name from Customer c").executeUpdate());
        step("upsert", s -> s.createMutationQuery("insert into Product (code) values ('seed') on conflict do nothing").executeUpdate());
        for (LockModeType mode : List.of(LockModeType.PESSIMISTIC_WRITE, LockModeType.PESSIMISTIC_READ, LockModeType.OPTIMISTIC_FORCE_INCREMENT)) {
            step("lock " + mode, s -> s.find(Customer.class, 1, mode).name);
        }
        step("skip locked", s -> s.createNativeQuery("select name from customer where id = 1 for update skip locked", String.class).getSingleResult());
        Steps.step("optimistic lock fails", () -> factory.fromTransaction(s -> {
            Customer c = s.find(Customer.class, 1);
            c.score = 9;
            factory.inTransaction(other -> other.find(Customer.class, 1).score = 8);
            s.flush();
            return "no error";
        }));
        step("unique", s -> {
            s.persist(new Customer("Ann"));
            return "no error";
        });
        step("batch", s -> {
            for (int i = 0; i < 100; i++) s.persist(new Product("p" + i));
            s.flush();
            return s.createQuery("select count(*) from Product", Long.class).getSingleResult();
        });
        step("json in SQL", s -> s.createNativeQuery("select json_extract(data, '$.tags[1]') from customer where data->>'$.level' = '3'", String.class).getSingleResult());
        step("criteria", s -> {
            var b = s.getCriteriaBuilder();
            var q = b.createQuery(String.class);
            var c = q.from(Customer.class);
            q.select(c.get("name")).where(b.or(b.like(c.get("name"), "%n%"), b.greaterThan(c.get("score"), 1.0))).orderBy(b.desc(c.get("name")));
            return s.createQuery(q).getResultList();
        });
        step("orphans and cascades", s -> {
            Customer c = s.find(Customer.class, 1);
            c.purchases.remove(5);
            s.flush();
            s.remove(c);
            s.flush();
            return s.createQuery("select count(*) from Purchase", Long.class).getSingleResult();
        });
        factory.getSchemaManager().truncateMappedObjects();
        step("truncated", s -> s.createQuery("select count(*) from Customer", Long.class).getSingleResult());
        Steps.step("drop the schema", () -> {
            factory.getSchemaManager().dropMappedObjects(false);
            return "done";
        });
        factory.close();
    }
}
