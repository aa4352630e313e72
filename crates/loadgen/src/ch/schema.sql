CREATE TABLE region (
    r_regionkey INT NOT NULL,
    r_name CHAR(25) NOT NULL,
    r_comment VARCHAR(152) NOT NULL,
    PRIMARY KEY (r_regionkey)
);

CREATE TABLE nation (
    n_nationkey INT NOT NULL,
    n_name CHAR(25) NOT NULL,
    n_regionkey INT NOT NULL,
    n_comment VARCHAR(152) NOT NULL,
    PRIMARY KEY (n_nationkey)
);

CREATE TABLE supplier (
    su_suppkey INT NOT NULL,
    su_name CHAR(25) NOT NULL,
    su_address VARCHAR(40) NOT NULL,
    su_nationkey INT NOT NULL,
    su_phone CHAR(15) NOT NULL,
    su_acctbal DECIMAL(12,2) NOT NULL,
    su_comment VARCHAR(101) NOT NULL,
    PRIMARY KEY (su_suppkey)
);
