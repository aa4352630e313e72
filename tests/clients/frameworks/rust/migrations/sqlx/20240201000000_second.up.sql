ALTER TABLE purchase ADD COLUMN note VARCHAR(200) NOT NULL DEFAULT '', ADD INDEX by_customer (customer_id, total DESC);
CREATE VIEW totals AS SELECT customer_id, SUM(total) AS total FROM purchase GROUP BY customer_id;
