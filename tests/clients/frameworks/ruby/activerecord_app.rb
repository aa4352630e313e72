# An application on ActiveRecord and mysql2.

require "active_support/all"
require "active_record"
require "json"
require "stringio"

HOST = ENV.fetch("STEMDB_HOST")
PORT = ENV.fetch("STEMDB_PORT").to_i
DATABASE = "framework_activerecord"
SERVER = { adapter: "mysql2", host: HOST, port: PORT, username: "root", encoding: "utf8mb4", prepared_statements: true }

$stdout.sync = true
ENV["TZ"] = "UTC"
Time.zone = "UTC"
ActiveRecord::Base.default_timezone = :utc
ActiveRecord::Migration.verbose = false

# Prints a line for a step: `NAME: RESULT`.
def step(name)
  result =
    begin
      yield
    rescue StandardError => e
      "error #{e.class}, #{e.message}"
    end
  text = result.is_a?(String) ? result : JSON.generate(result.as_json)
  puts "#{name}: #{text.gsub("\n", " ")}"
end

ActiveRecord::Base.establish_connection(SERVER)
ActiveRecord::Base.connection.drop_database(DATABASE)
ActiveRecord::Base.connection.create_database(DATABASE, charset: "utf8mb4", collation: "utf8mb4_0900_ai_ci")
ActiveRecord::Base.establish_connection(SERVER.merge(database: DATABASE))

def db
  ActiveRecord::Base.connection
end

class First < ActiveRecord::Migration[6.1]
  def change
    create_table :customers, comment: "Customers' names" do |t|
      t.string :name, limit: 80, null: false, index: { unique: true }
      t.integer :kind, limit: 1, null: false, default: 0
      t.decimal :balance, precision: 12, scale: 2, null: false, default: 0
      t.date :born
      t.datetime :seen, precision: 6
      t.time :opens
      t.boolean :active, null: false, default: true
      t.text :bio, limit: 16.megabytes - 1
      t.binary :picture
      t.float :score, limit: 53
      t.bigint :views, unsigned: true
      t.json :data
      t.virtual :letter, type: :string, limit: 1, as: "upper(left(name, 1))", stored: true
      t.integer :lock_version, null: false, default: 0
      t.timestamps
      t.index "(lower(name))", name: "by_lower"
      t.check_constraint "char_length(name) > 1", name: "long_enough"
    end
    create_table :purchases do |t|
      t.references :customer, null: false, foreign_key: { on_delete: :cascade }
      t.integer :total, null: false
      t.timestamps
      t.index %i[customer_id total], order: { total: :desc }
    end
    create_join_table(:purchases, :tags) { |t| t.index %i[purchase_id tag_id], unique: true }
    create_table(:tags) { |t| t.string :name, collation: "utf8mb4_bin" }
    create_table(:notes) do |t|
      t.references :about, polymorphic: true
      t.string :type
      t.text :text
    end
  end
end

class Second < ActiveRecord::Migration[6.1]
  def up
    add_column :purchases, :note, :string, limit: 200, default: "", null: false, after: :total
    change_column :notes, :text, :string, limit: 500
    rename_column :notes, :text, :body
    change_column_default :purchases, :total, from: nil, to: 1
    change_column_null :tags, :name, false, "none"
    change_column_comment :tags, :name, "what's on it"
    add_index :notes, :body, length: 20
    rename_index :notes, "index_notes_on_body", "by_body"
    change_table :tags, bulk: true do |t|
      t.integer :weight
      t.index :weight
    end
  end

  def down
    change_table(:tags, bulk: true) { |t| t.remove :weight }
    remove_index :notes, name: "by_body"
    rename_column :notes, :body, :text
    remove_column :purchases, :note
  end
end

class Customer < ActiveRecord::Base
  enum kind: { small: 0, large: 1 }
  has_many :purchases, dependent: :destroy, inverse_of: :customer
  has_many :tags, -> { distinct }, through: :purchases
  has_many :notes, as: :about
  validates :name, uniqueness: true
  scope :rich, -> { where("balance > ?", 10) }
end

class Purchase < ActiveRecord::Base
  belongs_to :customer, touch: true
  has_and_belongs_to_many :tags
end

class Tag < ActiveRecord::Base
  has_and_belongs_to_many :purchases
end

class Note < ActiveRecord::Base
  belongs_to :about, polymorphic: true
end

class Remark < Note; end

def migrator
  migrations = [First.new("First", 1), Second.new("Second", 2)]
  context = ->(direction, target) { ActiveRecord::Migrator.new(direction, migrations, ActiveRecord::SchemaMigration, target) }
  context
end

ActiveRecord::SchemaMigration.create_table
ActiveRecord::InternalMetadata.create_table
step("migrate") { migrator.call(:up, nil).migrate.map(&:version) }
step("back and forth") do
  migrator.call(:down, 1).migrate
  migrator.call(:up, nil).migrate
  ActiveRecord::SchemaMigration.all_versions
