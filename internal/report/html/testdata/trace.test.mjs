// Tests of what the scripts compute; `go test` runs them where there is a node, and
// so does `node --test` in the package's folder.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const page = vm.createContext({});
for (const name of ["../assets/format", "../assets/model"]) vm.runInContext(read(`${name}.js`), page, { filename: name });
const transactions = page.decodeTrace(JSON.parse(read("../../document/testdata/trace.json")));
const plain = (value) => JSON.parse(JSON.stringify(value));

test("calls of one method inside one other are one row", () => {
	const rows = page.rowsOf(transactions[0]);
	assert.deepEqual(plain(rows.map((row) => row.name.brief)), ["Shop.checkout", "Audit.write", "Indexer.update"]);
	const query = rows[0].children[0].children[0];
	assert.equal(query.name.brief, "Db.query");
	assert.equal(query.calls.length, 37);
	assert.equal(page.visibleRows(rows).length, 9);
	rows[0].open = false;
	assert.equal(page.visibleRows(rows).length, 4);
});

test("what is below a condition is in its region", () => {
	const charge = page.rowsOf(transactions[0])[0].children[1];
	assert.ok(charge.conditional);
	assert.equal(charge.children[0].region, charge);
	assert.equal(page.rowsOf(transactions[0])[0].region, null);
});

test("bars show whose time it was", () => {
	const charge = page.rowsOf(transactions[0])[0].children[1]; // 41 to 153 ms, below from 48 to 143
	const seen = page.segmentsOf(charge, 0, 200e6, 200);
	assert.deepEqual(plain(seen.map(({ left, width, own }) => [left, width, own])), [[41, 7, true], [48, 95, false], [143, 10, true]]);
	assert.deepEqual(plain(seen.map(({ isFirst, isLast }) => [isFirst, isLast])), [[true, false], [false, false], [false, true]]);
	assert.equal(page.segmentsOf(charge, 160e6, 200e6, 100).length, 0);
});

test("a call shorter than a pixel is seen", () => {
	const row = { calls: [{ startNanos: 50, end: 50, children: [] }] };
	assert.equal(page.segmentsOf(row, 0, 1e9, 100).length, 1);
});

test("values are told by expression", () => {
	const charge = page.rowsOf(transactions[0])[0].children[1];
	assert.deepEqual(plain(page.valuesOf(charge)), [
		["$1.amount", "129.90"], ["$2.cardNumber", "(redacted)"], ["$query", "user=7&token=(redacted)&lang=de…"], ["→ $return", "true"],
	]);
});

test("filters look into names, tags and values", () => {
	const found = (query) => plain(transactions.filter((t) => page.matchesFilter(t, query)).map((t) => t.number));
	assert.deepEqual(found(""), [1, 2, 3]);
	assert.deepEqual(found("tier=gold"), [1]);
	assert.deepEqual(found("shop.checkout"), [1, 2]);
	assert.deepEqual(found("129.90 mailer"), [1]);
	assert.deepEqual(found("nowhere"), []);
});

test("ticks are at round times", () => {
	assert.deepEqual([97, 100, 1234, 7e6].map((stretch) => page.tickStep(stretch, 10)), [10, 10, 200, 1e6]);
});
