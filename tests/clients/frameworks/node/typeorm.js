// An application on TypeORM.
'use strict';

require('reflect-metadata');
const { DataSource, EntitySchema, Table, TableColumn, TableIndex, TableForeignKey, In, Like, Between, IsNull } = require('typeorm');
const { emptyDatabase, step, where } = require('./steps');

const database = 'framework_typeorm';

const User = new EntitySchema({
  name: 'User',
  columns: {
    id: { type: 'int', primary: true, generated: true },
    name: { type: 'varchar', length: 50, unique: true },
    age: { type: 'int', unsigned: true, nullable: true, default: 7 },
    bal: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    meta: { type: 'json', nullable: true },
    kind: { type: 'enum', enum: ['a', 'b'], default: 'a' },
    tags: { type: 'simple-array', nullable: true },
    set: { type: 'set', enum: ['x', 'y'], nullable: true },
    at: { type: 'datetime', precision: 6, createDate: true },
    up: { type: 'datetime', precision: 6, updateDate: true },
    ver: { type: 'int', version: true },
    del: { type: 'datetime', nullable: true, deleteDate: true },
    up_name: { type: 'varchar', length: 60, asExpression: 'upper(`name`)', generatedType: 'STORED', nullable: true },
    b: { type: 'boolean', default: true },
    yr: { type: 'year', nullable: true },
    bl: { type: 'blob', nullable: true },
    bits: { type: 'bit', width: 3, nullable: true },
  },
  relations: { posts: { type: 'one-to-many', target: 'Post', inverseSide: 'user', cascade: true } },
  indices: [{ columns: ['age', 'kind'] }],
  checks: [{ expression: 'age < 1000' }],
});
const Post = new EntitySchema({
  name: 'Post',
  columns: { id: { type: 'varchar', length: 36, primary: true, generated: 'uuid' }, title: { type: 'text' }, views: { type: 'bigint', default: 0 } },
  relations: {
    user: { type: 'many-to-one', target: 'User', inverseSide: 'posts', onDelete: 'CASCADE' },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: true, cascade: true },
  },
});
const Tag = new EntitySchema({
  name: 'Tag',
  columns: { id: { type: 'int', primary: true, generated: true }, t: { type: 'varchar' } },
  relations: { parent: { type: 'many-to-one', target: 'Tag', nullable: true } },
});

