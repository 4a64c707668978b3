-- SPDX-License-Identifier: GPL-2.0
--
-- One round of work for the stock sqlite3, in memory: fill a table, build an
-- index, join, group, sort, window. Prints one number.
DROP TABLE IF EXISTS sale;
CREATE TABLE sale (id INTEGER PRIMARY KEY, item TEXT, town TEXT, cents INTEGER);
WITH RECURSIVE n(i, r) AS (
	SELECT 1, 20240229
	UNION ALL
	SELECT i + 1, (r * 1103515245 + 12345) & 2147483647 FROM n WHERE i < 3000
)
INSERT INTO sale SELECT i, printf('item-%04d', r % 700), char(97 + r / 8 % 26), r % 20000 FROM n;
CREATE INDEX sale_item ON sale (item, cents);
SELECT sum(total * place) FROM (
	SELECT a.town, upper(a.item) AS name, count(*) AS sales, sum(a.cents + b.cents) AS total,
		rank() OVER (PARTITION BY a.town ORDER BY sum(a.cents)) AS place
	FROM sale a JOIN sale b ON a.item = b.item AND b.cents > a.cents
	WHERE a.item LIKE 'item-0%' AND replace(b.town, 'a', 'z') <> 'q'
	GROUP BY a.town, name ORDER BY sales DESC, name
);
