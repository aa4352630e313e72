CREATE TABLE customer (
  id BIGINT AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(80) NOT NULL UNIQUE,
  created TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6)
) COMMENT = 'who buys';
INSERT INTO customer (name) VALUES ('Ann'), ('Bob; with a semicolon');
