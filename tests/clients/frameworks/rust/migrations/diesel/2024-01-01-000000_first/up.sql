CREATE TABLE customers (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(80) NOT NULL UNIQUE,
    balance DECIMAL(12, 2) NOT NULL DEFAULT 0,
    born DATE,
    seen DATETIME(6),
    opens TIME,
    active BOOLEAN NOT NULL DEFAULT TRUE,
    picture BLOB,
    score DOUBLE,
    data JSON
);
CREATE TABLE purchases (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT UNSIGNED NOT NULL,
    total INT NOT NULL,
    FOREIGN KEY (customer_id) REFERENCES customers (id)
);
CREATE TABLE tags (
    purchase_id BIGINT UNSIGNED,
    name VARCHAR(20),
    PRIMARY KEY (purchase_id, name),
    FOREIGN KEY (purchase_id) REFERENCES purchases (id)
);
