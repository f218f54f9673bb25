// A tree holds the nodes of one thread or of all threads, callers before callees, the longest
// first. A node's subtree is nodes[index] to nodes[end - 1].
// Nothing here recurses: trees can be deeper than the stack of a script.

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
		// The extent is the total with all work below that was handed to other threads.
		node.extent = Math.max(0, node.total);
		for (const child of node.children) node.extent += child.extent - (child.handed ? 0 : Math.max(0, child.total));
	}
	// The extent of a tree is its total with all work that was handed to other threads.
	const tree = { top, label, nodes, depth, total: totalOf(top), extent: top.method < 0 ? top.children.reduce((sum, root) => sum + root.extent, 0) : top.extent };
	layOut(tree);
	return tree;
}

// totalOf returns the time of a tree. A node that stands for no method has that of its roots.
function totalOf(top) {
	if (top.method >= 0) return Math.max(0, top.total);
	return top.children.reduce((sum, root) => sum + Math.max(0, root.total), 0);
}

// layOut sets x and width of each node as parts of the whole, by their extents. Callees never
// extend beyond their caller, even if adjustments made the sum of their times larger.
function layOut(tree) {
	for (const node of tree.nodes) {
		if (node.parent === null) {
			node.x = 0;
			node.width = 1;
		}
		const whole = node.parent === null ? tree.extent : node.extent;
		let sum = 0;
		for (const child of node.children) sum += child.extent;
		const scale = Math.max(whole, sum) > 0 ? node.width / Math.max(whole, sum) : 0;
		let x = node.x;
		for (const child of node.children) {
			child.x = x;
			child.width = child.extent * scale;
			x += child.width;
		}
	}
}

// nodeAt returns the node at a depth and place, or null.
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

// depthInSight returns the depth of a tree between two places, ignoring boxes that are too
// narrow to be shown.
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

// pathTo returns a node and its callers, the outermost first.
function pathTo(node) {
	const path = [];
	for (let at = node; at; at = at.parent) path.push(at);
	return path.reverse();
}

// hotPath follows the longest callee as long as it accounts for much of its caller.
function hotPath(top) {
	const path = [top];
	for (let node = top; node.children.length > 0 && path.length < 200; path.push(node)) {
		const hottest = node.children[0];
		if (node.parent && hottest.total < 0.3 * node.total) break;
		node = hottest;
	}
	return path;
}

// errorOf returns the larger distance from a time to its bounds.
function errorOf(value, low, high) {
	return Math.max(Math.abs(value - low), Math.abs(high - value));
}

function selfError(node) {
	return errorOf(node.self, node.selfLow, node.selfHigh);
}

// isTimed reports whether the time of a node is known: by hooks, or by sampled stacks.
function isTimed(node) {
	return node.timed > 0 || node.sampled;
}

// isUnsure reports whether the error of a self time is above a fifth.
function isUnsure(node) {
	return isTimed(node) && node.self > 0 && selfError(node) > 0.2 * node.self;
}

// isUnclear reports whether the time of a context is hatched. The times of samples and of comparisons are not.
function isUnclear(node) {
	return !node.kinds && !node.verdict && (isUnsure(node) || node.timed === 0 || node.sampled);
}

// kindOf returns how a time was obtained. The time of calls that were only counted is included
// in that of the caller; calls that were not sampled may have any time up to a bound.
function kindOf(node) {
	if (node.sampled) return "stacks";
	if (node.timed === 0) return node.selfHigh > 0 ? "unknown" : "counted";
	return node.timed + node.running < node.calls ? "sampled" : "exact";
}

// selfText and the following return the times of a node, or a dash.
// ~ marks estimates by sampled stacks.
function selfText(node) {
	if (node.sampled && node.self === 0) return "–";
	return isTimed(node) ? (node.sampled || node.split ? "~" : "") + nanos(node.self) : "–";
}

function totalText(node) {
	return !isTimed(node) && !(node.total > 0) ? "–" : (node.sampled ? "~" : "") + nanos(node.total);
}

function meanText(node) {
	return !isTimed(node) || node.calls === 0 ? "–" : (node.sampled ? "~" : "") + mean(node.total / node.calls);
}

// callText returns the number of calls, which is unknown for a method without a hook.
function callText(node, method) {
	return node.sampled && node.calls === 0 ? "–" : callCount(node.calls, method);
}

// waitText returns what part of a node's time threads waited, and for what mostly.
function waitText(node) {
	const sum = node.waits.reduce((all, wait) => all + wait.time, 0);
	return sum < 0.01 * node.total || sum === 0 ? "" : share(sum / node.total) + " " + node.waits[0].what;
}

function errorText(node) {
	return !isTimed(node) || (node.sampled && node.self === 0) ? "–" : within(node.self, selfError(node));
}

// sentencesOf returns what qualifies the numbers of a node.
function sentencesOf(node) {
	const said = [];
	const kind = kindOf(node);
	if (node.handed) said.push("On another thread: the time is not included in that of the caller.");
	if (kind === "counted") said.push("Counted, not timed: the time is included in that of the caller.");
	if (kind === "unknown") said.push("No call was sampled: the self time is unknown" + (Number.isFinite(node.selfHigh) ? `, at most ${nanos(node.selfHigh)}.` : "."));
	if (kind === "sampled") said.push(`${count(node.timed)} of ${count(node.calls)} calls timed. Self, 95 % interval: ${nanos(node.selfLow)} to ${nanos(node.selfHigh)}.`);
	if (kind === "stacks") said.push(`Estimated from sampled stacks. Self, 95 % interval: ${nanos(node.selfLow)} to ${nanos(node.selfHigh)}.`);
	if (kind === "stacks" && node.calls === 0) said.push("It had no hook: calls were not counted.");
	else if (node.split) said.push(`Hooks measured this method together with callees without hooks; sampled stacks divide the time. Self, 95 % interval: ${nanos(node.selfLow)} to ${nanos(node.selfHigh)}.`);
	else if (kind === "exact") said.push(`Every call timed. Self lies between ${nanos(node.selfLow)} and ${nanos(node.selfHigh)}.`);
	if (isUnsure(node)) said.push("Uncertain: the error is above a fifth of the self time.");
	if (node.lost > 0) said.push(`Adjusted: ${nanos(node.lost)} that Sonde took are not in these times.`);
	if (node.running > 0) said.push(`${plural(node.running, "call")} had not ended.`);
	if (node.missed > 0) said.push(`Missed: ${plural(node.missed, "call")} continued before all callees had hooks.`);
	if (node.late) said.push("Late: its hook was installed after the root’s, so earlier calls are not counted.");
	return said;
}
