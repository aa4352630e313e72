//! Statements over several tables, from their text: what they read, lock and write.

mod support;

use planner::plan::{Locking, LockingWait, Plan};
use support::{Answer, Conn, Db};

fn db() -> Db {
    Db::with(
        "create table customers (id int primary key, name varchar(20), city varchar(20));
         create table orders (id int primary key, customer int, amount decimal(10,2), key customer (customer));
         insert into customers values (1, 'ann', 'oslo'), (2, 'bob', 'rome'), (3, 'cid', 'Oslo'), (4, 'dan', null);
         insert into orders values (10, 1, 5.00), (11, 1, 7.50), (12, 2, 1.25), (13, null, 9.00), (14, 9, 2.00)",
    )
}

fn query_of(c: &Conn<'_>, sql: &str) -> planner::plan::QueryPlan {
    match c.plan(sql, &[]) {
        Ok(Plan::Query(query)) => query,
        other => panic!("{sql} is no query: {other:?}"),
    }
}

#[test]
fn joins_and_subqueries() {
    let db = db();
    let mut c = db.conn();
    for (sql, expected) in [
        (
            "select c.name, o.id from customers c join orders o on o.customer = c.id order by o.id",
            "ann 10, ann 11, bob 12",
        ),
        (
            "select c.name, sum(o.amount) from customers c left join orders o on o.customer = c.id group by c.id, c.name order by c.id",
            "ann 12.50, bob 1.25, cid NULL, dan NULL",
        ),
        (
            "select name from customers where id in (select customer from orders) order by id",
            "ann, bob",
        ),
        (
            "select name from customers where id not in (select customer from orders) order by id",
            "",
        ),
        (
            "select name from customers c where not exists (select 1 from orders o where o.customer = c.id) order by id",
            "cid, dan",
        ),
        (
            "select id, (select max(amount) from orders o where o.customer = c.id) from customers c order by id",
            "1 7.50, 2 1.25, 3 NULL, 4 NULL",
        ),
        (
            "select a.name, b.name from customers a join customers b on a.city = b.city and a.id < b.id",
            "ann cid",
        ),
        (
            "select city from customers union select 'rome' order by city",
            "NULL, oslo, rome",
        ),
        (
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < 4) select sum(i) from n",
            "10",
        ),
        (
            "select id, rank() over (partition by customer order by amount desc) from orders where customer is not null order by id",
            "10 2, 11 1, 12 1, 14 1",
        ),
        (
            "select c.id, l.amount from customers c, lateral (select amount from orders o where o.customer = c.id order by amount desc limit 1) l order by 1",
            "1 7.50, 2 1.25",
        ),
        ("select count(*) from customers a, customers b, orders c", "80"),
        (
            "select id, id = any (select customer from orders), id > all (select customer from orders where customer is not null) from customers order by id",
            "1 1 0, 2 1 0, 3 NULL 0, 4 NULL 0",
        ),
    ] {
        assert_eq!(c.rows(sql).join(", "), expected, "{sql}");
    }
    assert_eq!(
        c.error("select (select id from orders)"),
        "1242 Subquery returns more than 1 row"
    );
}

#[test]
fn a_query_of_several_tables_reads_one_moment_only_of_a_snapshot() {
    let db = db();
    let c = db.conn();
    for (sql, one_moment) in [
        ("select * from customers where id = 1", true),
        ("select 1 union select 2", true),
        (
            "select * from customers a join orders b on a.id = b.customer where a.id = 1 and b.id = 10",
            false,
        ),
        (
            "select * from customers where id = 1 union all select * from customers where id = 2",
            false,
        ),
        ("select (select name from customers where id = 1)", false),
    ] {
        assert_eq!(
            executor::reads_one_moment(&query_of(&c, sql)),
            one_moment,
            "{sql}"
        );
    }
}

#[test]
fn insert_select_does_not_see_its_own_rows_through_a_join() {
    let db = db();
    let mut c = db.conn();
    let sql = "insert into orders select a.id + 100 + b.id, b.customer, b.amount from orders a join orders b on b.customer = a.customer";
    // Pairs: (10, 10), (10, 11), (11, 10), (11, 11), (12, 12), (14, 14).
    let inserted = c.run(&sql.replace("a.id + 100 + b.id", "a.id * 100 + b.id"), &[]);
    match inserted.unwrap() {
        Answer::Done(done) => assert_eq!(done.affected, 6),
        Answer::Rows(_) => panic!("no rows"),
    }
    assert_eq!(c.rows("select count(*) from orders"), ["11"]);
    db.check("orders");
}

#[test]
fn insert_select_locks_what_it_reads_of_all_tables() {
    let db = db();
    db.conn().exec("create table target (id int primary key, n int)");
    let mut c = db.conn();
    let Plan::Insert(plan) = c
        .plan(
            "insert into target select c.id, (select count(*) from orders o where o.customer = c.id) from customers c where c.id < 3",
            &[],
        )
        .unwrap()
    else {
        panic!("an insert");
    };
    c.begin();
    let mut txn = c.txn.take().unwrap();
    let eval = c.eval(&[], true);
    let mut ctx = c.context(&eval);
    ctx.insert_select = Some(Locking {
        exclusive: false,
        wait: LockingWait::Wait,
        of_write: true,
    });
    assert_eq!(executor::insert(&plan, &mut txn, &ctx).unwrap().affected, 2);
    let mut other = db.conn();
    for sql in [
        "update customers set name = 'x' where id = 1",
        "update orders set amount = 1 where id = 11",
    ] {
        assert!(other.error(sql).starts_with("1205"), "{sql}");
    }
    assert_eq!(
        other.exec("update customers set name = 'x' where id = 4").matched,
        1
    );
    txn.rollback();
    assert_eq!(
        other.exec("update orders set amount = 1 where id = 11").matched,
        1
    );
}

#[test]
fn for_update_locks_only_the_tables_it_names() {
    let db = db();
    let mut c = db.conn();
    c.begin();
    let rows = c.rows(
        "select c.name, o.id from customers c join orders o on o.customer = c.id where c.id = 1 order by o.id for update of o",
    );
    assert_eq!(rows, ["ann 10", "ann 11"]);
    let mut other = db.conn();
    assert_eq!(
        other.exec("update customers set name = 'x' where id = 1").matched,
        1
    );
    assert!(
        other
            .error("update orders set amount = 1 where id = 10")
            .starts_with("1205")
    );
    c.rollback();
}

#[test]
fn a_long_chain_of_set_operations_runs() {
    let db = db();
    let mut c = db.conn();
    for (operator, expected) in [("union all", "2000"), ("union", "2000"), ("except", "1")] {
        let selects: Vec<String> = (0..2000).map(|n| format!("select {n} n")).collect();
        let sql = format!(
            "select count(*) from ({}) x",
            selects.join(&format!(" {operator} "))
        );
        assert_eq!(c.rows(&sql), [expected], "{operator}");
    }
}
