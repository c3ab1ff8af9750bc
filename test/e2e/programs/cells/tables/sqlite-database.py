import sqlite3

conn = sqlite3.connect("shop.db")
cur = conn.cursor()
cur.executescript("""
DROP TABLE IF EXISTS products;
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, price REAL CHECK (price > 0));
""")
cur.executemany("INSERT INTO products (name, price) VALUES (?, ?)", [("tea", 3.0), ("coffee", 4.5), ("cake", 5.25)])
conn.commit()
cur.execute("SELECT name, price FROM products WHERE price > ? ORDER BY price DESC", (3.5,))
cur.fetchall()
# %%
import pandas as pd
pd.read_sql("SELECT count(*) AS n, round(avg(price), 2) AS mean FROM products", conn)
# %%
try:
    cur.execute("INSERT INTO products (name, price) VALUES ('tea', 1)")
except sqlite3.IntegrityError as e:
    print("refused:", e)
    conn.rollback()
cur.execute("INSERT INTO products (name, price) VALUES ('water', -1)")
