// An application on Sequelize.
'use strict';

const { Sequelize, DataTypes, Op } = require('sequelize');
const { emptyDatabase, step, where } = require('./steps');

const database = 'framework_sequelize';

async function main() {
  await emptyDatabase(database);
  const s = new Sequelize(database, 'root', '', { host: where.host, port: where.port, dialect: 'mysql', logging: false });
  const User = s.define(
    'User',
    {
      name: { type: DataTypes.STRING(60), allowNull: false, unique: true, comment: 'the name' },
      age: DataTypes.INTEGER.UNSIGNED,
      bal: { type: DataTypes.DECIMAL(12, 2), defaultValue: 0 },
      meta: DataTypes.JSON,
      kind: DataTypes.ENUM('a', 'b'),
      uid: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 },
      bio: DataTypes.TEXT('long'),
      bin: DataTypes.BLOB,
      active: { type: DataTypes.BOOLEAN, defaultValue: true },
      born: DataTypes.DATEONLY,
      at: DataTypes.TIME,
      seen: DataTypes.DATE(6),
      dbl: DataTypes.DOUBLE,
      fl: DataTypes.FLOAT,
      big: DataTypes.BIGINT.UNSIGNED,
    },
    { paranoid: true, indexes: [{ fields: ['age', 'name'] }, { fields: [{ name: 'bio', length: 20 }] }] },
  );
  const Post = s.define('Post', { title: DataTypes.STRING, views: { type: DataTypes.INTEGER, defaultValue: 0 } });
  const Tag = s.define('Tag', { t: DataTypes.STRING(20) }, { timestamps: false });
  User.hasMany(Post, { as: 'posts', foreignKey: 'userId', onDelete: 'CASCADE' });
  Post.belongsTo(User, { as: 'user', foreignKey: 'userId' });
  Post.belongsToMany(Tag, { through: 'PostTags' });
  Tag.belongsToMany(Post, { through: 'PostTags' });
  await step('sync', () => s.sync({ force: true }).then(() => {}));
  await step('sync alter', () => s.sync({ alter: true }).then(() => {}));
  await step('sync alter again', () => s.sync({ alter: true }).then(() => {}));
  let u;
  await step('create', async () => {
    u = await User.create(
      {
        name: 'Ann',
        age: 30,
        bal: '12.50',
        meta: { a: [1, { b: 'x' }], k: 'v' },
        kind: 'a',
        bio: 'é😀',
        bin: Buffer.from([0, 255]),
        born: '1990-01-02',
        at: '10:11:12',
        seen: new Date(1700000000123),
        dbl: 1.5,
        fl: 2.5,
        big: '18446744073709551615',
        posts: [{ title: 'p1' }, { title: 'p2' }],
      },
      { include: [{ model: Post, as: 'posts' }] },
    );
    return [u.id, u.posts.length];
  });
  await step('bulkCreate', async () =>
    (
      await User.bulkCreate([
        { name: 'Bob', age: 40, kind: 'b', meta: { k: 'w' } },
        { name: 'Cid', age: 50 },
      ])
    ).map((x) => x.id),
  );
  await step('upsert', async () => User.upsert({ name: 'Bob', age: 41 }).then((r) => r[1]));
  await step(
    'bulk upsert',
    async () =>
      (
        await User.bulkCreate(
          [
            { name: 'Bob', age: 42 },
            { name: 'Dan', age: 1 },
          ],
          { updateOnDuplicate: ['age'] },
        )
      ).length,
  );
  await step('findAndCountAll include limit', async () => {
    const r = await User.findAndCountAll({
      include: [{ model: Post, as: 'posts', required: false }],
      order: [
        ['age', 'DESC'],
        [{ model: Post, as: 'posts' }, 'id', 'ASC'],
      ],
      limit: 2,
      distinct: true,
    });
    return [r.count, r.rows.map((x) => x.name)];
  });
  await step('json where', async () =>
    (await User.findAll({ where: { 'meta.k': 'v' } })).map((x) => [
      x.name,
      x.meta,
      x.bal,
      x.big,
      x.born,
      x.at,
      x.seen && x.seen.toISOString(),
      x.active,
      x.bin,
    ]),
  );
  await step('json extract order', async () =>
    (await User.findAll({ where: { meta: { a: { [Op.ne]: null } } }, order: [[s.json('meta.k'), 'ASC']] })).map((x) => x.name),
  );
  await step(
    'group having',
    async () =>
      await User.findAll({
        attributes: ['kind', [s.fn('COUNT', s.col('id')), 'n'], [s.fn('AVG', s.col('age')), 'avg']],
        group: ['kind'],
        having: s.where(s.fn('COUNT', s.col('id')), '>', 0),
        order: ['kind'],
        raw: true,
      }),
  );
  await step('increment', async () => {
    await Post.increment({ views: 2 }, { where: { title: 'p1' } });
    return (await Post.findOne({ where: { title: 'p1' } })).views;
  });
  await step('tags', async () => {
    const p = await Post.findOne({ where: { title: 'p1' } });
    await p.setTags([await Tag.create({ t: 'x' }), await Tag.create({ t: 'y' })]);
    const q = await Post.findAll({
      include: [
        { model: Tag, where: { t: 'x' } },
        { model: User, as: 'user' },
      ],
    });
    return q.map((z) => [z.title, z.user.name, z.Tags.length]);
  });
  await step('findOrCreate', async () => (await User.findOrCreate({ where: { name: 'Eve' }, defaults: { age: 9 } }))[1]);
  await step('op', async () =>
    (
      await User.findAll({
        where: { [Op.or]: [{ name: { [Op.like]: '%n%' } }, { age: { [Op.between]: [1, 45] } }], kind: { [Op.notIn]: ['b'] } },
        order: ['id'],
      })
    ).map((x) => x.name),
  );
  await step('regexp', async () => (await User.findAll({ where: { name: { [Op.regexp]: '^A' } } })).length);
  for (const iso of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ'])
    await step('tx ' + iso, async () =>
      s.transaction({ isolationLevel: iso }, async (t) => {
        const x = await User.findOne({ where: { name: 'Ann' }, lock: t.LOCK.UPDATE, transaction: t });
        x.age++;
        await x.save({ transaction: t });
        return x.age;
      }),
    );
  await step('tx rollback', async () => {
    try {
      await s.transaction(async (t) => {
        await User.create({ name: 'Zed' }, { transaction: t });
        throw new Error('x');
      });
    } catch (e) {}
    return User.count({ where: { name: 'Zed' } });
  });
  await step('skip locked', async () =>
    s.transaction((t) => User.findAll({ lock: true, skipLocked: true, transaction: t, limit: 1 }).then((r) => r.length)),
  );
  await step('unique error', async () => {
    try {
      await User.create({ name: 'Ann' });
    } catch (e) {
      return [e.name, e.errors.map((x) => x.path)];
    }
  });
  await step('fk error', async () => {
    try {
      await Post.create({ title: 'q', userId: 999 });
    } catch (e) {
      return [e.name, e.table, e.fields, e.index];
    }
  });
  await step('paranoid', async () => {
    await u.destroy();
    const n = await User.count();
    await u.restore();
    return [n, await User.count()];
  });
  await step('destroy cascades', async () => {
    await u.destroy({ force: true });
    return Post.count();
  });
  const q = s.getQueryInterface();
  await step('describe', async () => q.describeTable('Users'));
  await step('showIndex', async () => (await q.showIndex('Users')).map((i) => [i.name, i.unique, i.type, i.fields]));
  await step('foreign keys', async () => await q.getForeignKeyReferencesForTable('Posts'));
  await step('showAllTables', async () => (await q.showAllTables()).map((t) => t.tableName ?? t).sort());
  await step('migrations', async () => {
    await q.addColumn('Users', 'extra', { type: DataTypes.STRING, defaultValue: 'x', after: 'age' });
    await q.changeColumn('Users', 'extra', { type: DataTypes.TEXT });
    await q.renameColumn('Users', 'extra', 'extra2');
    await q.addIndex('Users', ['kind'], { name: 'ki' });
    await q.removeIndex('Users', 'ki');
    await q.addConstraint('Posts', { fields: ['title', 'userId'], type: 'unique', name: 'uq' });
    await q.removeConstraint('Posts', 'uq');
    await q.removeColumn('Users', 'extra2');
    await q.renameTable('Tags', 'Tags2');
    await q.renameTable('Tags2', 'Tags');
  });
  await step('truncate', () => Post.truncate());
  await step('drop', () => s.drop());

  await s.close();
}

main();
