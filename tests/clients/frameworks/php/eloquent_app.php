<?php
// An application on Eloquent, Laravel's database layer, and PDO.

error_reporting(E_ALL & ~E_DEPRECATED);
date_default_timezone_set('UTC');

require '/usr/share/php/Illuminate/Database/autoload.php';
require '/usr/share/php/Illuminate/Events/autoload.php';
require '/usr/share/php/Doctrine/DBAL/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager as Capsule;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\Relations\Relation;
use Illuminate\Database\Eloquent\SoftDeletes;
use Illuminate\Database\Migrations\DatabaseMigrationRepository;
use Illuminate\Database\QueryException;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Database\Schema\Builder;
use Illuminate\Events\Dispatcher;

const DATABASE = 'framework_eloquent';
const MOMENT = '2024-02-29 12:30:45';

$server = [
    'driver' => 'mysql',
    'host' => getenv('STEMDB_HOST'),
    'port' => getenv('STEMDB_PORT'),
    'username' => 'root',
    'password' => '',
    'charset' => 'utf8mb4',
    'collation' => 'utf8mb4_unicode_ci',
    'prefix' => '',
    'strict' => true,
];

/** Prints a line for a step: `NAME: RESULT`. */
function step(string $name, callable $run): void
{
    try {
        $result = $run();
    } catch (QueryException $e) {
        $result = 'error ' . ($e->errorInfo[1] ?? '?') . ' ' . ($e->errorInfo[0] ?? '?') . ' ' . ($e->errorInfo[2] ?? $e->getMessage());
    } catch (Throwable $e) {
        $result = 'error ' . get_class($e) . ', ' . $e->getMessage();
    }
    $text = is_string($result) ? $result : json_encode($result, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
    echo "$name: ", str_replace("\n", ' ', $text), "\n";
}

$pdo = new PDO("mysql:host={$server['host']};port={$server['port']};charset=utf8mb4", 'root', '');
$pdo->exec('DROP DATABASE IF EXISTS ' . DATABASE);
$pdo->exec('CREATE DATABASE ' . DATABASE);

$capsule = new Capsule(new Container());
$capsule->addConnection(['database' => DATABASE] + $server);
$capsule->addConnection(['database' => DATABASE, 'options' => [PDO::ATTR_EMULATE_PREPARES => true], 'timezone' => '+00:00',
    'isolation_level' => 'READ COMMITTED', 'modes' => ['NO_ZERO_DATE']] + $server, 'emulated');
$capsule->setEventDispatcher(new Dispatcher($capsule->getContainer()));
$capsule->setAsGlobal();
$capsule->bootEloquent();
Builder::defaultStringLength(191);

function db(string $name = 'default'): Illuminate\Database\MySqlConnection
{
    return Capsule::connection($name);
}

function schema(): Builder
{
    return Capsule::schema();
}

class Customer extends Model
{
    use SoftDeletes;
    protected $guarded = [];
    protected $hidden = ['created_at', 'updated_at', 'deleted_at'];
    protected $casts = ['balance' => 'decimal:2', 'born' => 'date:Y-m-d', 'active' => 'boolean', 'data' => 'array', 'seen' => 'datetime:Y-m-d H:i:s.u'];
    protected $dateFormat = 'Y-m-d H:i:s';

    public function orders()
    {
        return $this->hasMany(Order::class);
    }

    public function latest()
    {
        return $this->hasOne(Order::class)->latestOfMany();
    }

    public function tags()
    {
        return $this->belongsToMany(Tag::class)->withPivot('weight')->withTimestamps();
    }

    public function notes()
    {
        return $this->morphMany(Note::class, 'about');
    }

    public function scopeRich($query, $least)
    {
        return $query->where('balance', '>', $least);
    }
}

class Order extends Model
{
    protected $guarded = [];
    protected $touches = ['customer'];
    protected $hidden = ['created_at', 'updated_at'];

    public function customer()
    {
        return $this->belongsTo(Customer::class);
    }
}

class Tag extends Model
{
    public $timestamps = false;
    protected $guarded = [];

    public function customers()
    {
        return $this->belongsToMany(Customer::class);
    }
}

class Note extends Model
{
    public $timestamps = false;
    protected $guarded = [];

    public function about()
    {
        return $this->morphTo();
    }
}

Relation::morphMap(['customer' => Customer::class]);

// Migrations.

$repository = new DatabaseMigrationRepository($capsule->getDatabaseManager(), 'migrations');
step('migrations table', function () use ($repository) {
    $before = $repository->repositoryExists();
    $repository->createRepository();
    $repository->log('2024_01_01_first', 1);
    $repository->log('2024_01_02_second', $repository->getNextBatchNumber());
    return [$before, $repository->repositoryExists(), $repository->getRan(), $repository->getLastBatchNumber()];
});

step('create tables', function () {
    schema()->create('customers', function (Blueprint $t) {
        $t->id();
        $t->string('name')->unique()->comment("the customer's name");
        $t->enum('kind', ['small', 'large'])->default('small');
        $t->set('flags', ['a', 'b', 'c'])->nullable();
        $t->decimal('balance', 12, 2)->default(0);
        $t->date('born')->nullable();
        $t->dateTime('seen', 6)->nullable();
        $t->time('opens')->nullable();
        $t->year('since')->nullable();
        $t->boolean('active')->default(true);
        $t->longText('bio')->nullable();
        $t->binary('picture')->nullable();
        $t->double('score', 8, 3)->nullable();
        $t->float('ratio')->nullable();
        $t->unsignedBigInteger('views')->default(0);
        $t->json('data')->nullable();
        $t->uuid('uuid')->nullable();
        $t->ipAddress('ip')->nullable();
        $t->char('code', 4)->charset('ascii')->collation('ascii_bin')->nullable();
        $t->string('city')->storedAs("json_unquote(json_extract(`data`, '$.city'))")->nullable();
        $t->string('letter', 1)->virtualAs('upper(left(`name`, 1))');
        $t->rememberToken();
        $t->timestamp('checked')->useCurrent()->useCurrentOnUpdate();
        $t->timestamps();
        $t->softDeletes();
        $t->index(['kind', 'balance'], 'by_kind');
        $t->rawIndex('(lower(`name`))', 'by_lower');
        $t->engine = 'InnoDB';
    });
    schema()->create('orders', function (Blueprint $t) {
        $t->id();
        $t->foreignId('customer_id')->constrained()->cascadeOnUpdate()->cascadeOnDelete();
        $t->integer('total');
        $t->timestamps();
    });
    schema()->create('tags', function (Blueprint $t) {
        $t->increments('id');
        $t->string('name', 50)->collation('utf8mb4_bin');
    });
    schema()->create('customer_tag', function (Blueprint $t) {
        $t->foreignId('customer_id')->constrained()->onDelete('cascade');
        $t->unsignedInteger('tag_id');
        $t->integer('weight')->default(1);
        $t->timestamps();
        $t->primary(['customer_id', 'tag_id']);
        $t->foreign('tag_id')->references('id')->on('tags');
    });
    schema()->create('notes', function (Blueprint $t) {
        $t->id();
        $t->morphs('about');
        $t->text('text');
    });
    return 'done';
});
foreach (['customers', 'orders', 'customer_tag', 'notes'] as $table) {
    step("show $table", fn () => ((array) db()->selectOne("show create table $table"))['Create Table']);
}
step('columns', fn () => [collect(schema()->getColumnListing('orders'))->sort()->values(), schema()->hasColumn('orders', 'total'), schema()->hasColumns('orders', ['total', 'x']),
    schema()->hasTable('nothing'), schema()->getColumnType('orders', 'total')]);
step('all tables', fn () => array_map(fn ($row) => array_values((array) $row)[0], schema()->getAllTables()));
step('alter', function () {
    schema()->table('orders', function (Blueprint $t) {
        $t->string('note', 200)->default('')->after('total');
        $t->integer('rank')->nullable()->first();
        $t->index('total');
    });
    schema()->table('orders', function (Blueprint $t) {
        $t->renameColumn('note', 'remark');
        $t->renameIndex('orders_total_index', 'by_total');
        $t->dropColumn('rank');
    });
    schema()->table('notes', function (Blueprint $t) {
        $t->string('text', 500)->change();
    });
    return 'done';
});
step('alter tags', function () {
    schema()->table('tags', fn (Blueprint $t) => $t->integer('weight')->nullable());
    schema()->table('tags', fn (Blueprint $t) => $t->bigInteger('weight')->default(5)->comment('how much')->change());
    return ((array) db()->selectOne('show create table tags'))['Create Table'];
});
step('orders altered', fn () => ((array) db()->selectOne('show create table orders'))['Create Table']);
step('doctrine', function () {
    $manager = db()->getDoctrineSchemaManager();
    $indexes = array_map(fn ($i) => [$i->getColumns(), $i->isUnique()], $manager->listTableIndexes('orders'));
    ksort($indexes);
    $keys = array_map(fn ($k) => [$k->getName(), $k->getLocalColumns(), $k->getForeignTableName(), $k->onDelete()], $manager->listTableForeignKeys('customer_tag'));
    sort($keys);
    return [$indexes, $keys, array_keys($manager->listTableColumns('customers'))];
});

// Rows.

step('create', function () {
    $customer = Customer::create(['name' => 'Ada', 'balance' => '12.50', 'born' => '1815-12-10', 'seen' => '2024-02-29 12:30:45.123456', 'opens' => '09:30',
        'since' => 2001, 'bio' => "Ünïcödé 🎉 'quoted' \\ \0", 'picture' => "\0\xff\x01", 'score' => 1.125, 'ratio' => 0.5, 'views' => '18446744073709551615',
        'data' => ['city' => 'Łódź', 'langs' => ['en', 'fr'], 'age' => 36, 'deep' => ['a' => null]], 'flags' => 'c,a', 'uuid' => '6ccd780c-baba-1026-9564-5b8c656024db']);
    return [$customer->id, $customer->wasRecentlyCreated];
});
step('read', function () {
    $customer = Customer::find(1)->makeHidden('checked');
    $customer->picture = bin2hex($customer->picture);
    return $customer;
});
step('create several', fn () => Customer::query()->insert([
    ['name' => 'Bob', 'balance' => 5, 'data' => '{"city":"Oslo","langs":["en"],"age":20}', 'created_at' => MOMENT],
    ['name' => 'Cyd', 'balance' => 70, 'data' => null, 'created_at' => MOMENT],
    ['name' => 'Dan', 'balance' => 0, 'data' => '{"city":"Rome","age":50}', 'created_at' => null],
]));
step('insert get id', fn () => db()->table('tags')->insertGetId(['name' => 'new']));
step('insert or ignore', fn () => db()->table('customers')->insertOrIgnore([['name' => 'Bob'], ['name' => 'Eve']]));
step('duplicate', fn () => Customer::create(['name' => 'ada']));
step('too long', fn () => Customer::create(['name' => 'Fay', 'code' => 'abcde']));
step('no parent', fn () => Order::query()->insert(['customer_id' => 99, 'total' => 1]));
step('not an enum', fn () => Customer::create(['name' => 'Gus', 'kind' => 'huge']));
step('upsert', fn () => [
    Customer::upsert([['name' => 'Bob', 'balance' => 6, 'views' => 3], ['name' => 'Hal', 'balance' => 1, 'views' => 4]], ['name'], ['balance', 'views' => db()->raw('customers.views + 1')]),
    Customer::whereIn('name', ['Bob', 'Hal'])->orderBy('name')->get(['name', 'balance', 'views']),
]);
step('update or create', fn () => [Customer::updateOrCreate(['name' => 'Ida'], ['balance' => 3])->wasRecentlyCreated, Customer::updateOrCreate(['name' => 'Ida'], ['balance' => 4])->balance,
    Customer::firstOrCreate(['name' => 'Ida'])->exists, Customer::firstOrNew(['name' => 'Zoe'])->exists]);
step('increment', fn () => [Customer::where('name', 'Ida')->increment('views', 5, ['balance' => 9]), Customer::firstWhere('name', 'Ida')->only('views', 'balance')]);
step('orders', function () {
    foreach (['Ada' => [10, 20, 30], 'Bob' => [5], 'Cyd' => [7, 7]] as $name => $totals) {
        Customer::firstWhere('name', $name)->orders()->createMany(array_map(fn ($total) => ['total' => $total], $totals));
    }
    return Order::count();
});
step('json update', fn () => [Customer::where('name', 'Bob')->update(['data->age' => 21, 'data->deep->x' => true, 'data->langs' => json_encode(['de'])]),
    db()->table('customers')->where('name', 'Bob')->value('data')]);

// Queries.

step('json where', fn () => [Customer::where('data->age', '>', 30)->orderBy('id')->pluck('name'), Customer::whereJsonContains('data->langs', 'fr')->pluck('name'),
    Customer::whereJsonLength('data->langs', 2)->pluck('name'), Customer::whereNull('data->deep->a')->orderBy('id')->pluck('name'), Customer::where('data->city', 'Łódź')->pluck('city'),
    Customer::where('data->deep->x', true)->pluck('name'), Customer::orderBy('data->age', 'desc')->orderBy('id')->pluck('name')]);
step('dates', fn () => [Customer::whereDate('born', '1815-12-10')->count(), Customer::whereYear('created_at', 2024)->count(), Customer::whereYear('created_at', 2024)->whereMonth('created_at', 2)->count(),
    Customer::whereYear('created_at', 2024)->whereDay('created_at', '29')->count(), Customer::whereTime('opens', '<', '10:00')->count(), Customer::whereBetween('born', ['1800-01-01', '1820-01-01'])->count()]);
step('aggregates', fn () => [Order::sum('total'), Order::avg('total'), Order::max('total'), Order::min('total'), Order::distinct()->count('total'), Customer::rich(10)->exists(), Customer::where('id', 0)->doesntExist()]);
step('group', fn () => db()->table('orders')->select('customer_id')->selectRaw('count(*) as n, sum(total) as s')->groupBy('customer_id')->having('n', '>', 1)->havingRaw('sum(total) < ?', [100])->orderByDesc('s')->get());
step('join', fn () => db()->table('customers as c')->join('orders as o', 'o.customer_id', '=', 'c.id')->leftJoin('customer_tag as t', fn ($j) => $j->on('t.customer_id', '=', 'c.id')->where('t.weight', '>', 0))
    ->where('o.total', '>=', 7)->orderBy('c.name')->orderBy('o.id')->get(['c.name', 'o.total', 't.weight']));
step('join sub', fn () => db()->table('customers')->joinSub(Order::select('customer_id')->selectRaw('max(total) as top')->groupBy('customer_id'), 'm', 'm.customer_id', '=', 'customers.id')->orderBy('name')->pluck('top', 'name'));
step('subqueries', fn () => Customer::select('name')->addSelect(['last' => Order::select('total')->whereColumn('customer_id', 'customers.id')->latest('id')->limit(1)])
    ->whereExists(fn ($q) => $q->from('orders')->whereColumn('orders.customer_id', 'customers.id'))->orderBy('name')->get());
step('window', fn () => db()->table('orders')->selectRaw('total, row_number() over (partition by customer_id order by total desc, id) as n, sum(total) over () as s')->orderBy('id')->get());
step('union', fn () => db()->table('customers')->select('name')->where('id', 1)->unionAll(db()->table('tags')->select('name'))->orderBy('name')->limit(5)->get());
step('insert using', fn () => [db()->table('tags')->insertUsing(['name'], Customer::select('name')->where('balance', '>', 10)), Tag::orderBy('id')->pluck('name', 'id')]);
step('update join', fn () => db()->table('customers')->join('orders', 'orders.customer_id', '=', 'customers.id')->where('orders.total', 30)->update(['customers.since' => 2020]));
step('update limit', fn () => db()->table('orders')->orderByDesc('id')->limit(2)->update(['remark' => 'last']));
step('delete join', fn () => db()->table('orders')->join('customers', 'orders.customer_id', '=', 'customers.id')->where('customers.name', 'Bob')->delete());
step('delete limit', fn () => db()->table('orders')->where('total', 7)->orderBy('id')->limit(1)->delete());
step('page', fn () => [Customer::orderBy('name')->forPage(2, 2)->pluck('name'), db()->table('customers')->getCountForPagination()]);
step('chunk', function () {
    $sizes = [];
    Customer::orderBy('id')->chunk(3, function ($rows) use (&$sizes) {
        $sizes[] = $rows->count();
    });
    Customer::chunkById(4, function ($rows) use (&$sizes) {
        $sizes[] = $rows->count();
    });
    return [$sizes, Customer::cursor()->count(), Customer::lazyById(2)->pluck('name')->all()];
});
step('order by field', fn () => Customer::orderByRaw("field(name, 'Cyd', 'Ada') desc")->orderBy('id')->limit(3)->pluck('name'));
step('random', fn () => Customer::inRandomOrder('5')->count());
step('when', fn () => Customer::when(true, fn ($q) => $q->whereIn('id', [1, 2]))->unless(false, fn ($q) => $q->where(fn ($q) => $q->where('kind', 'small')->orWhereNull('kind')))->orderBy('id')->pluck('name'));
step('row values', fn () => Customer::whereRowValues(['name', 'kind'], '=', ['Ada', 'small'])->pluck('id'));
step('regexp', fn () => Customer::where('name', 'regexp', '^[AB]')->orderBy('name')->pluck('name'));
step('like', fn () => Customer::where('name', 'like', '%D%')->orderBy('name')->pluck('name'));
step('dump', fn () => [Customer::rich(3)->toSql(), db()->table('customers')->where('data->a->b', 1)->toSql()]);

// Relations.

step('pivot', function () {
    $ada = Customer::find(1);
    $ada->tags()->attach(1, ['weight' => 3]);
    $changed = $ada->tags()->sync([1 => ['weight' => 4], 2]);
    $ada->tags()->updateExistingPivot(2, ['weight' => 9]);
    $toggled = $ada->tags()->toggle([1, 3]);
    return [$changed, $toggled, $ada->tags()->orderBy('tags.id')->get()->map(fn ($tag) => [$tag->name, $tag->pivot->weight])];
});
step('eager', fn () => Customer::with(['orders' => fn ($q) => $q->orderByDesc('total'), 'tags:id,name'])->withCount('orders')->withSum('orders', 'total')->whereHas('orders', fn ($q) => $q->where('total', '>', 9))
    ->get()->map(fn ($c) => [$c->name, $c->orders_count, $c->orders_sum_total, $c->orders->pluck('total'), $c->tags->pluck('name')]));
step('has', fn () => [Customer::has('orders', '>=', 2)->pluck('name'), Customer::doesntHave('orders')->orderBy('name')->pluck('name'), Order::whereRelation('customer', 'name', 'Ada')->count()]);
step('latest of many', fn () => Customer::with('latest')->find(1)->latest->total);
step('morph', function () {
    Customer::find(1)->notes()->saveMany([new Note(['text' => 'one']), new Note(['text' => 'two'])]);
    return [Note::with('about')->first()->about->name, Note::whereHasMorph('about', [Customer::class], fn ($q) => $q->where('name', 'Ada'))->count()];
});
step('soft delete', function () {
    Customer::firstWhere('name', 'Dan')->delete();
    $counts = [Customer::count(), Customer::withTrashed()->count(), Customer::onlyTrashed()->pluck('name')];
    Customer::onlyTrashed()->restore();
    return [$counts, Customer::firstWhere('name', 'Hal')->forceDelete(), Customer::count()];
});

// Transactions.

step('nested transactions', fn () => db()->transaction(function () {
    Tag::create(['name' => 'kept']);
    try {
        db()->transaction(function () {
            Tag::create(['name' => 'lost']);
            throw new RuntimeException('inner');
        });
    } catch (RuntimeException $e) {
        return [db()->transactionLevel(), Tag::where('name', 'kept')->count(), Tag::where('name', 'lost')->count()];
    }
}));
step('locks', fn () => db()->transaction(fn () => [Customer::lockForUpdate()->find(1)->name, Customer::sharedLock()->find(1)->name, Customer::lock('for update skip locked')->orderBy('id')->first()->name]));
step('rolled back', function () {
    db()->beginTransaction();
    Note::query()->delete();
    db()->rollBack();
    return Note::count();
});

// A connection that puts values into the text.

step('emulated', fn () => [db('emulated')->select('select ? as a, ? as b, ? as c, @@transaction_isolation as d, @@sql_mode as e, @@time_zone as f', [1, "it's \\ ü", null]),
    db('emulated')->table('customers')->where('name', "Ada")->limit(1)->offset(0)->value('bio') === Customer::find(1)->bio]);
step('statement', fn () => [db()->statement('set @a = 5'), db()->selectOne('select @a as a')->a, db()->affectingStatement('update tags set name = name'), db()->unprepared('do 1')]);
step('types', fn () => array_map(fn ($v) => gettype($v), (array) db()->selectOne("select 1 as i, 1.5 as d, 1e0 as f, 'x' as s, null as n, true as b, count(*) as c, 18446744073709551615 as u, cast('{}' as json) as j, now() as t")));
step('database exists', fn () => [schema()->createDatabase('framework_eloquent_2'), schema()->dropDatabaseIfExists('framework_eloquent_2')]);

// The way back.

step('drop', function () use ($repository) {
    schema()->table('orders', fn (Blueprint $t) => $t->dropForeign(['customer_id']));
    schema()->table('orders', fn (Blueprint $t) => $t->dropIndex('by_total'));
    schema()->rename('notes', 'remarks');
    schema()->dropIfExists('nothing');
    $repository->deleteRepository();
    schema()->dropAllTables();
    return schema()->getAllTables();
});
