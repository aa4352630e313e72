// An application on GORM. It prints a line for each step, `NAME: RESULT`; expected.txt has what it prints on MySQL.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Company struct {
	ID   uint
	Name string `gorm:"size:60;uniqueIndex"`
}

type User struct {
	gorm.Model
	Name      string          `gorm:"size:80;not null;index:idx_name_age,priority:1;comment:the name"`
	Email     *string         `gorm:"size:120;uniqueIndex"`
	Age       uint8           `gorm:"default:18;index:idx_name_age,priority:2,sort:desc;check:age < 200"`
	Balance   float64         `gorm:"type:decimal(12,2)"`
	Birthday  *time.Time      `gorm:"type:date"`
	Active    bool            `gorm:"default:true"`
	Data      json.RawMessage `gorm:"type:json"`
	Bio       string          `gorm:"type:text"`
	CompanyID *uint
	Company   *Company
	Orders    []Order    `gorm:"constraint:OnUpdate:CASCADE,OnDelete:CASCADE"`
	Languages []Language `gorm:"many2many:user_languages"`
	ManagerID *uint
	Team      []User `gorm:"foreignkey:ManagerID"`
}

type Order struct {
	ID     uint64
	UserID uint
	Total  int64 `gorm:"not null;default:0"`
	Note   string
	At     time.Time `gorm:"precision:3;autoCreateTime:milli"`
}

type Language struct {
	Code string `gorm:"primaryKey;size:8"`
}

// UserV2 is User after a release: a column more, one wider, another index.
type UserV2 struct {
	ID       uint
	Name     string `gorm:"size:200;not null;index:idx_name_age,priority:1;comment:the full name"`
	Nickname string `gorm:"size:40;default:none;index"`
}

func (UserV2) TableName() string { return "users" }

const database = "framework_gorm"

var db *gorm.DB

func step(name string, run func() (any, error)) {
	result, err := run()
	if err != nil {
		fmt.Printf("%s: error %v\n", name, err)
		return
	}
	text, _ := json.Marshal(result)
	fmt.Printf("%s: %s\n", name, text)
}

func open(name string) *gorm.DB {
	dsn := fmt.Sprintf("root:@tcp(%s:%s)/%s?charset=utf8mb4&parseTime=True&loc=UTC", os.Getenv("STEMDB_HOST"), os.Getenv("STEMDB_PORT"), name)
	opened, err := gorm.Open(mysql.New(mysql.Config{DSN: dsn, DefaultStringSize: 256}), &gorm.Config{
		Logger:                 logger.Default.LogMode(logger.Silent),
		TranslateError:         true,
		PrepareStmt:            true,
		SkipDefaultTransaction: false,
	})
	if err != nil {
		fmt.Println("connect: error", err)
		os.Exit(1)
	}
	return opened
}

func main() {
	server := open("")
	server.Exec("DROP DATABASE IF EXISTS " + database)
	server.Exec("CREATE DATABASE " + database)
	db = open(database)
	step("migrate", func() (any, error) { return nil, db.AutoMigrate(&Company{}, &User{}, &Order{}, &Language{}) })
	step("migrate again changes nothing", func() (any, error) { return nil, db.AutoMigrate(&Company{}, &User{}, &Order{}, &Language{}) })
	step("column types", columnTypes)
	step("create with associations", create)
	step("batch", batch)
	step("upsert", upsert)
	step("upsert of several rows gives the right ids", upsertIDs)
	step("find", find)
	step("preload", preload)
	step("joins", joins)
	step("group", group)
	step("json", jsonQueries)
	step("subqueries", subqueries)
	step("update by expression", update)
	step("soft delete", softDelete)
	step("transactions and savepoints", transactions)
	step("locking", locking)
	step("duplicate key", duplicate)
	step("foreign key violated", violated)
	step("check violated", checkViolated)
	step("many to many", manyToMany)
	step("find in batches", inBatches)
	step("rows", rows)
	step("migrate to the next release", nextRelease)
	step("indexes", indexes)
	step("migrator", migrator)
	step("delete cascades", cascades)
}

func columnTypes() (any, error) {
	types, err := db.Migrator().ColumnTypes(&User{})
	var out [][]any
	for _, t := range types {
		full, _ := t.ColumnType()
		nullable, _ := t.Nullable()
		unique, _ := t.Unique()
		primary, _ := t.PrimaryKey()
		fallback, has := t.DefaultValue()
		comment, _ := t.Comment()
		out = append(out, []any{t.Name(), full, nullable, unique, primary, fallback, has, comment})
	}
	return out, err
}

func email(s string) *string { return &s }

