"""An application on SQLAlchemy, with Alembic's migrations."""

import datetime
import decimal
import enum

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, joinedload, mapped_column, relationship, selectinload

from steps import HOST, PORT, empty_database, step

DATABASE = "framework_sqlalchemy"
empty_database(DATABASE)
engine = sa.create_engine(f"mysql+pymysql://root@{HOST}:{PORT}/{DATABASE}?charset=utf8mb4")


class Base(DeclarativeBase):
    pass


class Kind(enum.Enum):
    small = 1
    large = 2


tagged = sa.Table(
    "tagged",
    Base.metadata,
    sa.Column("item_id", sa.ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("tag.id"), primary_key=True),
)


class Owner(Base):
    __tablename__ = "owner"
    __table_args__ = (sa.Index("by_kind", "kind", "name"), sa.CheckConstraint("score >= 0", name="score_ok"), {"comment": "who owns"})
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(60), unique=True, comment="it's a name")
    kind: Mapped[Kind] = mapped_column(default=Kind.small)
    balance: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(12, 2), server_default="0.00")
    born: Mapped[datetime.date | None]
    seen: Mapped[datetime.datetime | None] = mapped_column(mysql.DATETIME(fsp=6))
    data: Mapped[dict | None] = mapped_column(sa.JSON)
    picture: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    bio: Mapped[str | None] = mapped_column(sa.Text)
    score: Mapped[float] = mapped_column(default=0.0)
    active: Mapped[bool] = mapped_column(default=True)
    upper_name: Mapped[str | None] = mapped_column(sa.String(60), sa.Computed("upper(name)"))
    version: Mapped[int] = mapped_column(default=1)
    items: Mapped[list["Item"]] = relationship(back_populates="owner", cascade="all, delete-orphan", order_by="Item.id")
    __mapper_args__ = {"version_id_col": version}


class Item(Base):
    __tablename__ = "item"
    id: Mapped[int] = mapped_column(sa.BigInteger, primary_key=True)
    owner_id: Mapped[int] = mapped_column(sa.ForeignKey("owner.id", ondelete="CASCADE", name="item_owner"))
    parent_id: Mapped[int | None] = mapped_column(sa.ForeignKey("item.id"))
    price: Mapped[int] = mapped_column(mysql.INTEGER(unsigned=True))
    owner: Mapped[Owner] = relationship(back_populates="items")
    tags: Mapped[list["Tag"]] = relationship(secondary=tagged, order_by="Tag.id")


class Tag(Base):
    __tablename__ = "tag"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(30, collation="utf8mb4_bin"))


@step("create the schema")
def _():
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)


@step("add")
def _():
    with Session(engine) as s:
        red, blue = Tag(text="red"), Tag(text="blue")
        ann = Owner(
            name="Ann", kind=Kind.large, balance=decimal.Decimal("12.50"), born=datetime.date(1990, 2, 28), seen=datetime.datetime(2024, 5, 6, 7, 8, 9, 123456),
            data={"level": 3, "tags": ["a", "b"]}, picture=b"\0\xff'", bio="é😀", score=1.5, items=[Item(price=10, tags=[red, blue]), Item(price=20, tags=[red])],
        )
        s.add_all([ann, Owner(name="Bob"), Owner(name="Cid", items=[Item(price=n) for n in range(5)])])
        s.commit()
        return ann.id, [i.id for i in ann.items], ann.upper_name, ann.balance


@step("get")
def _():
    with Session(engine) as s:
        o = s.get(Owner, 1)
        return o.name, o.kind, o.balance, o.born, o.seen, o.data, o.picture, o.bio, o.score, o.active, o.version, [[t.text for t in i.tags] for i in o.items]


@step("load strategies")
def _():
    with Session(engine) as s:
        a = s.scalars(sa.select(Owner).options(joinedload(Owner.items).joinedload(Item.tags)).order_by(Owner.id)).unique().all()
        b = s.scalars(sa.select(Owner).options(selectinload(Owner.items)).order_by(Owner.name.desc()).limit(2)).all()
        return [len(o.items) for o in a], [(o.name, len(o.items)) for o in b]


def rows(statement):
    with Session(engine) as s:
        return [tuple(r) for r in s.execute(statement)]


@step("group and having")
def _():
    total = sa.func.sum(Item.price).label("total")
    return rows(sa.select(Owner.name, sa.func.count(Item.id), total).outerjoin(Item).group_by(Owner.id).having(sa.func.count(Item.id) >= 0).order_by(total.desc(), Owner.name))


@step("window, common table expression, lateral")
def _():
    ranked = sa.select(Item.owner_id, Item.price, sa.func.row_number().over(partition_by=Item.owner_id, order_by=Item.price.desc()).label("n")).cte("ranked")
    last = sa.select(Item.price).where(Item.owner_id == Owner.id).order_by(Item.price.desc()).limit(1).lateral("last")
    return (
        rows(sa.select(ranked).where(ranked.c.n <= 2).order_by(ranked.c.owner_id, ranked.c.n)),
        rows(sa.select(Owner.name, last.c.price).join(last, sa.true(), isouter=True).order_by(Owner.id)),
    )


@step("recursive")
def _():
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < 5))
    return rows(sa.select(sa.func.sum(numbers.c.n)))


@step("json")
def _():
    return rows(sa.select(Owner.name, Owner.data["tags"][1].as_string(), Owner.data["level"].as_integer() + 1).where(Owner.data["level"].as_integer() == 3))


