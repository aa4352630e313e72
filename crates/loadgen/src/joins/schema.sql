CREATE TABLE join_customers (
    id INT NOT NULL,
    name VARCHAR(40) NOT NULL,
    city VARCHAR(30) NOT NULL,
    comment VARCHAR(120) NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE join_orders (
    id INT NOT NULL,
    customer INT NOT NULL,
    placed DATETIME NOT NULL,
    total DECIMAL(12,2) NOT NULL,
    comment VARCHAR(80) NOT NULL,
    PRIMARY KEY (id),
    KEY order_customer (customer)
);

CREATE TABLE join_lines (
    id INT NOT NULL,
    purchase INT NOT NULL,
    product VARCHAR(40) NOT NULL,
    quantity INT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
    comment VARCHAR(40) NOT NULL,
    PRIMARY KEY (id),
    KEY line_purchase (purchase)
);