end
step("advisory lock of migrations") { [db.get_advisory_lock(77), db.release_advisory_lock(77)] }
step("schema dump") do
  out = StringIO.new
  ActiveRecord::SchemaDumper.dump(db, out)
  out.string
end
step("reflection") do
  db.tables.sort.to_h do |t|
    [t, [db.primary_key(t), db.columns(t).map { |c| [c.name, c.sql_type, c.null, c.default, c.default_function, c.collation, c.comment] },
         db.indexes(t).map { |i| [i.name, i.columns, i.unique, i.orders, i.lengths] }.sort_by(&:first), db.foreign_keys(t).map(&:to_h),
         db.check_constraints(t).map { |c| [c.name, c.expression] }]]
  end
end

[Customer, Purchase, Tag, Note].each(&:reset_column_information)
STAMPS = %w[created_at updated_at].freeze

step("create") do
  c = Customer.create!(name: "Ann", kind: :large, balance: "12.50", born: "1990-02-28", seen: Time.utc(2024, 5, 6, 7, 8, 9, 123_456), opens: "09:30:01",
                       active: false, bio: "it's \\ \"text\" 😀", picture: "\x00\xFF'".b, score: -2.5e300, views: 2**64 - 1, data: { a: [1, nil, "😀"] })
  c.reload.attributes.except(*STAMPS, "picture").merge(picture: c.picture.bytes)
end
step("invalid") { Customer.create(name: "Ann").errors.full_messages }
step("nested create") do
  c = Customer.create!(name: "Bob", purchases: 20.times.map { |i| Purchase.new(total: i) })
  c.purchases.first(2).each_with_index { |p, i| p.tags << Tag.create!(name: "tag #{i}") }
  c.notes << Note.new(body: "plain") << Remark.new(body: "a remark")
  [c.purchases.count, c.purchases.sum(:total), c.tags.pluck(:name).sort, c.notes.order(:id).map { |n| [n.class.name, n.body] }]
end
step("insert_all") do
  now = Time.utc(2024, 1, 1)
  result = Customer.insert_all([{ name: "Cid", created_at: now, updated_at: now }, { name: "Ann", created_at: now, updated_at: now }])
  [result.length, Customer.count]
end
step("upsert_all") do
  now = Time.utc(2024, 1, 1)
  Customer.upsert_all([{ name: "Cid", balance: 7, created_at: now, updated_at: now }, { name: "Dan", balance: 20, created_at: now, updated_at: now }])
  Customer.order(:name).pluck(:name, :balance)
end
step("insert_all!") { Tag.insert_all!([{ id: 70, name: "x" }, { id: 1, name: "y" }]) }
step("filters") do
  [Customer.rich.order(:name).pluck(:name), Customer.where(name: %w[Ann Dan Zoe]).where.not(kind: :large).pluck(:name),
   Customer.where(born: Date.new(1990)..Date.new(1991)).or(Customer.where("name LIKE ?", "B%")).order(name: :desc).pluck(:name),
   Customer.where(active: true).limit(2).offset(1).order(:id).pluck(:name), Customer.where("data->>'$.a[2]' = ?", "😀").pluck(:name),
   Customer.where(seen: nil).exists?, Customer.find_by(picture: "\x00\xFF'".b)&.name, Customer.where(letter: "C").pick(:name)]
end
step("eager loading") do
  [Customer.includes(purchases: :tags).order(:id).map { |c| [c.name, c.purchases.size, c.purchases.flat_map { |p| p.tags.map(&:name) }.sort] },
   Customer.eager_load(:purchases).where("purchases.total > 17").order("purchases.total").map { |c| c.purchases.map(&:total).sort },
   Customer.left_joins(:purchases).group(:name).order(:name).count("purchases.id"), Customer.where.missing(:purchases).order(:name).pluck(:name)]
end
step("calculations") do
  [Purchase.average(:total), Purchase.group("total % 3").having("count(*) > 6").order(Arel.sql("total % 3")).sum(:total), Customer.maximum(:seen),
   Customer.group(:kind).count, Purchase.distinct.count(:customer_id), Customer.minimum(:balance)]
end
step("update") do
  [Customer.where(name: "Dan").update_all(["balance = balance + ?", 5]), Purchase.where(total: 18..).order(total: :desc).limit(1).update_all(note: "most"),
   Customer.joins(:purchases).where("purchases.total = 19").update_all("customers.views = 5"), Customer.update_counters(1, views: -1), Customer.find(1).views.to_s,
   Purchase.joins(:customer).where("customers.name = 'Bob' AND total < 3").delete_all, Purchase.count]
