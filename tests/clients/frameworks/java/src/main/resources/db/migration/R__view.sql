CREATE OR REPLACE VIEW totals AS SELECT c.name, COALESCE(SUM(p.total), 0) AS total FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id GROUP BY c.name;
