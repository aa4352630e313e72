CREATE TABLE orders (
  id BIGINT NOT NULL AUTO_INCREMENT,
  code VARCHAR(20) NOT NULL,
  customer INT NOT NULL,
  state TINYINT UNSIGNED,
  amount DECIMAL(10, 2) NOT NULL DEFAULT 0,
  note TEXT,
  placed DATETIME NOT NULL,
  paid TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3),
  PRIMARY KEY (id),
  UNIQUE KEY u_code (code),
  KEY k_customer_state (customer, state),
  KEY k_placed (placed),
  KEY k_note (note(5))
);
CREATE TABLE pairs (
  a INT NOT NULL,
  b VARCHAR(10) COLLATE utf8mb4_bin NOT NULL,
  c INT,
  d DOUBLE,
  PRIMARY KEY (a, b),
  UNIQUE KEY u_c (c)
);
CREATE TABLE heap (
  x INT,
  y VARBINARY(8),
  z DATE,
  f FLOAT,
  u BIGINT UNSIGNED,
  KEY k_x (x),
  KEY k_y (y),
  KEY k_z (z),
  KEY k_f (f),
  KEY k_u (u)
);
CREATE TABLE big (
  id INT UNSIGNED NOT NULL PRIMARY KEY,
  k INT NOT NULL,
  c CHAR(120) NOT NULL,
  KEY k_1 (k)
);
CREATE TABLE ranked (
  id INT NOT NULL PRIMARY KEY,
  a INT NOT NULL,
  b INT,
  KEY a_b (a, b DESC)
);
