"""An application on Django: models, migrations, queries, and the pages of its admin."""

import datetime
import decimal
import pathlib
import re
import shutil
import sys
import tempfile
import uuid

import django
from django.conf import settings

from steps import HOST, PORT, empty_database, step

DATABASE = "framework_django"
empty_database(DATABASE)
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.mysql", "NAME": DATABASE, "USER": "root", "HOST": HOST, "PORT": PORT}},
    INSTALLED_APPS=["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages", "shop"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    ROOT_URLCONF="shop.urls",
    SECRET_KEY="tests",
    ALLOWED_HOSTS=["*"],
    STATIC_URL="/static/",
    USE_TZ=True,
    TIME_ZONE="UTC",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    CACHES={"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache_table"}},
)

# The application `shop`, with its migrations in a temporary directory.
directory = pathlib.Path(tempfile.mkdtemp())
(directory / "shop" / "migrations").mkdir(parents=True)
(directory / "shop" / "migrations" / "__init__.py").touch()
(directory / "shop" / "__init__.py").touch()
(directory / "shop" / "urls.py").write_text("from django.urls import path\nfrom django.contrib import admin\nurlpatterns = [path('admin/', admin.site.urls)]\n")
MODELS = '''
import uuid
from django.contrib import admin
from django.db import models
from django.db.models.functions import Lower, Now, Upper

class Customer(models.Model):
    class Kind(models.TextChoices):
        SMALL = "s"
        LARGE = "l"
    name = models.CharField(max_length=80, unique=True, db_comment="it's a name")
    kind = models.CharField(max_length=1, choices=Kind.choices, default=Kind.SMALL, db_index=True)
    balance = models.DecimalField(max_digits=12, decimal_places=2, default=0)
    born = models.DateField(null=True)
    seen = models.DateTimeField(auto_now=True)
    worked = models.DurationField(null=True)
    uid = models.UUIDField(default=uuid.uuid4, unique=True)
    data = models.JSONField(null=True)
    score = models.FloatField(db_default=1.5)
    upper = models.GeneratedField(expression=Upper("name"), output_field=models.CharField(max_length=80), db_persist=True)
    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(score__gte=0), name="score_ok"), models.UniqueConstraint(Lower("name"), "kind", name="lower_name")]
        indexes = [models.Index(fields=["kind", "-score"], name="by_kind")]
    def __str__(self):
        return self.name

class Tag(models.Model):
    text = models.SlugField()

class Order(models.Model):
    customer = models.ForeignKey(Customer, models.CASCADE, related_name="orders")
    total = models.PositiveIntegerField()
    at = models.DateTimeField(db_default=Now())
    tags = models.ManyToManyField(Tag)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True)

class CustomerAdmin(admin.ModelAdmin):
    list_display = ["name", "kind", "balance"]
    list_filter = ["kind"]
    search_fields = ["name", "orders__tags__text"]
    date_hierarchy = "born"

admin.site.register(Customer, CustomerAdmin)
'''
(directory / "shop" / "models.py").write_text(MODELS)
sys.path.insert(0, str(directory))
django.setup()

from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Avg, Case, Count, Exists, F, OuterRef, Q, Subquery, Sum, Value, When, Window
from django.db.models.functions import Cast, Coalesce, Concat, ExtractYear, JSONObject, Length, Rank, TruncMonth
from django.test import Client
from shop.models import Customer, Order, Tag


@step("make migrations and migrate")
def _():
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    with connection.cursor() as c:
        return connection.introspection.table_names(c)


@step("no changes are left")
def _():
    call_command("makemigrations", "shop", check=True, dry_run=True, verbosity=0)


@step("create")
def _():
    ann = Customer.objects.create(
        name="Ann", kind="l", balance=decimal.Decimal("12.50"), born=datetime.date(1990, 2, 28), worked=datetime.timedelta(hours=30, microseconds=5),
        uid=uuid.UUID(int=1), data={"level": 3, "tags": ["a", {"x": None}]},
    )
    tags = Tag.objects.bulk_create([Tag(text=t) for t in ("red", "blue")])
    Order.objects.bulk_create([Order(customer=ann, total=t) for t in (10, 20, 30)])
    Order.objects.first().tags.set(Tag.objects.all())
    ann.refresh_from_db()
    return ann.id, ann.upper, ann.score, len(tags)


