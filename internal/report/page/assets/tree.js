// A tree is the nodes of one thread, or of all, in the order callers before
// callees, the longest first. A node's subtree is nodes[index] to nodes[end - 1].
// Nothing here recurses: programs do, deeper than a script may.

// makeTree links, numbers and lays out the nodes under top.
function makeTree(top, label) {
	const nodes = [];
	const waiting = [top];
	let depth = 0;
	top.parent = null;
	top.depth = 0;
	while (waiting.length > 0) {
		const node = waiting.pop();
		node.index = nodes.length;
		nodes.push(node);
		depth = Math.max(depth, node.depth);
		for (let i = node.children.length - 1; i >= 0; i--) {
			const child = node.children[i];
			child.parent = node;
			child.depth = node.depth + 1;
			waiting.push(child);
		}
	}
	for (let i = nodes.length - 1; i >= 0; i--) {
		const node = nodes[i];
		const last = node.children[node.children.length - 1];
		node.end = last ? last.end : i + 1;
	}
	const tree = { top, label, nodes, depth, total: totalOf(top) };
	layOut(tree);
	return tree;
}

// totalOf is the time of a tree: what stands for no method has that of its roots.
function totalOf(top) {
	if (top.method >= 0) return Math.max(0, top.total);
	return top.children.reduce((sum, root) => sum + Math.max(0, root.total), 0);
}

// layOut gives each node its place: x and width as parts of the whole. Callees
// never reach past their caller, even where what was subtracted of the caller's own
// time made their sum the larger.
function layOut(tree) {
	for (const node of tree.nodes) {
		if (node.parent === null) {
			node.x = 0;
			node.width = 1;
		}
		const whole = node.parent === null ? tree.total : Math.max(0, node.total);
		let sum = 0;
		for (const child of node.children) sum += Math.max(0, child.total);
		const scale = Math.max(whole, sum) > 0 ? node.width / Math.max(whole, sum) : 0;
		let x = node.x;
		for (const child of node.children) {
			child.x = x;
			child.width = Math.max(0, child.total) * scale;
			x += child.width;
		}
	}
}

// nodeAt finds the node of a depth that covers a place, or null.
function nodeAt(tree, depth, x) {
	let node = tree.top;
	while (node.depth < depth) {
		let low = 0;
		let high = node.children.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (node.children[middle].x + node.children[middle].width > x) high = middle;
			else low = middle + 1;
		}
		const child = node.children[low];
		if (!child || child.x > x) return null;
		node = child;
	}
	return node;
}

// depthInSight is how deep a tree goes where boxes are at least so wide, between two
// places. Below that a graph has nothing to show.
function depthInSight(tree, from, to, narrowest) {
	const waiting = [tree.top];
	let depth = 0;
	while (waiting.length > 0) {
		const node = waiting.pop();
		depth = Math.max(depth, node.depth);
		for (const child of node.children) {
			if (child.width >= narrowest && child.x < to && child.x + child.width > from) waiting.push(child);
		}
	}
	return depth;
}

// pathTo is a node and its callers, the outermost first.
function pathTo(node) {
	const path = [];
	for (let at = node; at; at = at.parent) path.push(at);
	return path.reverse();
}

// hotPath is the way down by the longest callee while it makes up a good part of
// its caller.
function hotPath(top) {
	const path = [top];
	for (let node = top; node.children.length > 0 && path.length < 200; path.push(node)) {
		const hottest = node.children[0];
		if (node.parent && hottest.total < 0.3 * node.total) break;
		node = hottest;
	}
	return path;
}

// errorOf is how far the truth may be from a time.
function errorOf(value, low, high) {
	return Math.max(Math.abs(value - low), Math.abs(high - value));
}

function selfError(node) {
	return errorOf(node.self, node.selfLow, node.selfHigh);
}

// isUnsure tells times that may be wrong by more than a fifth.
function isUnsure(node) {
	return node.timed > 0 && node.self > 0 && selfError(node) > 0.2 * node.self;
}

// kindOf says how a time was obtained. Of calls that were only counted the time is
// with their caller; of those that chance left untimed it may be anything up to a
// bound.
function kindOf(node) {
	if (node.timed === 0) return node.selfHigh > 0 ? "unknown" : "counted";
	return node.timed + node.running < node.calls ? "sampled" : "exact";
}

// selfText and the others write a node's times; a dash where none is known.
function selfText(node) {
	return node.timed === 0 ? "–" : nanos(node.self);
}

function totalText(node) {
	return node.timed === 0 && !(node.total > 0) ? "–" : nanos(node.total);
}

function meanText(node) {
	return node.timed === 0 || node.calls === 0 ? "–" : mean(node.total / node.calls);
}

function errorText(node) {
	return node.timed === 0 ? "–" : "±" + space + nanos(selfError(node));
}
