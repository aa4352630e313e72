//! The consistency conditions of clause 3.3.2, each as a count of violations.
//!
//! Condition 11 (orders minus new orders are 2100 in every district) holds only for the first population
//! and is left out.

/// Each condition, with the query that counts its violations.
pub const CONDITIONS: [(&str, &str); 11] = [
    (
        "1: a warehouse's year to date is the sum of its districts'",
        "SELECT COUNT(*) FROM warehouse \
         LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) d ON d_w_id = w_id \
         WHERE NOT (w_ytd <=> total)",
    ),
    (
        "2: a district's next order follows its newest, which is its newest new order",
        "SELECT COUNT(*) FROM district \
         LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS newest FROM orders GROUP BY o_w_id, o_d_id) o \
           ON o_w_id = d_w_id AND o_d_id = d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS newest_new FROM new_order GROUP BY no_w_id, no_d_id) n \
           ON no_w_id = d_w_id AND no_d_id = d_id \
         WHERE NOT (d_next_o_id - 1 <=> newest) OR newest_new <> newest",
    ),
    (
        "3: a district's new orders have no holes",
        "SELECT COUNT(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) broken",
    ),
    (
        "4: a district's orders have as many lines as they say",
        "SELECT COUNT(*) FROM \
         (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS said FROM orders GROUP BY o_w_id, o_d_id) o \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) l \
           ON ol_w_id = o_w_id AND ol_d_id = o_d_id \
         WHERE NOT (said <=> found)",
    ),
    (
        "5: an order has no carrier as long as it is a new order",
        "SELECT COUNT(*) FROM orders \
         LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "6: an order has as many lines as it says",
        "SELECT COUNT(*) FROM orders \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found FROM order_line \
                    GROUP BY ol_w_id, ol_d_id, ol_o_id) l \
           ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE NOT (o_ol_cnt <=> found)",
    ),
    (
        "7: a line is delivered when its order has a carrier",
        "SELECT COUNT(*) FROM order_line \
         LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "8: a warehouse's year to date is the sum of its payments",
        "SELECT COUNT(*) FROM warehouse \
         LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id \
         WHERE NOT (w_ytd <=> paid)",
    ),
    (
        "9: a district's year to date is the sum of its payments",
        "SELECT COUNT(*) FROM district \
         LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h \
           ON h_w_id = d_w_id AND h_d_id = d_id \
         WHERE NOT (d_ytd <=> paid)",
    ),
    (
        "10: a customer's balance is what was delivered less what was paid",
        "SELECT COUNT(*) FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders \
                    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
                    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) o \
           ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
                    GROUP BY h_c_w_id, h_c_d_id, h_c_id) h \
           ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)",
    ),
    (
        "12: a customer's balance and payments are what was delivered",
        "SELECT COUNT(*) FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders \
                    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
                    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) o \
           ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
    ),
];
