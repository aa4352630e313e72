DROP TABLE tags;
DROP TABLE purchases;
DROP TABLE customers;