async function main() {
  await emptyDatabase(database);
  const ds = new DataSource({
    type: 'mysql',
    host: where.host,
    port: where.port,
    username: 'root',
    database,
    entities: [User, Post, Tag],
    bigNumberStrings: true,
  });
  await ds.initialize();
  await step('sync', () => ds.synchronize(true).then(() => {}));
  await step('sync log empty', async () => (await ds.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query));
  const U = ds.getRepository('User'),
    P = ds.getRepository('Post');
  await step('save cascade', async () => {
    const u = await U.save({
      name: 'Ann',
      age: 3,
      meta: { a: 1 },
      tags: ['q', 'w'],
      set: ['x', 'y'],
      posts: [{ title: 't1', tags: [{ t: 'z' }] }, { title: 't2' }],
    });
    return [u.id, u.ver, u.b, u.kind, u.bal];
  });
  await step(
    'insert many',
    async () => (await U.insert([{ name: 'Bob' }, { name: 'Cid', kind: 'b', yr: 2020, bl: Buffer.from([1, 0, 255]) }])).identifiers,
  );
  await step('upsert', async () => {
    await U.upsert(
      [
        { name: 'Bob', age: 9 },
        { name: 'Dan', age: 8 },
      ],
      ['name'],
    );
    return (await U.find({ order: { id: 'ASC' } })).map((u) => [u.id, u.name, u.age, u.bal, u.meta, u.tags, u.set, u.up_name, u.ver, u.b, u.yr]);
  });
  await step('relations paged', async () => {
    const [r, n] = await U.findAndCount({ relations: { posts: { tags: true } }, take: 2, skip: 0, order: { name: 'ASC' } });
    return [n, r.map((u) => [u.name, u.posts.length])];
  });
  await step('qb', async () =>
    U.createQueryBuilder('u')
      .leftJoin('u.posts', 'p')
      .select('u.kind', 'kind')
      .addSelect('COUNT(p.id)', 'n')
      .addSelect('SUM(u.age)', 's')
      .groupBy('u.kind')
      .having('COUNT(*)>0')
      .orderBy('n', 'DESC')
      .getRawMany(),
  );
  await step('qb json', async () => U.createQueryBuilder('u').where("JSON_EXTRACT(u.meta,'$.a') = :v", { v: 1 }).getCount());
  await step('subquery exists', async () =>
    U.createQueryBuilder('u')
      .where((q) => 'EXISTS ' + q.subQuery().select('1').from('Post', 'p').where('p.userId=u.id').getQuery())
      .getCount(),
  );
  await step(
    'find ops',
    async () =>
      (await U.find({ where: [{ name: In(['Ann', 'Bob']) }, { name: Like('C%'), age: Between(1, 100) }, { meta: IsNull(), kind: 'b' }] })).length,
  );
  await step(
    'update qb',
    async () =>
      (
        await U.createQueryBuilder()
          .update()
          .set({ age: () => 'age+1' })
          .where('age<:a', { a: 9 })
          .execute()
      ).affected,
  );
  await step('soft delete', async () => {
    await U.softDelete({ name: 'Dan' });
    const n = await U.count();
    await U.restore({ name: 'Dan' });
    return [n, await U.count()];
  });
  for (const i of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ'])
    await step('tx ' + i, async () =>
      ds.transaction(i, async (m) => {
        const u = await m.findOne('User', { where: { name: 'Ann' }, lock: { mode: 'pessimistic_write' } });
        u.age++;
        return (await m.save('User', u)).ver;
      }),
    );
  await step('lock modes', async () =>
    ds.transaction(async (m) => {
      const r = [];
      for (const mode of ['pessimistic_read', 'pessimistic_write', 'pessimistic_partial_write', 'pessimistic_write_or_fail'])
        r.push((await m.createQueryBuilder('User', 'u').setLock(mode).where('u.id=1').getMany()).length);
      return r;
    }),
  );
  await step('rollback', async () => {
    try {
      await ds.transaction(async (m) => {
        await m.insert('User', { name: 'Z' });
        await m.transaction(async (n) => {
          await n.insert('User', { name: 'Y' });
        });
        throw 1;
      });
    } catch (e) {}
    return U.count();
  });
  await step('dup', async () => {
    try {
      await U.insert({ name: 'Ann' });
    } catch (e) {
      return [e.code, e.errno, e.driverError.sqlState];
    }
  });
  await step('check', async () => {
    try {
      await U.insert({ name: 'An2', age: 5000 });
    } catch (e) {
      return [e.code, e.message];
    }
  });
  const q = ds.createQueryRunner();
  await step('migrations api', async () => {
    await q.createTable(
      new Table({
        name: 'm1',
        columns: [
          { name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
          { name: 'a', type: 'varchar', length: '20', isNullable: true, comment: "it's" },
          { name: 'uid', type: 'int', isNullable: true },
        ],
        indices: [{ columnNames: ['a'] }],
        uniques: [{ columnNames: ['uid'] }],
      }),
      true,
    );
    await q.addColumn('m1', new TableColumn({ name: 'b', type: 'timestamp', default: 'CURRENT_TIMESTAMP', onUpdate: 'CURRENT_TIMESTAMP' }));
    await q.changeColumn('m1', 'a', new TableColumn({ name: 'a2', type: 'varchar', length: '30', isNullable: true }));
    await q.createForeignKey(
      'm1',
      new TableForeignKey({ columnNames: ['uid'], referencedColumnNames: ['id'], referencedTableName: 'user', onDelete: 'SET NULL' }),
    );
    await q.createIndex('m1', new TableIndex({ columnNames: ['a2', 'b'], name: 'ix' }));
    const t = await q.getTable('m1');
    await q.dropColumn('m1', 'b');
    await q.renameTable('m1', 'm2');
    const t2 = await q.getTable('m2');
    await q.dropPrimaryKey('m2').catch((e) => console.log('pk', e.message));
    await q.dropTable('m2');
    return [t, t2].map((t) => [
      t.columns.map((c) => [c.name, c.type, c.length, c.default, c.onUpdate, c.comment, c.isNullable]),
      t.indices.map((i) => [i.name, i.columnNames, i.isUnique]),
      t.foreignKeys.map((f) => [f.name, f.onDelete]),
    ]);
  });
  await step('clear db', async () => {
    await q.clearDatabase();
    await q.release();
  });

  await ds.destroy();
}

main();