@step("get")
def _():
    c = Customer.objects.get(name="Ann")
    return c.kind, c.balance, c.born, c.worked, c.uid, c.data, c.score, c.upper, c.orders.count()


@step("bulk create: ignored, updated")
def _():
    Customer.objects.bulk_create([Customer(name="Ann", kind="l"), Customer(name="Bob"), Customer(name="Cid")], ignore_conflicts=True)
    Customer.objects.bulk_create([Customer(name="Bob", score=9), Customer(name="Dan", score=2)], update_conflicts=True, update_fields=["score"])
    return list(Customer.objects.order_by("name").values_list("name", "score"))


@step("annotations and aggregates")
def _():
    q = Customer.objects.annotate(n=Count("orders"), sum=Coalesce(Sum("orders__total"), 0), latest=Subquery(Order.objects.filter(customer=OuterRef("pk")).order_by("-total").values("total")[:1]))
    return list(q.filter(n__gte=0).order_by("-sum", "name").values_list("name", "n", "sum", "latest")), Order.objects.aggregate(Avg("total"), n=Count("customer", distinct=True))


@step("expressions")
def _():
    q = Customer.objects.annotate(
        size=Case(When(score__gt=5, then=Value("high")), default=Value("low")), long=Concat("name", Value("-"), "kind"), year=ExtractYear("born"), text=Cast("balance", Customer._meta.get_field("name")),
        has=Exists(Order.objects.filter(customer=OuterRef("pk"))), json=JSONObject(n="name", l=Length("name")),
    )
    return list(q.order_by("name").values_list("name", "size", "long", "year", "text", "has", "json"))


@step("window")
def _():
    return list(Order.objects.annotate(r=Window(Rank(), partition_by="customer", order_by=F("total").desc())).filter(r__lte=2).values_list("total", "r"))


@step("json")
def _():
    f = Customer.objects.filter
    return [f(data__level=3).count(), f(data__tags__1__x=None).count(), f(data__has_key="level").count(), f(data__contains={"level": 3}).count(), f(data__isnull=True).count(), f(data__level__gt=2).count()]


@step("dates, regular expressions, case")
def _():
    f = Customer.objects.filter
    return list(Customer.objects.annotate(m=TruncMonth("born")).exclude(m=None).values_list("m", flat=True)), f(name__iregex="^a").count(), f(name__icontains="N").count(), f(born__year__range=(1980, 2000)).count(), list(Customer.objects.dates("born", "month"))


@step("prefetch and select related")
def _():
    c = Customer.objects.prefetch_related("orders__tags").get(name="Ann")
    return [sorted(t.text for t in o.tags.all()) for o in c.orders.all()], [o.customer.name for o in Order.objects.select_related("customer", "parent")]


@step("set operations")
def _():
    return sorted(Customer.objects.values_list("name").union(Tag.objects.values_list("text"))), Customer.objects.filter(name="Ann").intersection(Customer.objects.filter(kind="l")).count()


@step("update, get or create, update or create")
def _():
    n = Customer.objects.filter(Q(name="Ann") | ~Q(kind="s")).update(balance=F("balance") * 2 + 1)
    return n, Customer.objects.get(name="Ann").balance, Tag.objects.get_or_create(text="red")[1], Tag.objects.update_or_create(text="green", defaults={"text": "lime"})[1]


@step("transactions and locks")
def _():
    with transaction.atomic():
        Tag.objects.create(text="kept")
        try:
            with transaction.atomic():
                Tag.objects.create(text="undone")
                Customer.objects.create(name="Ann", kind="s")
        except IntegrityError as e:
            error = e.args
        names = [Customer.objects.select_for_update(**o).get(name="Ann").name for o in ({}, {"nowait": True}, {"skip_locked": True}, {"of": ("self",)})]
    return error, names, list(Tag.objects.order_by("text").values_list("text", flat=True))


