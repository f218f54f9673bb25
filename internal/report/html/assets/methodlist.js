// sumMethods sums up a tree by method. With recursion, a method's total is that of its
// outermost calls.
function sumMethods(tree, methodCount) {
	const sums = new Array(methodCount);
	const open = []; // the nodes around the current one that are the outermost of their method
	let inside = new Set();
	for (const node of tree.nodes) {
		while (open.length > 0 && open[open.length - 1].node.end <= node.index) {
			const { node: ended, around } = open.pop();
			if (around) inside = around;
			else inside.delete(ended.method);
		}
		if (node.method < 0) continue;
		const sum = (sums[node.method] ??= emptySum(node.method));
		addNode(sum, node);
		if (node.handed || !inside.has(node.method)) {
			sum.total += node.total;
			open.push({ node, around: node.handed ? inside : null });
			if (node.handed) inside = new Set(); // its time is not in that of its callers
			inside.add(node.method);
		}
	}
	return sums.filter((sum) => sum !== undefined);
}

// categoryTimes sums up the time of the outermost calls of each category with all that they call, the longest first.
function categoryTimes(tree, methods) {
	const times = new Map();
	const categoryOf = (node) => methods[node.method]?.category;
	for (const node of tree.nodes) {
		const category = categoryOf(node);
		if (!(category in categoryHues)) continue;
		let above = node.parent;
		while (above && categoryOf(above) !== category) above = above.parent;
		if (!above) times.set(category, (times.get(category) ?? 0) + node.extent);
	}
	return [...times].sort((a, b) => b[1] - a[1]);
}

function emptySum(method) {
	return {
		method, calls: 0, threw: 0, timed: 0, running: 0, missed: 0, late: false, lost: 0, max: 0,
		self: 0, selfLow: 0, selfHigh: 0, total: 0, contexts: 0, sampled: false, split: false,
	};
}

// offMethods lists the methods without a node because their hooks were off.
function offMethods(tree, methods) {
	const met = new Set(tree.nodes.map((node) => node.method));
	return methods.flatMap((method, i) => (method.on === 0 && !met.has(i) ? [emptySum(i)] : []));
}

// callsText returns the number of calls of a method, which is unknown if its hook was off.
function callsText(sum, method) {
	return method.on === 0 && sum.calls === 0 ? "off" : callText(sum, method);
}

function addNode(sum, node) {
	sum.calls += node.calls;
	sum.threw += node.threw;
	sum.timed += node.timed;
	sum.running += node.running;
	sum.missed += node.missed;
	sum.late ||= node.late;
	sum.sampled ||= node.sampled;
	sum.split ||= node.split;
	sum.lost += node.lost;
	sum.max = Math.max(sum.max, node.max);
	sum.self += node.self;
	sum.selfLow += node.selfLow;
	sum.selfHigh += node.selfHigh;
	sum.contexts++;
}

// neighbours returns the callers and callees of a method, merged over all contexts. An edge
// nested in itself adds only calls, so that time counts once. A caller of -1 means that the
// method is a root.
function neighbours(tree, method) {
	const callers = new Map();
	const callees = new Map();
	for (const node of tree.nodes) {
		if (node.method === method) addEdge(callers, node.parent ? node.parent.method : -1, node);
		if (node.parent && node.parent.method === method) addEdge(callees, node.method, node);
	}
	const longestFirst = (edges) => [...edges.values()].sort((a, b) => b.total - a.total || b.calls - a.calls);
	return { callers: longestFirst(callers), callees: longestFirst(callees) };
}

function addEdge(edges, method, node) {
	let edge = edges.get(method);
	if (!edge) edges.set(method, (edge = { method, calls: 0, total: 0 }));
	edge.calls += node.calls;
	if (!isInsideSameEdge(node)) edge.total += Math.max(0, node.total);
}

function isInsideSameEdge(node) {
	const caller = node.parent ? node.parent.method : -1;
	for (let at = node.parent; at && at.parent; at = at.parent) {
		if (at.method === node.method && at.parent.method === caller) return true;
	}
	return false;
}

// methodOrders holds the sort keys of methods.
const methodOrders = {
	method: (sum, methods) => methods[sum.method].full,
	self: (sum) => sum.self,
	error: (sum) => selfError(sum),
	mean: (sum) => sum.self / Math.max(1, sum.calls),
	total: (sum) => sum.total,
	calls: (sum) => sum.calls,
	threw: (sum) => sum.threw,
	contexts: (sum) => sum.contexts,
};

function sortMethods(sums, methods, key, descending) {
	const order = methodOrders[key];
	const sign = descending ? -1 : 1;
	return sums.slice().sort((a, b) => {
		const left = order(a, methods);
		const right = order(b, methods);
		const difference = typeof left === "string" ? (left < right ? -1 : left > right ? 1 : 0) : left - right;
		return sign * difference || a.method - b.method;
	});
}
