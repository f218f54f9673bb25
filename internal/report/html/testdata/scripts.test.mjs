// Tests of what the scripts compute; `go test` runs them where there is a node, and
// so does `node --test` in the package's folder.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const page = vm.createContext({});
for (const name of ["format", "decode", "tree", "reshape", "methodlist", "colour", "search"]) vm.runInContext(read(`../assets/${name}.js`), page, { filename: name });

// Values made by the page's scripts have prototypes of their own.
const plain = (value) => JSON.parse(JSON.stringify(value));
const time = (ns) => [ns, ns * 0.9, ns * 1.1];

// root calls a, which calls itself and b; and c, of which nothing was timed.
const profile = {
	methods: [
		{ class: "app/Main", name: "root", descriptor: "()V" },
		{ class: "app/A", name: "a", descriptor: "(ILjava/lang/String;[[J)Z" },
		{ class: "lib/B", name: "b", native: true },
		{ class: "lib/C", name: "c" },
	],
	merged: [
		{ parent: -1, method: -1, total: time(100) },
		{ parent: 0, method: 0, calls: 2, timed: 2, self: time(10), total: time(100) },
		{ parent: 1, method: 3, calls: 7 },
		{ parent: 1, method: 1, calls: 4, timed: 4, self: time(30), total: time(90) },
		{ parent: 3, method: 1, calls: 6, timed: 3, self: [20, 5, null], total: time(60) },
		{ parent: 4, method: 2, calls: 9, timed: 9, self: time(40), total: time(40), threw: 1 },
	],
	threads: [],
};
const decoded = page.decodeProfile(profile);
const tree = page.makeTree(decoded.trees[0].top, "All");
const named = (name) => tree.nodes.filter((node) => node.method >= 0 && decoded.methods[node.method].member === "." + name);

test("a hook that was off is no method with zero calls", () => {
	const quiet = [{ method: 4, reason: "dear" }, { method: 3, onNanos: 5, reason: "late" }, { method: 2, onNanos: 20, reason: "thinned" }];
	const { methods, trees } = page.decodeProfile({ ...profile, tookNanos: 20, methods: [...profile.methods, { class: "lib/D", name: "d" }], quiet });
	assert.deepEqual(plain(methods.map((method) => method.on ?? -1)), [-1, -1, -1, 5, 0]);
	const off = page.offMethods(page.makeTree(trees[0].top, "All"), methods);
	assert.deepEqual(plain(off.map((sum) => [sum.method, page.callsText(sum, methods[sum.method])])), [[4, "off"]]);
});

test("figures are written as the page's text has them", () => {
	for (const { rule, given, written } of JSON.parse(read("figures.json"))) {
		assert.equal(page[rule](given).replaceAll("\u00a0", " "), written, `${rule} of ${given}`);
	}
	assert.equal(page.nanos(Infinity), "∞");
	assert.equal(page.within(1000, 200), "±\u00a0200\u00a0ns");
	assert.equal(page.within(1000, 1001), "±\u00a0unknown");
});

test("descriptors read as a programmer writes them", () => {
	assert.equal(decoded.methods[1].signature, "(int, String, long[][]) boolean");
	assert.equal(page.signature("(LTop;)V"), "(Top) void");
	assert.equal(page.signature("</script>"), "</script>");
});

test("boxes lie within their callers, the longest first", () => {
	const [root] = named("root");
	const [outer, inner] = named("a");
	assert.deepEqual([root.x, root.width], [0, 1]);
	assert.deepEqual([outer.x, outer.width, inner.x, inner.width], [0, 0.9, 0, 0.6]);
	assert.equal(page.nodeAt(tree, 3, 0.5), inner);
	assert.equal(page.nodeAt(tree, 3, 0.7), null);
	assert.equal(page.nodeAt(tree, 1, 0.95), root);
	assert.equal(page.depthInSight(tree, 0, 1, 0.5), 3);
});

test("callees that sum to more than their caller do not reach past it", () => {
	const child = () => ({ method: 1, total: 80, children: [] });
	const narrow = page.makeTree({ method: 0, total: 100, children: [child(), child()] }, "");
	assert.equal(narrow.nodes[2].x + narrow.nodes[2].width, 1);
});

test("a method's total counts recursion once", () => {
	const a = page.sumMethods(tree, 4).find((sum) => sum.method === 1);
	assert.deepEqual([a.total, a.self, a.calls, a.contexts], [90, 50, 10, 2]);
});

