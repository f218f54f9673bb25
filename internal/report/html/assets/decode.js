// decodeProfile reads the methods and trees of the profile that the page contains
// (docs/formats/profile.md).
function decodeProfile(profile) {
	const methods = profile.methods.map((method) => ({
		...nameOf(method.class ?? "", method.name),
		signature: signature(method.descriptor ?? ""),
		native: method.native === true,
		lowerBound: method.lowerBound === true,
		category: method.category,
	}));
	// on is how long a hook was on that was not on for the whole window; 0 is off.
	for (const { method, onNanos: on = 0 } of profile.quiet ?? []) {
		if (on === 0 || on < (profile.tookNanos ?? 0)) methods[method].on = on;
	}
	const threads = profile.threads.map((thread) => ({
		label: thread.name || "Thread " + thread.id,
		top: decodeTree(thread.nodes),
	}));
	threads.sort((a, b) => totalOf(b.top) - totalOf(a.top));
	const merged = { label: threads.length > 1 ? "All threads" : "All", top: decodeTree(profile.merged) };
	return { methods, trees: [merged, ...threads] };
}

// decodeTree links a list of nodes, callers before callees. Missing numbers are zero.
function decodeTree(list) {
	const nodes = [];
	for (const written of list.length > 0 ? list : [{ parent: -1, method: -1 }]) {
		const [self, selfLow, selfHigh] = decodeTime(written.self);
		const [total, totalLow, totalHigh] = decodeTime(written.total);
		const node = {
			kinds: written.kinds ?? null, // only samples have kinds
			method: written.method, calls: written.calls ?? 0, threw: written.threw ?? 0, timed: written.timed ?? 0,
			self, selfLow, selfHigh, total, totalLow, totalHigh,
			max: written.maxNanos ?? 0, running: written.running ?? 0, missed: written.missed ?? 0,
			late: written.late === true, lost: written.lostNanos ?? 0, children: [],
			sampled: written.sampled === true, split: written.split === true, handed: written.handed === true,
			waits: (written.waits ?? []).map((wait) => ({ what: wait.for, time: decodeTime(wait.time)[0] })),
		};
		nodes.push(node);
		if (written.parent >= 0) nodes[written.parent].children.push(node);
	}
	for (const node of nodes) node.children.sort((a, b) => a.handed - b.handed || b.total - a.total);
	return nodes[0];
}

// A bound of null is infinite.
function decodeTime(time) {
	return time ? time.map((figure) => figure ?? Infinity) : [0, 0, 0];
}
