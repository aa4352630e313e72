-- Updates of random rows of bench/add_index.sh's table: prepared, one row a transaction.

sysbench.cmdline.options = {
   rows = {"Rows of the table", 10000000},
}

function thread_init()
   connection = sysbench.sql.driver():connect()
   update = connection:prepare("UPDATE orders SET customer = ?, note = ? WHERE id = ?")
   customer = update:bind_create(sysbench.sql.type.INT)
   note = update:bind_create(sysbench.sql.type.VARCHAR, 60)
   id = update:bind_create(sysbench.sql.type.INT)
   update:bind_param(customer, note, id)
end

function event()
   customer:set(sysbench.rand.uniform(1, 1000000))
   note:set(sysbench.rand.string("note @@@@@@@@@@ @@@@@@@@@@@@ of order ##########"))
   id:set(sysbench.rand.uniform(1, sysbench.opt.rows))
   update:execute()
end

function thread_done()
   update:close()
   connection:disconnect()
end