func create() (any, error) {
	birthday := time.Date(1990, 2, 28, 0, 0, 0, 0, time.UTC)
	user := User{
		Name: "Ann", Email: email("ann@example.com"), Age: 30, Balance: 12.5, Birthday: &birthday, Data: json.RawMessage(`{"tags": ["a", "b"], "level": 3}`),
		Bio: "é😀", Company: &Company{Name: "Roots"}, Orders: []Order{{Total: 10}, {Total: 20, Note: "x"}}, Languages: []Language{{Code: "en"}, {Code: "de"}},
		Team: []User{{Name: "Tim"}, {Name: "Tom", Age: 40}},
	}
	err := db.Create(&user).Error
	return []any{user.ID, *user.CompanyID, user.Orders[1].ID, user.Active, user.Team[0].Age}, err
}

func batch() (any, error) {
	users := []User{{Name: "Bob", Age: 25}, {Name: "Cid", Age: 35, Email: email("cid@example.com")}, {Name: "Dee", Age: 45}}
	err := db.CreateInBatches(&users, 2).Error
	return []any{users[0].ID, users[1].ID, users[2].ID}, err
}

func upsert() (any, error) {
	r := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"age"})}).
		Create(&[]User{{Name: "Cid", Age: 36, Email: email("cid@example.com")}, {Name: "Eve", Age: 20, Email: email("eve@example.com")}})
	var names []string
	db.Model(&User{}).Where("age IN ?", []int{36, 20}).Order("id").Pluck("name", &names)
	return []any{r.RowsAffected, names}, r.Error
}

func upsertIDs() (any, error) {
	r := db.Clauses(clause.Insert{Modifier: "IGNORE"}).Create(&[]Company{{Name: "Roots"}, {Name: "Stems"}, {Name: "Leaves"}})
	var all []Company
	err := db.Order("id").Find(&all).Error
	return []any{r.RowsAffected, all}, err
}

func find() (any, error) {
	var users []User
	err := db.Where("age BETWEEN ? AND ? AND name <> ?", 20, 40, "Bob").Or(map[string]any{"name": "Dee"}).Not("active = ?", false).
		Order("age DESC, name").Limit(3).Offset(1).Select("id", "name", "age", "balance", "birthday", "data", "active").Find(&users).Error
	var out [][]any
	for _, u := range users {
		out = append(out, []any{u.ID, u.Name, u.Age, u.Balance, u.Birthday, string(u.Data), u.Active})
	}
	var first User
	missing := db.First(&first, "name = ?", "nobody").Error
	return []any{out, errors.Is(missing, gorm.ErrRecordNotFound)}, err
}

func preload() (any, error) {
	var user User
	err := db.Preload("Orders", "total > ?", 5).Preload("Languages", func(tx *gorm.DB) *gorm.DB { return tx.Order("code") }).Preload(clause.Associations).First(&user, 1).Error
	return []any{len(user.Orders), len(user.Languages), user.Company.Name, len(user.Team)}, err
}

func joins() (any, error) {
	var users []User
	err := db.Joins("Company").Joins("LEFT JOIN orders ON orders.user_id = users.id AND orders.total > ?", 15).Where("orders.id IS NOT NULL").Find(&users).Error
	var out []any
	for _, u := range users {
		out = append(out, []any{u.Name, u.Company.Name})
	}
	return out, err
}

func group() (any, error) {
	var out []struct {
		Active bool
		N      int
		Sum    float64
		Oldest uint8
	}
	err := db.Model(&User{}).Select("active, COUNT(*) AS n, SUM(age) AS sum, MAX(age) AS oldest").Group("active").Having("COUNT(*) > ?", 0).Scan(&out).Error
	return out, err
}

func jsonQueries() (any, error) {
	var names []string
	err := db.Model(&User{}).Where("JSON_EXTRACT(data, '$.level') = ? AND data->>'$.tags[1]' = ?", 3, "b").Pluck("name", &names).Error
	if err == nil {
		err = db.Model(&User{}).Where("id = 1").Update("data", gorm.Expr("JSON_SET(data, '$.level', ?)", 4)).Error
	}
	var data string
	db.Raw("SELECT data FROM users WHERE id = 1").Scan(&data)
	return []any{names, data}, err
}

func subqueries() (any, error) {
	var names []string
	err := db.Model(&User{}).Where("age > (?)", db.Model(&User{}).Select("AVG(age)")).
		Where("EXISTS (?) OR id > 1", db.Model(&Order{}).Select("1").Where("orders.user_id = users.id")).Order("name").Pluck("name", &names).Error
	var n int64
	db.Table("(?) AS u", db.Model(&User{}).Select("name", "age")).Where("u.age < ?", 40).Count(&n)
	return []any{names, n}, err
}

func update() (any, error) {
	r := db.Model(&User{}).Where("name IN ?", []string{"Bob", "Cid"}).Updates(map[string]any{"age": gorm.Expr("age + ?", 1), "balance": 7.25})
	var ages []int
	db.Model(&User{}).Where("balance = 7.25").Order("id").Pluck("age", &ages)
	return []any{r.RowsAffected, ages}, r.Error
}

