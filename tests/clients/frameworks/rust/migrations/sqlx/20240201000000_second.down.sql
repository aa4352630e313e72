DROP VIEW totals;
ALTER TABLE purchase ADD INDEX again (customer_id), DROP INDEX by_customer, DROP COLUMN note;
