// An application on Knex and Objection.
'use strict';

const knex = require('knex');
const { Model } = require('objection');
const { emptyDatabase, step, where } = require('./steps');

const database = 'framework_knex';

async function main() {
  await emptyDatabase(database);
  const k = knex({ client: 'mysql2', connection: { ...where, database } });
  await step('schema', async () => {
    await k.schema.dropTableIfExists('kp');
    await k.schema.dropTableIfExists('ku');
    await k.schema.createTable('ku', (t) => {
      t.increments();
      t.string('name', 40).notNullable().unique().comment('n');
      t.json('j');
      t.enu('e', ['a', 'b']).defaultTo('a');
      t.timestamps(true, true);
      t.decimal('d', 8, 3);
      t.uuid('u');
      t.boolean('b').defaultTo(true);
      t.double('f');
      t.binary('bin', 20);
      t.specificType('g', 'int generated always as (d*2) virtual');
    });
    await k.schema.createTable('kp', (t) => {
      t.bigIncrements();
      t.integer('uid').unsigned().references('id').inTable('ku').onDelete('cascade').index();
      t.text('t', 'longtext');
      t.unique(['uid', 'id']);
    });
    await k.schema.alterTable('ku', (t) => {
      t.string('name', 80).notNullable().alter();
      t.renameColumn('f', 'ff');
      t.dropColumn('u');
      t.index(['e', 'd'], 'ed');
      t.integer('aft').after('name');
      t.setNullable('name');
    });
    return [await k.schema.hasTable('ku'), await k.schema.hasColumn('ku', 'ff')];
  });
  await step('columnInfo', async () => k('ku').columnInfo());
  await step('insert', async () => k('ku').insert([{ name: 'a', j: JSON.stringify({ x: [1, 2] }), d: 1.5 }, { name: 'b' }]));
  await step('merge', async () =>
    k('ku')
      .insert([{ name: 'a', d: 2 }, { name: 'c' }])
      .onConflict('name')
      .merge(['d']),
  );
  await step('ignore', async () => k('ku').insert({ name: 'a' }).onConflict('name').ignore());
  await step('select', async () =>
    k('ku')
      .select('id', 'name', 'd', 'g')
      .where((q) => q.where('d', '>', 1).orWhereNull('d'))
      .orderBy([{ column: 'name', order: 'desc' }])
      .limit(2)
      .offset(1),
  );
  await step('json', async () => k('ku').jsonExtract('j', '$.x[0]', 'x0').whereJsonPath('j', '$.x[0]', '=', 1));
  await step('json superset', async () =>
    k('ku')
      .whereJsonSupersetOf('j', { x: [1] })
      .count('* as n'),
  );
  await step('cte/window', async () =>
    k
      .with(
        'w',
        k('ku')
          .select('id', 'name')
          .rank('r', (q) => q.orderBy('name', 'desc')),
      )
      .select('*')
      .from('w')
      .orderBy('id'),
  );
  await step('recursive', async () =>
    k.withRecursive('c', ['n'], k.raw('select 1 union all select n + 1 from c where n < 4')).sum('n as s').from('c'),
  );
  await step('increment', async () => [await k('ku').where({ name: 'a' }).increment('d', 2), await k('ku').where({ name: 'a' }).pluck('d')]);
  await step('tx', async () => {
    try {
      await k.transaction(
        async (t) => {
          await t('ku').insert({ name: 'q' });
          await t.transaction(async (s) => {
            await s('ku').insert({ name: 's' });
          });
          await t('ku').forUpdate().skipLocked().first();
          throw new Error('x');
        },
        { isolationLevel: 'repeatable read' },
      );
    } catch (e) {
      if (e.message !== 'x') throw e;
    }
    return k('ku').count('* as n');
  });
  await step('migrate', async () => {
    const src = {
      getMigrations: async () => ['m1', 'm2'],
      getMigrationName: (m) => m,
      getMigration: async (m) => ({ up: (k) => k.schema.createTable('t_' + m, (t) => t.increments()), down: (k) => k.schema.dropTable('t_' + m) }),
    };
    const r = [
      await k.migrate.latest({ migrationSource: src }),
      await k.migrate.currentVersion({ migrationSource: src }),
      await k.migrate.rollback({ migrationSource: src }, true),
    ];
    await k.schema.dropTable('knex_migrations');
    await k.schema.dropTable('knex_migrations_lock');
    return r;
  });
  class P extends Model {
    static get tableName() {
      return 'kp';
    }
  }
  class U extends Model {
    static get tableName() {
      return 'ku';
    }
    static get relationMappings() {
      return { posts: { relation: Model.HasManyRelation, modelClass: P, join: { from: 'ku.id', to: 'kp.uid' } } };
    }
  }
  Model.knex(k);
  await step('objection graph', async () => {
    await U.query().insertGraph({ name: 'og', posts: [{ t: '1' }, { t: '2' }] });
    return (await U.query().withGraphJoined('posts').where('ku.name', 'og').orderBy('posts.id')).map((u) => u.posts.map((p) => p.t).sort());
  });
  await step('objection upsertGraph', async () => {
    const u = await U.query().findOne({ name: 'og' }).withGraphFetched('posts');
    await U.query().upsertGraph({ id: u.id, posts: [{ id: u.posts[0].id, t: '9' }, { t: '3' }] });
    return (await P.query().orderBy('id')).map((p) => p.t);
  });
  await step('stream', async () => {
    let n = 0;
    for await (const r of k('ku').stream()) n++;
    return n;
  });
  await step('truncate', async () =>
    k('kp')
      .truncate()
      .then(() => {}),
  );

  await k.destroy();
}

main();