func softDelete() (any, error) {
	r := db.Where("name = ?", "Dee").Delete(&User{})
	var n, all int64
	db.Model(&User{}).Count(&n)
	db.Unscoped().Model(&User{}).Count(&all)
	return []any{r.RowsAffected, n, all}, r.Error
}

func transactions() (any, error) {
	err := db.Transaction(func(tx *gorm.DB) error {
		tx.Create(&Company{Name: "Kept"})
		inner := tx.Transaction(func(tx *gorm.DB) error {
			tx.Create(&Company{Name: "Undone"})
			return errors.New("undo")
		})
		if inner == nil {
			return errors.New("the inner transaction did not fail")
		}
		tx.SavePoint("s")
		tx.Create(&Company{Name: "Undone too"})
		return tx.RollbackTo("s").Error
	})
	var names []string
	db.Model(&Company{}).Order("name").Pluck("name", &names)
	return names, err
}

func locking() (any, error) {
	var names []string
	err := db.Transaction(func(tx *gorm.DB) error {
		var u User
		for _, l := range []clause.Locking{{Strength: "UPDATE"}, {Strength: "SHARE"}, {Strength: "UPDATE", Options: "NOWAIT"}, {Strength: "UPDATE", Options: "SKIP LOCKED"}} {
			if err := tx.Clauses(l).First(&u, 1).Error; err != nil {
				return err
			}
			names = append(names, u.Name)
		}
		return nil
	})
	return names, err
}

func duplicate() (any, error) {
	err := db.Create(&Company{Name: "Roots"}).Error
	return errors.Is(err, gorm.ErrDuplicatedKey), nil
}

func violated() (any, error) {
	err := db.Create(&Order{UserID: 999}).Error
	return errors.Is(err, gorm.ErrForeignKeyViolated), nil
}

func checkViolated() (any, error) {
	return nil, db.Create(&User{Name: "Old", Age: 250}).Error
}

func manyToMany() (any, error) {
	user := User{}
	user.ID = 1
	association := db.Model(&user).Association("Languages")
	if err := association.Append(&Language{Code: "fr"}, &Language{Code: "en"}); err != nil {
		return nil, err
	}
	n := association.Count()
	if err := association.Delete(&Language{Code: "de"}); err != nil {
		return nil, err
	}
	var left []Language
	err := db.Model(&user).Association("Languages").Find(&left)
	return []any{n, len(left)}, err
}

func inBatches() (any, error) {
	var sizes []int
	var users []User
	err := db.FindInBatches(&users, 3, func(tx *gorm.DB, batch int) error {
		sizes = append(sizes, len(users))
		return nil
	}).Error
	return sizes, err
}

func rows() (any, error) {
	cursor, err := db.Model(&User{}).Select("name", "email").Order("id").Rows()
	if err != nil {
		return nil, err
	}
	defer cursor.Close()
	var out []string
	for cursor.Next() {
		var u User
		if err := db.ScanRows(cursor, &u); err != nil {
			return nil, err
		}
		out = append(out, u.Name)
	}
	return out, cursor.Err()
}

func nextRelease() (any, error) {
	err := db.AutoMigrate(&UserV2{})
	var nickname string
	db.Raw("SELECT nickname FROM users WHERE id = 1").Scan(&nickname)
	return nickname, err
}

func indexes() (any, error) {
	found, err := db.Migrator().GetIndexes(&User{})
	out := map[string]any{}
	for _, i := range found {
		unique, _ := i.Unique()
		out[i.Name()] = []any{i.Columns(), unique}
	}
	return out, err
}

func migrator() (any, error) {
	m := db.Migrator()
	if err := m.RenameColumn(&UserV2{}, "nickname", "nick"); err != nil {
		return nil, err
	}
	if err := m.DropColumn(&UserV2{}, "nick"); err != nil {
		return nil, err
	}
	if err := m.DropIndex(&User{}, "idx_name_age"); err != nil {
		return nil, err
	}
	if err := m.RenameTable("orders", "purchases"); err != nil {
		return nil, err
	}
	tables, err := m.GetTables()
	if err != nil {
		return nil, err
	}
	return []any{tables, m.HasTable("orders"), m.HasConstraint(&User{}, "Company"), m.CurrentDatabase()}, m.RenameTable("purchases", "orders")
}

func cascades() (any, error) {
	err := db.Exec("UPDATE users SET manager_id = NULL").Error
	if err == nil {
		err = db.Unscoped().Where("id = 1").Delete(&User{}).Error
	}
	var n int64
	db.Model(&Order{}).Count(&n)
	return n, err
}
