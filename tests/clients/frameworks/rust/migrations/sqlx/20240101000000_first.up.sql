CREATE TABLE customer (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(80) NOT NULL UNIQUE,
    kind ENUM('small', 'large') NOT NULL DEFAULT 'small',
    balance DECIMAL(12, 2) NOT NULL DEFAULT 0,
    born DATE,
    seen DATETIME(6),
    at TIMESTAMP(3) NULL,
    opens TIME,
    active BOOLEAN NOT NULL DEFAULT TRUE,
    picture BLOB,
    score DOUBLE,
    ratio FLOAT,
    small TINYINT,
    big BIGINT,
    flags BIT(8),
    year YEAR,
    data JSON
);

CREATE TABLE purchase (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    total INT NOT NULL CHECK (total >= 0),
    FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE
);
