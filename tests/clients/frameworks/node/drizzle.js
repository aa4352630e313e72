// An application on Drizzle and mysql2. drizzle/ is what drizzle-kit generated from its tables.
'use strict';

const mysql = require('mysql2/promise');
const m = require('drizzle-orm/mysql-core');
const { drizzle } = require('drizzle-orm/mysql2');
const { migrate } = require('drizzle-orm/mysql2/migrator');
const { count, desc, eq, gt, relations, sql } = require('drizzle-orm');
const { emptyDatabase, step, where } = require('./steps');

const database = 'framework_drizzle';

const users = m.mysqlTable('users', {
  id: m.serial('id').primaryKey(),
  name: m.varchar('name', { length: 50 }).notNull().unique(),
  age: m.int('age'),
  meta: m.json('meta'),
  kind: m.mysqlEnum('kind', ['a', 'b']).default('a'),
  at: m.timestamp('at', { fsp: 3 }).defaultNow(),
  bal: m.decimal('bal', { precision: 10, scale: 2 }),
  ok: m.boolean('ok').default(true),
});
const posts = m.mysqlTable('posts', {
  id: m.bigint('id', { mode: 'number', unsigned: true }).autoincrement().primaryKey(),
  uid: m.bigint('uid', { mode: 'number', unsigned: true }).references(() => users.id),
  title: m.text('title'),
});
const ur = relations(users, ({ many }) => ({ posts: many(posts) })),
  pr = relations(posts, ({ one }) => ({ user: one(users, { fields: [posts.uid], references: [users.id] }) }));

async function main() {
  await emptyDatabase(database);
  const c = await mysql.createConnection({ ...where, database });
  const db = drizzle(c, { schema: { users, posts, ur, pr }, mode: 'default' });
  await step('migrate', () => migrate(db, { migrationsFolder: `${__dirname}/drizzle` }));
  await step('migrate again', () => migrate(db, { migrationsFolder: `${__dirname}/drizzle` }));
  await step('insert', async () =>
    db
      .insert(users)
      .values([
        { name: 'Ann', age: 3, meta: { a: 1 } },
        { name: 'Bob', age: 4, bal: '1.50' },
      ])
      .$returningId(),
  );
  await step(
    'upsert',
    async () =>
      (
        await db
          .insert(users)
          .values({ name: 'Ann', age: 5 })
          .onDuplicateKeyUpdate({ set: { age: sql`values(${users.age})` } })
      )[0].affectedRows,
  );
  await step('posts', async () =>
    db
      .insert(posts)
      .values([
        { uid: 1, title: 'x' },
        { uid: 1, title: 'y' },
      ])
      .then(() => {}),
  );
  await step('relational query (lateral)', async () =>
    (await db.query.users.findMany({ with: { posts: { with: { user: true } } }, orderBy: [desc(users.id)], limit: 5 })).map((u) => ({
      ...u,
      at: null,
      posts: u.posts.map((p) => [p.title, p.user.name]),
    })),
  );
  await step('findFirst', async () => await db.query.posts.findFirst({ with: { user: { columns: { name: true } } }, where: eq(posts.title, 'y') }));
  await step('join group', async () =>
    db
      .select({ n: users.name, c: count(posts.id) })
      .from(users)
      .leftJoin(posts, eq(users.id, posts.uid))
      .groupBy(users.name)
      .orderBy(users.name),
  );
  await step('cte', async () => {
    const q = db.$with('q').as(db.select({ id: users.id, n: users.name }).from(users).where(gt(users.age, 1)));
    return db.with(q).select().from(q).orderBy(q.id);
  });
  await step('tx', async () => {
    try {
      await db.transaction(
        async (t) => {
          await t.insert(users).values({ name: 'Z' });
          await t
            .transaction(async (u) => {
              await u.insert(users).values({ name: 'Y' });
              u.rollback();
            })
            .catch(() => {});
          await t
            .update(users)
            .set({ age: sql`${users.age}+1` })
            .where(eq(users.name, 'Z'));
        },
        { isolationLevel: 'read committed' },
      );
    } catch (e) {
      throw e;
    }
    return await db.select({ c: count() }).from(users);
  });
  await step('union', async () => {
    const u = await m.union(db.select({ n: users.name }).from(users), db.select({ n: posts.title }).from(posts));
    return u.map((r) => r.n).sort();
  });
  await step('prepared', async () => {
    const p = db
      .select()
      .from(users)
      .where(eq(users.id, sql.placeholder('id')))
      .prepare();
    return (await p.execute({ id: 1 })).map((x) => [x.name, x.age, x.meta, x.ok]);
  });

  await c.end();
}

main();
