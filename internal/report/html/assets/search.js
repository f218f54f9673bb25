// makeMatcher returns a test of full names for a search text: null for an empty text, and an
// error for an invalid regular expression.
function makeMatcher(query, isRegex) {
	if (query === "") return null;
	if (!isRegex) {
		const wanted = query.toLowerCase().replaceAll("/", ".").replaceAll("#", ".");
		return {
			test: (full) => full.toLowerCase().includes(wanted),
			range: (text) => {
				const at = text.toLowerCase().indexOf(wanted);
				return at < 0 ? null : [at, at + wanted.length];
			},
		};
	}
	try {
		const pattern = new RegExp(query, "i");
		return {
			test: (full) => pattern.test(full),
			range: (text) => {
				const found = pattern.exec(text);
				return found && found[0] !== "" ? [found.index, found.index + found[0].length] : null;
			},
		};
	} catch (problem) {
		return { error: problem.message };
	}
}

// findMatches marks the nodes of a tree that match. Nested matches count once in its time.
function findMatches(tree, methods, matcher) {
	const isMethodFound = methods.map((method) => matcher.test(method.full));
	const before = new Uint32Array(tree.nodes.length + 1); // number of matches before each node
	let time = 0;
	let coveredTo = 0;
	for (const node of tree.nodes) {
		const isFound = node.method >= 0 && isMethodFound[node.method];
		before[node.index + 1] = before[node.index] + (isFound ? 1 : 0);
		if (isFound && node.index >= coveredTo) {
			time += Math.max(0, node.total);
			coveredTo = node.end;
		}
	}
	return {
		matcher,
		isMethodFound,
		methods: isMethodFound.reduce((sum, isFound) => sum + (isFound ? 1 : 0), 0),
		contexts: before[tree.nodes.length],
		share: tree.extent > 0 ? time / tree.extent : 0,
		has: (node) => node.method >= 0 && isMethodFound[node.method],
		hasBelow: (node) => before[node.end] > before[node.index + 1],
		// The next match after a node, wrapping around at the end.
		next: (node) => {
			const size = tree.nodes.length;
			for (let step = 1; step <= size; step++) {
				const at = tree.nodes[((node ? node.index : 0) + step) % size];
				if (at.method >= 0 && isMethodFound[at.method]) return at;
			}
			return null;
		},
	};
}
