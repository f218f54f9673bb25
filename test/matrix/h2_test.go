package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const h2Jar = "/usr/share/java/h2.jar"

// testH2 runs a SQL script in H2, all of it and of the JDK woven, and expects
// the answers of the unwoven database.
func (w wovenJDK) testH2(t *testing.T, choice weaving) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("NOT TESTED: %s is missing: install libh2-java", h2Jar)
	}
	script := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(script, []byte(sqlScript()), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(flags []string, jar string) jvmtest.Outcome {
		return jvmtest.Run(t, w.JDK, append(slices.Clone(flags), "-cp", jar, "-Duser.timezone=UTC", "org.h2.tools.RunScript",
			"-url", "jdbc:h2:mem:matrix", "-user", "sa", "-script", script, "-showResults", "-continueOnError")...)
	}
	plain := run(nil, h2Jar)
	if plain.Exit != 0 || strings.Count(plain.Stdout, "-->") < 1000 {
		t.Fatalf("the script does not run: exit code %d\n%s", plain.Exit, lastLines(plain.Stdout+plain.Stderr))
	}
	jar := filepath.Join(t.TempDir(), "h2.jar")
	total := weaveJars(t, choice, []jarPair{{from: h2Jar, to: jar}})
	total.report(t)
	woven := run(w.flags, jar)
	woven.Stderr, plain.Stderr = withoutWarnings(woven.Stderr), withoutWarnings(plain.Stderr)
	if woven != plain {
		t.Errorf("woven H2 answers otherwise: exit code %d\n%s", woven.Exit, firstDifference(woven, plain))
	}
	t.Logf("%d lines of answers, the same", strings.Count(plain.Stdout, "\n"))
}

func firstDifference(got, want jvmtest.Outcome) string {
	for _, pair := range [][2]string{{got.Stdout, want.Stdout}, {got.Stderr, want.Stderr}} {
		gotLines, wantLines := strings.Split(pair[0], "\n"), strings.Split(pair[1], "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				return fmt.Sprintf("line %d\n  got  %s\n  want %s", i+1, gotLines[i], wantLines[i])
			}
		}
	}
	return "one stops early:\n" + lastLines(got.Stdout+got.Stderr)
}

// sqlScript is a script of some 3,000 statements whose answers are defined to
// the last row: every query is ordered, nothing asks for the time.
func sqlScript() string {
	var b strings.Builder
	b.WriteString(`
CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, tier VARCHAR(10), born DATE);
CREATE TABLE orders(id IDENTITY PRIMARY KEY, customer INT REFERENCES customer(id) ON DELETE CASCADE,
  amount DECIMAL(12,2) CHECK (amount > 0), placed TIMESTAMP, note CLOB, raw VARBINARY(100));
CREATE INDEX by_amount ON orders(amount DESC);
CREATE SEQUENCE ticket START WITH 100 INCREMENT BY 7;
CREATE VIEW spending AS SELECT c.id, c.name, SUM(o.amount) AS total, COUNT(*) AS n
  FROM customer c JOIN orders o ON o.customer = c.id GROUP BY c.id, c.name;
`)
	tiers := []string{"'gold'", "'silver'", "NULL"}
	for i := range 200 {
		fmt.Fprintf(&b, "INSERT INTO customer VALUES (%d, 'customer %c%d', %s, DATE '%d-%02d-%02d');\n",
			i, 'a'+i%26, i*7919%1000, tiers[i%3], 1950+i%50, 1+i%12, 1+i%28)
	}
	for i := range 1500 {
		fmt.Fprintf(&b, "INSERT INTO orders(customer, amount, placed, note, raw) VALUES (%d, %d.%02d, TIMESTAMP '2024-%02d-%02d %02d:%02d:00', REPEAT('n%d ', %d), X'%04x');\n",
			i*31%200, 1+i*7919%997, i%100, 1+i%12, 1+i%28, i%24, i%60, i, i%9, i)
	}
	for i := range 1200 {
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "SELECT id, name, total FROM spending WHERE total > %d ORDER BY total DESC, id LIMIT 3;\n", i)
		case 1:
			fmt.Fprintf(&b, "SELECT tier, COUNT(*), AVG(amount), MAX(LENGTH(note)) FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.id %% %d = 0 GROUP BY tier ORDER BY tier NULLS LAST;\n", 1+i%17)
		case 2:
			fmt.Fprintf(&b, "UPDATE orders SET amount = amount * 1.01, note = CONCAT(note, 'u') WHERE id BETWEEN %d AND %d;\n", i, i+5)
		case 3:
			fmt.Fprintf(&b, "SELECT id, amount, RANK() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS r FROM orders WHERE customer = %d ORDER BY r, id;\n", i%200)
		case 4:
			fmt.Fprintf(&b, "SELECT NEXT VALUE FOR ticket, UPPER(SUBSTRING(name, 3, %d)), EXTRACT(YEAR FROM born) + %d, HASH('SHA-256', name) FROM customer WHERE id = %d;\n", 1+i%9, i, i%200)
		case 5:
			fmt.Fprintf(&b, "WITH RECURSIVE f(n, a, b) AS (SELECT 1, CAST(0 AS BIGINT), CAST(1 AS BIGINT) UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < %d) SELECT MAX(n), MAX(a) FROM f;\n", 2+i%60)
		case 6: // fails: a negative amount, a missing table, a division by zero, a duplicate key
			b.WriteString([]string{
				"INSERT INTO orders(customer, amount) VALUES (1, -5);\n",
				"SELECT * FROM missing;\n",
				fmt.Sprintf("SELECT %d / (id - id) FROM customer WHERE id = 3;\n", i),
				"INSERT INTO customer VALUES (3, 'again', NULL, NULL);\n",
			}[i/8%4])
		default:
			fmt.Fprintf(&b, "SELECT c.name, o.raw, FORMATDATETIME(o.placed, 'yyyy-MM-dd') FROM orders o JOIN customer c ON c.id = o.customer WHERE o.amount < %d AND EXISTS (SELECT 1 FROM orders p WHERE p.customer = o.customer AND p.id <> o.id) ORDER BY o.id LIMIT 2;\n", i)
		}
	}
	b.WriteString(`
SET AUTOCOMMIT FALSE;
DELETE FROM customer WHERE tier = 'silver';
SELECT COUNT(*) FROM orders;
ROLLBACK;
SELECT COUNT(*), SUM(amount) FROM orders;
ALTER TABLE customer ADD COLUMN score INT DEFAULT 7;
MERGE INTO customer(id, name, score) KEY(id) VALUES (3, 'merged', 9), (1000, 'new', 8);
SELECT id, name, score FROM customer WHERE score > 7 ORDER BY id;
EXPLAIN SELECT * FROM orders WHERE amount > 500 ORDER BY amount DESC;
DROP VIEW spending;
DROP TABLE customer CASCADE;
SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'PUBLIC';
`)
	return b.String()
}