test("callers and callees are merged over contexts", () => {
	const { callers, callees } = page.neighbours(tree, 1);
	assert.deepEqual(plain(callers), [{ method: 0, calls: 4, total: 90 }, { method: 1, calls: 6, total: 60 }]);
	assert.deepEqual(plain(callees), [{ method: 1, calls: 6, total: 60 }, { method: 2, calls: 9, total: 40 }]);
});

test("a search counts what lies under a match once", () => {
	const found = page.findMatches(tree, decoded.methods, page.makeMatcher("A.a", false));
	assert.deepEqual([found.share, found.methods, found.contexts], [0.9, 1, 2]);
	assert.ok(found.hasBelow(named("root")[0]));
	assert.ok(!found.hasBelow(named("b")[0]));
	assert.equal(found.next(null), named("a")[0]);
	assert.equal(found.next(named("a")[1]), named("a")[0]);
	assert.equal(page.findMatches(tree, decoded.methods, page.makeMatcher("^lib\\.", true)).share, 0.4);
	assert.ok(page.makeMatcher("(", true).error);
	assert.equal(page.makeMatcher("", true), null);
});

test("figures say how they were obtained", () => {
	assert.equal(page.kindOf(named("b")[0]), "exact");
	assert.equal(page.kindOf(named("a")[1]), "sampled");
	assert.equal(page.kindOf(named("c")[0]), "counted");
	assert.equal(page.kindOf({ ...named("c")[0], selfHigh: Infinity }), "unknown");
	assert.equal(page.selfText(named("c")[0]), "–");
	assert.ok(page.isUnsure(named("a")[1]), "an error without bound");
	assert.ok(!page.isUnsure(named("b")[0]));
});

test("a tree deeper than a script may recurse", () => {
	const nodes = [{ parent: -1, method: -1 }];
	for (let i = 0; i < 50_000; i++) nodes.push({ parent: i, method: 1, calls: 1, timed: 1, self: time(1), total: time(50_000 - i) });
	const deep = page.makeTree(page.decodeProfile({ ...profile, merged: nodes }).trees[0].top, "");
	assert.equal(deep.depth, 50_000);
	assert.equal(page.sumMethods(deep, 4)[0].total, 50_000);
});

test("the time of a category is that of its outermost calls", () => {
	const methods = profile.methods.map((method, i) => ({ ...method, category: ["", "db", "files", "odd"][i] }));
	const { methods: named, trees } = page.decodeProfile({ ...profile, methods });
	assert.deepEqual(plain(page.categoryTimes(page.makeTree(trees[0].top, "All"), named)), [["db", 90], ["files", 40]]);
	assert.equal(page.aboutMethod(named[2]), "native, measured at its call sites · files");
});

test("packages keep their hues, and the JDK is grey", () => {
	const few = page.assignHues(["shop.web.", "java.util."]);
	const more = page.assignHues(["java.util.", "shop.web.", "zoo."]);
	assert.equal(few.get("shop.web."), more.get("shop.web."));
	assert.equal(few.get("java.util."), null);
});

test("an empty profile is a tree of nothing", () => {
	const nothing = page.makeTree(page.decodeProfile({ methods: [], merged: [], threads: [] }).trees[0].top, "");
	assert.deepEqual([nothing.total, nothing.nodes.length], [0, 1]);
});

// outline writes a tree as method:total:self, with callees in brackets.
const outline = (top) => {
	const name = (node) => (node.method < 0 ? "" : decoded.methods[node.method].member.slice(1) + ":" + node.total + ":" + node.self);
	return name(top) + (top.children.length > 0 ? "[" + top.children.map(outline).join(" ") + "]" : "");
};

test("trees take other shapes", () => {
	assert.equal(outline(tree.top), "[root:100:10[a:90:30[a:60:20[b:40:40]] c:0:0]]");
	assert.equal(outline(page.withoutMethods(tree, new Set([1]))), "[root:100:60[b:40:40 c:0:0]]");
	assert.equal(outline(page.onlyMethods(tree, new Set([2]))), "[root:40:0[a:40:0[a:40:0[b:40:40]]]]");
	assert.equal(outline(page.byCallers(tree)), "[a:50:50[root:30:0 a:20:0[root:20:0]] b:40:40[a:40:0[a:40:0[root:40:0]]] root:10:10]");
	const { callers, callees } = page.around(tree, 1);
	assert.equal(outline(callers), "a:90:30[root:90:0]");
	assert.equal(outline(callees), "a:90:30[a:60:20[b:40:40]]");
	assert.equal(page.around(tree, 17), null);
});
