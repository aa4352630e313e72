-- A comment.
CREATE TABLE purchase (id INT AUTO_INCREMENT PRIMARY KEY, customer_id BIGINT, total DECIMAL(10, 2) CHECK (total >= 0),
  CONSTRAINT purchase_customer FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE);
/*!50003 ALTER TABLE customer ADD COLUMN kind ENUM('a', 'b') DEFAULT 'a' AFTER name */;
CREATE INDEX by_kind ON customer (kind, name(10));