@step("a violated check")
def _():
    Customer.objects.create(name="Zoe", score=-1)


@step("a violated functional unique key")
def _():
    Customer.objects.create(name="ANN", kind="l")


@step("raw")
def _():
    return [c.name for c in Customer.objects.raw("SELECT * FROM shop_customer WHERE score > %s ORDER BY name", [1])]


@step("rows one by one, explain")
def _():
    return [o.total for o in Order.objects.order_by("id").iterator(chunk_size=2)], len(Order.objects.all().explain()) > 0


@step("cache in a table")
def _():
    cache.set("a", [1, 2])
    cache.set_many({"b": 1, "c": 2})
    cache.incr("b", 4)
    return cache.get_many(["a", "b", "c", "d"]), cache.add("a", 1), cache.delete("c")


@step("admin")
def _():
    User.objects.create_superuser("root", "root@example.com", "sesame")
    client = Client()
    out = [client.login(username="root", password="sesame")]
    for page in ("", "shop/customer/", "shop/customer/?q=red+ann", "shop/customer/?kind__exact=l&o=-3.1", "shop/customer/?born__year=1990", "shop/customer/1/change/", "auth/user/", "shop/customer/1/history/"):
        answer = client.get("/admin/" + page)
        out.append((page, answer.status_code, re.findall(r"(\d+) (?:customer|user)s?\b", answer.content.decode())[:1]))
    form = {"name": "New", "kind": "s", "balance": "1", "born": "2000-01-01", "worked": "1", "uid": uuid.UUID(int=9), "data": "{}", "score": "2"}
    answer = client.post("/admin/shop/customer/add/", form)
    out.append((answer.status_code, [e for e in answer.context["errors"]] if answer.context else []))
    out.append(client.post("/admin/shop/customer/", {"action": "delete_selected", "_selected_action": [1], "post": "yes"}).status_code)
    return out, list(Customer.objects.order_by("name").values_list("name", flat=True)), Order.objects.count()


@step("the next release")
def _():
    changed = MODELS.replace("max_length=80, unique=True", "max_length=120, unique=True").replace("score = models.FloatField(db_default=1.5)", "score = models.DecimalField(max_digits=6, decimal_places=2, default=0)")
    changed = changed.replace("total = models.PositiveIntegerField()", "amount = models.BigIntegerField(null=True, db_index=True)").replace('name="by_kind"', 'name="by_kind2"').replace("text = models.SlugField()", "text = models.TextField()")
    (directory / "shop" / "models.py").write_text(changed)
    # A new process would see the new models; the same migration written down does as well.
    (directory / "shop" / "migrations" / "0002_next.py").write_text('''
from django.db import migrations, models
class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.RemoveIndex("customer", "by_kind"),
        migrations.RemoveConstraint("customer", "score_ok"),
        migrations.AlterField("customer", "score", models.DecimalField(max_digits=6, decimal_places=2, default=0)),
        migrations.RenameField("order", "total", "amount"),
        migrations.AlterField("order", "amount", models.BigIntegerField(null=True, db_index=True)),
        migrations.AlterField("tag", "text", models.TextField()),
        migrations.RenameModel("Tag", "Label"),
        migrations.AddField("label", "weight", models.IntegerField(default=3)),
        migrations.AlterUniqueTogether("label", {("weight", "id")}),
        migrations.RunSQL("UPDATE shop_label SET weight = weight + id", "UPDATE shop_label SET weight = 3"),
        migrations.AlterModelTable("label", "labels"),
    ]
''')
    call_command("migrate", "shop", verbosity=0)
    with connection.cursor() as c:
        c.execute("SHOW CREATE TABLE labels")
        shown = [c.fetchone()[1]]
        c.execute("SHOW CREATE TABLE shop_order")
        shown.append(c.fetchone()[1])
        c.execute("SHOW CREATE TABLE shop_customer")
        shown.append(c.fetchone()[1])
    call_command("migrate", "shop", "zero", verbosity=0)
    return shown


@step("flush")
def _():
    call_command("flush", interactive=False, verbosity=0)
    return User.objects.count()


shutil.rmtree(directory)
