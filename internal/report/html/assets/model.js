// Decodes the trace that the page contains. A row is one call, or many calls of one method by
// the same caller.

const foldFrom = 3;
const sliver = 0.005; // the part of a transaction below which a row is barely visible

function decodeTrace(trace) {
	return trace.transactions.map((transaction, index) => {
		const root = decodeCall(transaction.root);
		const parts = (transaction.parts ?? []).map(decodeCall);
		const tags = Object.entries(transaction.tags ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
		return { ...transaction, number: index + 1, root, parts, tags, when: new Date(transaction.begin) };
	});
}

function decodeCall(call) {
	return {
		...call,
		name: decodeName(call),
		end: call.startNanos + call.measuredNanos,
		values: call.values ?? [],
		folded: (call.folded ?? []).map(decodeFolded),
		children: (call.children ?? []).map(decodeCall),
	};
}

function eachCall(transaction, visit) {
	const walk = (call) => {
		visit(call);
		call.children.forEach(walk);
	};
	[transaction.root, ...transaction.parts].forEach(walk);
}

// rowsOf returns the rows of a transaction's root and parts.
function rowsOf(transaction) {
	const rows = [makeCallRow([transaction.root], 0, null)];
	for (const calls of foldCalls(transaction.parts)) rows.push(makeCallRow(calls, 0, null));
	// Rows below slivers are closed at first.
	const least = transaction.extentNanos * sliver;
	const close = (row) => {
		row.open = row.level === 0 || row.duration >= least;
		row.children.forEach(close);
	};
	rows.forEach(close);
	return rows;
}

// makeCallRow returns the row of calls, with sums of further calls of the same method.
function makeCallRow(calls, level, parent, folded = []) {
	const sum = (key) => [...calls, ...folded].reduce((total, one) => total + one[key], 0);
	const first = calls[0] ?? folded[0];
	const row = {
		calls, level, parent, name: first.name, open: true, size: calls.length + folded.reduce((total, one) => total + one.calls, 0),
		duration: sum("durationNanos"), self: sum("selfNanos"), measured: sum("measuredNanos"),
		start: calls[0]?.startNanos ?? parent.start, end: calls.reduce((last, call) => Math.max(last, call.end), calls.length > 0 ? 0 : parent.end),
		longest: calls.reduce((longest, call) => Math.max(longest, call.durationNanos), 0),
		threw: calls.filter((call) => call.threw).length + folded.reduce((total, one) => total + (one.threw ?? 0), 0), cut: calls.filter((call) => call.cut).length,
		category: first.category, target: first.target, conditional: Boolean(first.conditional), handed: Boolean(first.handed), descriptor: first.descriptor,
		omitted: [...calls, ...folded].reduce((total, one) => total + (one.omitted?.calls ?? 0), 0),
	};
	// A region is the nearest enclosing conditional call. If that is the root, everything
	// is conditional and nothing has to be distinguished.
	row.region = row.conditional && level > 0 ? row : parent ? parent.region : null;
	const further = new Map();
	for (const one of [...calls.flatMap((call) => call.folded), ...folded.flatMap((one) => one.children)]) {
		if (!further.has(methodKey(one))) further.set(methodKey(one), []);
		further.get(methodKey(one)).push(one);
	}
	row.children = foldCalls(calls.flatMap((call) => call.children)).map((inner) => {
		const key = methodKey(inner[0]);
		const more = inner[0].handed ? [] : (further.get(key) ?? []);
		if (more.length > 0) further.delete(key);
		return makeCallRow(inner, level + 1, row, more);
	});
	for (const rest of further.values()) row.children.push(makeCallRow([], level + 1, row, rest));
	return row;
}

function decodeFolded(one) {
	return { ...one, name: decodeName(one), children: (one.children ?? []).map(decodeFolded) };
}

function decodeName(call) {
	const method = nameOf(call.class ?? "", call.method);
	if (!call.class) method.brief = method.full = call.method;
	return method;
}

function methodKey(call) {
	return (call.class ?? "") + "." + call.method + (call.descriptor ?? "");
}

function foldCalls(calls) {
	const key = (call) => methodKey(call) + (call.handed ? "|handed" : "") + (call.target ? "|" + call.target : "");
	const counts = new Map();
	for (const call of calls) counts.set(key(call), (counts.get(key(call)) ?? 0) + 1);
	const groups = new Map();
	calls.forEach((call, i) => {
		const many = counts.get(key(call)) >= foldFrom;
		const group = many ? key(call) : i;
		if (groups.has(group)) groups.get(group).push(call);
		else groups.set(group, [call]);
	});
	return [...groups.values()];
}

// visibleRows returns the rows whose parents are open, in the order in which they are shown.
function visibleRows(rows) {
	return rows.flatMap((row) => [row, ...(row.open ? visibleRows(row.children) : [])]);
}

// segmentsOf returns the runs of pixels that a row's calls fill, with self time apart.
function segmentsOf(row, from, to, pixels) {
	const inCall = new Float32Array(pixels);
	const inBelow = new Float32Array(pixels);
	const scale = pixels / (to - from);
	const spread = (call, into) => {
		const left = Math.max(0, (call.startNanos - from) * scale);
		const right = Math.min(pixels, Math.max((call.end - from) * scale, (call.startNanos - from) * scale + 0.01));
		for (let i = Math.floor(left); i < right && i < pixels; i++) into[i] += Math.min(right, i + 1) - Math.max(left, i);
	};
	for (const call of row.calls) {
		spread(call, inCall);
		for (const child of call.children) spread(child, inBelow);
	}
	const segments = [];
	let last = null;
	for (let i = 0; i < pixels; i++) {
		if (inCall[i] === 0) {
			last = null;
			continue;
		}
		const own = inCall[i] - inBelow[i] >= inBelow[i];
		if (last && last.own === own) {
			last.width++;
			continue;
		}
		const follows = Boolean(last);
		if (last) last.isLast = false;
		last = { left: i, width: 1, own, isFirst: !follows, isLast: true };
		segments.push(last);
	}
	return segments;
}

// tickStep returns a round time that divides a span into about this number of steps.
function tickStep(stretch, about) {
	const rough = Math.max(1, stretch / about);
	const power = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough);
}

function valueText(value) {
	if (value.redacted && !value.text) return "(redacted)";
	if (value.failed) return "(failed)";
	if (value.null) return "null";
	return (value.text ?? "") + (value.cut ? "…" : "");
}

// valuesOf returns a row's distinct values by expression.
function valuesOf(row) {
	const found = new Map();
	for (const call of row.calls) {
		for (const value of call.values) {
			const key = (value.atExit ? "→ " : "") + value.expression;
			if (!found.has(key)) found.set(key, new Set());
			found.get(key).add(valueText(value));
		}
	}
	return [...found].map(([name, texts]) => {
		const all = [...texts];
		const more = all.length > 3 ? `, … ${count(all.length - 3)} more` : "";
		return [name, all.slice(0, 3).join(", ") + more];
	});
}

// matchesFilter reports whether a transaction contains all words: name=value in its tags,
// others in names, tags and values.
function matchesFilter(transaction, query) {
	const words = query.toLowerCase().split(/\s+/).filter(Boolean);
	if (words.length === 0) return true;
	if (transaction.words === undefined) {
		const texts = new Set(transaction.tags.map(([name, value]) => `${name}=${value}`));
		eachCall(transaction, (call) => {
			texts.add(call.name.full);
			if (call.target) texts.add(call.target);
			for (const value of call.values) texts.add(valueText(value));
		});
		transaction.words = [...texts].join("\n").toLowerCase();
	}
	return words.every((word) => transaction.words.includes(word));
}