@step("set operations and subqueries")
def _():
    other = aliased(Item)
    cheap = sa.select(Item.id).where(Item.price < sa.select(sa.func.avg(other.price)).scalar_subquery())
    return (
        sorted(rows(sa.union(sa.select(Owner.name), sa.select(Tag.text)))),
        rows(sa.select(sa.func.count()).where(Item.id.in_(cheap)).select_from(Item)),
        rows(sa.select(Owner.name).where(Owner.items.any(Item.price > 15) | Owner.name.ilike("B%")).order_by(Owner.name)),
    )


@step("upsert")
def _():
    insert = mysql.insert(Owner).values([{"name": "Bob", "score": 5, "version": 1}, {"name": "Dan", "score": 6, "version": 1}])
    with engine.begin() as c:
        count = c.execute(insert.on_duplicate_key_update(score=insert.inserted.score + 1)).rowcount
    return count, rows(sa.select(Owner.id, Owner.name, Owner.score).order_by(Owner.id))


@step("insert many and their ids")
def _():
    with Session(engine) as s:
        tags = [Tag(text=f"t{n}") for n in range(100)]
        s.add_all(tags)
        s.commit()
        return tags[0].id, tags[99].id


@step("bulk update and delete")
def _():
    with Session(engine) as s:
        a = s.execute(sa.update(Item).where(Item.owner_id == sa.select(Owner.id).where(Owner.name == "Cid").scalar_subquery()).values(price=Item.price + 1)).rowcount
        b = s.execute(sa.update(Item).where(Item.owner_id == Owner.id, Owner.name == "Ann").values(price=7)).rowcount
        c = s.execute(sa.delete(Tag).where(Tag.text.like("t%"))).rowcount
        s.commit()
        return a, b, c


@step("savepoints")
def _():
    with Session(engine) as s:
        s.add(Tag(text="kept"))
        try:
            with s.begin_nested():
                s.add(Owner(name="Ann"))
        except sa.exc.IntegrityError as e:
            error = e.orig.args
        s.commit()
        return error, s.scalar(sa.select(sa.func.count()).select_from(Tag))


@step("a stale version")
def _():
    with Session(engine) as s, Session(engine) as other:
        o, p = s.get(Owner, 1), other.get(Owner, 1)
        p.score = 3
        other.commit()
        o.score = 4
        s.commit()


@step("locks")
def _():
    with Session(engine) as s:
        q = sa.select(Owner.name).where(Owner.id == 1)
        return [s.scalar(q.with_for_update(**o)) for o in ({}, {"read": True}, {"nowait": True}, {"skip_locked": True}, {"of": Owner})]


@step("isolation levels")
def _():
    out = []
    for level in ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "AUTOCOMMIT"):
        with engine.connect().execution_options(isolation_level=level) as c:
            out.append((c.get_isolation_level(), c.scalar(sa.text("SELECT COUNT(*) FROM tag"))))
    return out


@step("a violated check and foreign key")
def _():
    out = []
    for bad in (Owner(name="Zoe", score=-1), Item(owner_id=99, price=1)):
        with Session(engine) as s:
            s.add(bad)
            try:
                s.commit()
            except sa.exc.DatabaseError as e:
                out.append(e.orig.args)
    return out


@step("rows one by one")
def _():
    with engine.connect().execution_options(stream_results=True) as c:
        return [r.price for r in c.execute(sa.select(Item.price).order_by(Item.id)).yield_per(2)]


@step("reflection")
def _():
    i = sa.inspect(engine)
    reflected = sa.MetaData()
    reflected.reflect(engine)
    return (
        i.get_table_names(),
        [(c["name"], str(c["type"]), c["nullable"], c["default"], c["comment"], c.get("computed")) for c in i.get_columns("owner")],
        i.get_pk_constraint("tagged"), i.get_foreign_keys("item"), i.get_indexes("owner"), i.get_unique_constraints("owner"),
        i.get_check_constraints("owner"), i.get_table_comment("owner"), i.get_table_options("tag"), sorted(reflected.tables),
    )


@step("alembic finds no difference")
def _():
    with engine.connect() as c:
        return compare_metadata(MigrationContext.configure(c, opts={"compare_type": True, "compare_server_default": True}), Base.metadata)


@step("alembic operations")
def _():
    with engine.connect() as c:
        op = Operations(MigrationContext.configure(c))
        op.create_table("extra", sa.Column("id", sa.Integer, primary_key=True), sa.Column("a", sa.String(20), nullable=False, server_default="x"))
        op.add_column("extra", sa.Column("b", sa.DateTime, server_default=sa.func.now()))
        op.alter_column("extra", "a", new_column_name="a2", existing_type=sa.String(20), type_=sa.String(40), nullable=True, comment="wider")
        op.create_index("extra_a", "extra", ["a2", sa.text("b DESC")], unique=True)
        op.add_column("extra", sa.Column("owner_id", sa.Integer, sa.ForeignKey("owner.id", name="extra_owner")))
        op.create_unique_constraint("extra_u", "extra", ["owner_id", "a2"])
        op.create_check_constraint("extra_c", "extra", "a2 <> ''")
        op.bulk_insert(sa.table("extra", sa.column("a2")), [{"a2": "p"}, {"a2": "q"}])
        op.rename_table("extra", "more")
        op.create_table_comment("more", "a comment")
        c.commit()
        shown = c.execute(sa.text("SHOW CREATE TABLE more")).one()[1]
        op.drop_constraint("extra_owner", "more", type_="foreignkey")
        op.drop_constraint("extra_c", "more", type_="check")
        op.drop_index("extra_a", "more")
        op.drop_column("more", "b")
        left = [x["name"] for x in sa.inspect(c).get_columns("more")]
        op.drop_table("more")
        return shown, left


@step("drop the schema")
def _():
    Base.metadata.drop_all(engine)
    return sa.inspect(engine).get_table_names()