end
step("dirty and JSON in place") do
  c = Customer.find_by!(name: "Ann")
  c.data["b"] = { "c" => 1.5 }
  c.score = -2.5e300
  changes = c.changes.keys
  c.save!
  [changes, c.reload.data, Customer.find(1).lock_version]
end
step("optimistic lock") do
  a, b = Customer.find(1), Customer.find(1)
  a.update!(bio: "a")
  b.update!(bio: "b")
end
step("find_each") do
  [Purchase.find_each(batch_size: 5).map(&:total).sum, Purchase.in_batches(of: 6).map(&:size)]
end
step("unique under create_or_find_by") { [Tag.create_or_find_by!(id: 1, name: "tag 0").weight, Customer.find_or_create_by!(name: "Eve").previously_new_record?] }
step("transactions") do
  counts = []
  Customer.transaction do
    Customer.create!(name: "Fay")
    Customer.transaction(requires_new: true) do
      Customer.create!(name: "Gus")
      counts << Customer.count
      raise ActiveRecord::Rollback
    end
    counts << Customer.count
    begin
      Customer.transaction(requires_new: true) { Customer.insert_all!([{ name: "Ann", created_at: Time.now, updated_at: Time.now }]) }
    rescue ActiveRecord::RecordNotUnique => e
      counts << e.message
    end
    raise ActiveRecord::Rollback
  end
  counts << Customer.count
  Customer.transaction(isolation: :read_committed) { counts << db.select_value("SELECT @@transaction_isolation") }
  counts
end
step("locks") do
  Customer.transaction do
    Customer.lock.find(1)
    Thread.new do
      ActiveRecord::Base.connection_pool.with_connection do
        free = Customer.transaction { Customer.lock("FOR UPDATE SKIP LOCKED").order(:id).pluck(:name) }
        begin
          Customer.transaction { Customer.lock("FOR SHARE NOWAIT").find(1) }
        rescue ActiveRecord::ActiveRecordError => e
          [free, e.class.name, e.message]
        end
      end
    end.value
  end
end
step("errors") do
  now = Time.utc(2024, 1, 1)
  ["INSERT INTO purchases (customer_id, created_at, updated_at) VALUES (77, NOW(), NOW())", "INSERT INTO customers (name, created_at, updated_at) VALUES ('A', NOW(), NOW())",
   "INSERT INTO tags (name) VALUES (NULL)", "INSERT INTO notes (body) VALUES (REPEAT('x', 501))", "SELECT nothing", "SELEC 1", "DELETE FROM nowhere"].map do |sql|
    db.execute(sql)
    "none"
  rescue ActiveRecord::ActiveRecordError => e
    [e.class.name, e.message]
  end + [(begin; Tag.create!(name: "x" * 300); rescue ActiveRecord::ActiveRecordError => e; [e.class.name, e.message]; end)]
end
step("prepared statements, and raw ones") do
  [db.select_all("SELECT 1 AS a, 2.5 AS b, 'x' AS c, NOW() > 0 AS d, CAST('2024-01-02' AS DATE) AS e, x'00ff' AS f").to_a.first.merge("f" => 0),
   db.exec_query("SELECT ? + 1 AS n, ? AS s", "q", [ActiveRecord::Relation::QueryAttribute.new("n", 41, ActiveModel::Type::Integer.new), ActiveRecord::Relation::QueryAttribute.new("s", "t", ActiveModel::Type::String.new)]).to_a,
   db.select_rows("SHOW VARIABLES LIKE 'sql_mode'"), db.select_value("SELECT @@SESSION.sql_auto_is_null"), db.charset, db.collation]
end
step("explain") { Customer.where(id: 1).explain.include?("EXPLAIN for") }
step("hints and comments") { [Customer.optimizer_hints("MAX_EXECUTION_TIME(5000)").where(id: 1).pluck(:name), Customer.annotate("from a test").where(id: 1).pluck(:name)] }
step("recursion and windows") do
  db.select_rows("WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) SELECT n, SUM(n) OVER (ORDER BY n), LEAD(n) OVER (ORDER BY n) FROM t")
end
step("destroy") { [Customer.find_by!(name: "Bob").destroy!.frozen?, Purchase.count, Note.count, db.select_value("SELECT COUNT(*) FROM purchases_tags")] }
step("truncate") do
  db.truncate_tables("notes", "purchases_tags")
  [Note.count, Note.create!(body: "one").id]
end
step("definitions of tables") do
  db.add_foreign_key :notes, :tags, column: :about_id, name: "of_tag", on_update: :cascade
  added = db.foreign_keys(:notes).map(&:to_h)
  db.remove_foreign_key :notes, name: "of_tag"
  db.remove_check_constraint :customers, name: "long_enough"
  db.rename_table :tags, :labels
  db.drop_table :purchases_tags, force: :cascade
  [added, db.tables.sort, db.table_comment("customers"), db.table_options("labels")]
end
