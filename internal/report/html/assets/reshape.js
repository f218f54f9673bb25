// Other shapes of a tree: only some contexts, without some methods, or from callees to callers.
// Each returns the top of a tree of its own nodes. Nothing here recurses.

const addedFigures = ["calls", "threw", "timed", "running", "missed", "lost", "self", "selfLow", "selfHigh", "total", "totalLow", "totalHigh"];

// emptyCopy returns a node without figures and callees.
function emptyCopy(node) {
	const copy = { ...node, children: [], below: new Map(), waits: [], kinds: node.kinds && {}, max: 0 };
	for (const key of addedFigures) copy[key] = 0;
	return copy;
}

// childFor returns the callee of a node for the same method as another node, making it if needed.
function childFor(parent, node, handed = node.handed) {
	const key = node.method + (handed ? "h" : "");
	let child = parent.below.get(key);
	if (!child) {
		child = emptyCopy(node);
		child.handed = handed;
		parent.below.set(key, child);
		parent.children.push(child);
	}
	return child;
}

// addFigures adds the figures of a node.
function addFigures(to, node) {
	for (const [kind, part] of Object.entries(node.kinds ?? {})) to.kinds[kind] = (to.kinds[kind] ?? 0) * (to.total / (to.total + node.total || 1)) + part * (node.total / (to.total + node.total || 1));
	for (const key of addedFigures) to[key] += node[key];
	to.max = Math.max(to.max, node.max);
	to.waits = to.waits.length === 0 ? node.waits ?? [] : to.waits;
}

// longestFirst sorts all callees.
function longestFirst(top) {
	for (const waiting = [top]; waiting.length > 0; ) {
		const node = waiting.pop();
		node.children.sort((a, b) => a.handed - b.handed || b.total - a.total);
		waiting.push(...node.children);
	}
	return top;
}

// withoutMethods leaves methods out: their self time becomes that of their callers, which call their callees.
function withoutMethods(tree, hidden) {
	const images = new Map();
	for (const node of tree.nodes) {
		if (node.parent === null) {
			const top = emptyCopy(node);
			addFigures(top, node);
			images.set(node, top);
			continue;
		}
		const parent = images.get(node.parent);
		if (hidden.has(node.method)) {
			for (const key of ["self", "selfLow", "selfHigh"]) parent[key] += node[key];
			images.set(node, parent);
			continue;
		}
		const image = childFor(parent, node);
		addFigures(image, node);
		images.set(node, image);
	}
	return longestFirst(images.get(tree.top));
}

// onlyMethods keeps the contexts of methods: what they call, and the calls that lead to them.
function onlyMethods(tree, wanted) {
	const size = tree.nodes.length;
	const isInside = new Uint8Array(size);
	const leads = new Uint8Array(size);
	for (const node of tree.nodes) isInside[node.index] = wanted.has(node.method) || (node.parent && isInside[node.parent.index]) ? 1 : 0;
	for (let i = size - 1; i > 0; i--) if (isInside[i] || leads[i]) leads[tree.nodes[i].parent.index] = 1;
	const images = new Map();
	for (const node of tree.nodes) {
		if (!isInside[node.index] && !leads[node.index] && node.parent) continue;
		const image = emptyCopy(node);
		if (isInside[node.index]) addFigures(image, node);
		else Object.assign(image, { calls: node.calls, timed: node.timed });
		images.set(node, image);
		if (node.parent) images.get(node.parent).children.push(image);
	}
	for (let i = size - 1; i > 0; i--) {
		const node = tree.nodes[i];
		const parent = images.get(node.parent);
		if (!images.has(node) || isInside[node.parent.index] || node.handed) continue;
		for (const key of ["total", "totalLow", "totalHigh"]) parent[key] += images.get(node)[key];
	}
	return longestFirst(images.get(tree.top));
}

// addCallers adds a time to the callers of a node, from callee to caller.
function addCallers(at, node, time) {
	for (let caller = node; caller && caller.method >= 0; caller = caller.parent) {
		at = childFor(at, caller, false);
		at.total = at.totalLow = at.totalHigh = at.total + time;
		at.calls += caller.calls;
		at.timed += caller.timed;
	}
}

// byCallers turns a tree over: the methods with self time, and below each those that called it.
function byCallers(tree) {
	const top = emptyCopy(tree.top);
	const least = tree.nodes.length > 50000 ? 1e-6 * tree.total : 0;
	for (const node of tree.nodes) {
		if (node.method < 0 || !(node.self > least)) continue;
		addCallers(top, node, node.self);
		addFigures(top.below.get(String(node.method)), { ...emptyCopy(node), self: node.self, selfLow: node.selfLow, selfHigh: node.selfHigh });
	}
	return longestFirst(top);
}

// outermost returns the nodes of a method that are in no other node of it.
function outermost(tree, method) {
	const found = [];
	for (let i = 0; i < tree.nodes.length; i = tree.nodes[i].method === method ? tree.nodes[i].end : i + 1) {
		if (tree.nodes[i].method === method) found.push(tree.nodes[i]);
	}
	return found;
}

// around returns the trees of the callers and of the callees of a method.
function around(tree, method) {
	const found = outermost(tree, method);
	if (found.length === 0) return null;
	const callers = emptyCopy(found[0]);
	const callees = emptyCopy(found[0]);
	for (const top of found) {
		addFigures(callers, top);
		addCallers(callers, top.parent, top.total);
		const images = new Map([[top.parent, { below: new Map([[top.method + (top.handed ? "h" : ""), callees]]), children: [] }]]);
		for (let i = top.index; i < top.end; i++) {
			const node = tree.nodes[i];
			const image = node === top ? callees : childFor(images.get(node.parent), node);
			addFigures(image, node);
			images.set(node, image);
		}
	}
	callers.handed = callees.handed = false;
	return { callers: longestFirst(callers), callees: longestFirst(callees) };
}
