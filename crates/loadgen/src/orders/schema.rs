//! The five tables, and the columns that the workload writes.

/// A table: its name, the statement that creates it, and the columns that are written. The others have
/// defaults.
pub struct Table {
    pub name: &'static str,
    pub create: &'static str,
    pub columns: &'static str,
}

pub const TABLES: [Table; 5] = [
    Table {
        name: "orders",
        create: ORDERS,
        columns: "order_number, customer_id, seller_id, warehouse_id, cart_id, invoice_number, payment_reference, \
                  coupon_code, customer_email, customer_phone, session_token, status, total_amount, tax_amount, \
                  shipping_address, billing_address, attributes, promised_at",
    },
    Table {
        name: "order_items",
        create: ORDER_ITEMS,
        columns: "order_id, product_id, title, quantity, unit_price",
    },
    Table {
        name: "payments",
        create: PAYMENTS,
        columns: "order_id, provider, reference, amount",
    },
    Table {
        name: "shipments",
        create: SHIPMENTS,
        columns: "order_id, tracking_number, carrier, weight_grams",
    },
    Table {
        name: "order_events",
        create: ORDER_EVENTS,
        columns: "order_id, kind, detail",
    },
];

/// The main table: 1 unique and 13 non-unique secondary indexes, 3 of them on timestamps; about 1.1 KB a row.
const ORDERS: &str = "CREATE TABLE orders (
    id BIGINT NOT NULL AUTO_INCREMENT,
    order_number VARCHAR(32) NOT NULL,
    customer_id BIGINT NOT NULL,
    seller_id BIGINT NOT NULL,
    warehouse_id INT NOT NULL,
    cart_id BIGINT NOT NULL,
    invoice_number VARCHAR(32) NOT NULL,
    payment_reference VARCHAR(40) NOT NULL,
    coupon_code VARCHAR(16) DEFAULT NULL,
    customer_email VARCHAR(80) NOT NULL,
    customer_phone VARCHAR(20) NOT NULL,
    session_token CHAR(32) NOT NULL,
    status TINYINT UNSIGNED NOT NULL DEFAULT 0,
    currency CHAR(3) NOT NULL DEFAULT 'EUR',
    total_amount DECIMAL(12,2) NOT NULL,
    tax_amount DECIMAL(12,2) NOT NULL,
    discount_amount DECIMAL(12,2) NOT NULL DEFAULT 0.00,
    shipping_address VARCHAR(255) NOT NULL,
    billing_address VARCHAR(255) NOT NULL,
    attributes VARCHAR(600) NOT NULL,
    created_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    updated_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
    promised_at TIMESTAMP NULL DEFAULT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY order_number (order_number),
    KEY customer_id (customer_id),
    KEY seller_id (seller_id),
    KEY warehouse_id (warehouse_id),
    KEY cart_id (cart_id),
    KEY invoice_number (invoice_number),
    KEY payment_reference (payment_reference),
    KEY coupon_code (coupon_code),
    KEY customer_email (customer_email),
    KEY customer_phone (customer_phone),
    KEY session_token (session_token),
    KEY created_at (created_at),
    KEY updated_at (updated_at),
    KEY promised_at (promised_at)
)";

const ORDER_ITEMS: &str = "CREATE TABLE order_items (
    id BIGINT NOT NULL AUTO_INCREMENT,
    order_id BIGINT NOT NULL,
    product_id BIGINT NOT NULL,
    title VARCHAR(120) NOT NULL,
    quantity INT NOT NULL,
    unit_price DECIMAL(10,2) NOT NULL,
    PRIMARY KEY (id),
    KEY order_id (order_id),
    KEY product_id (product_id)
)";

const PAYMENTS: &str = "CREATE TABLE payments (
    id BIGINT NOT NULL AUTO_INCREMENT,
    order_id BIGINT NOT NULL,
    provider VARCHAR(20) NOT NULL,
    reference VARCHAR(40) NOT NULL,
    amount DECIMAL(12,2) NOT NULL,
    paid_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    PRIMARY KEY (id),
    UNIQUE KEY reference (reference),
    KEY order_id (order_id)
)";

const SHIPMENTS: &str = "CREATE TABLE shipments (
    id BIGINT NOT NULL AUTO_INCREMENT,
    order_id BIGINT NOT NULL,
    tracking_number VARCHAR(40) NOT NULL,
    carrier VARCHAR(20) NOT NULL,
    weight_grams INT UNSIGNED NOT NULL,
    dispatched_at TIMESTAMP NULL DEFAULT NULL,
    PRIMARY KEY (id),
    KEY order_id (order_id),
    KEY tracking_number (tracking_number)
)";

const ORDER_EVENTS: &str = "CREATE TABLE order_events (
    id BIGINT NOT NULL AUTO_INCREMENT,
    order_id BIGINT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    detail VARCHAR(200) NOT NULL,
    happened_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    PRIMARY KEY (id),
    KEY order_id (order_id)
)";
