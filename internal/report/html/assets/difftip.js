// What the page of a comparison shows of a context.

// decodeResult reads the tree of a comparison (docs/formats/profile.md). A context is as wide as the larger of its times before and
// after the change, so that nothing is missing.
function decodeResult({ tree: { methods: names, nodes: list } }) {
	const methods = names.map((name) => {
		const [head, parameters] = name.split("(", 2);
		const dot = head.lastIndexOf(".");
		return { ...nameOf(head.slice(0, Math.max(0, dot)), head.slice(dot + 1)), signature: parameters ? "(" + parameters : "" };
	});
	const times = (self = 0, total = 0) => ({ self, selfLow: self, selfHigh: self, total, totalLow: total, totalHigh: total });
	const empty = { timed: 1, calls: 0, threw: 0, running: 0, missed: 0, lost: 0, max: 0, waits: [], kinds: null, handed: false };
	const top = { ...empty, ...times(), method: -1, verdict: "same", children: [], before: { totalNanos: 0 }, after: { totalNanos: 0 } };
	const nodes = list.map((node) => {
		const self = Math.max(0, node.before.self?.[0] ?? 0, node.after.self?.[0] ?? 0);
		return { ...empty, ...node, ...times(self), children: [], before: figuresOf(node.before), after: figuresOf(node.after), change: node.change ? decodeTime(node.change) : null };
	});
	nodes.forEach((node, i) => (list[i].parent < 0 ? top : nodes[list[i].parent]).children.push(node));
	for (const node of [...nodes].reverse()) Object.assign(node, times(node.self, node.self + node.children.reduce((sum, child) => sum + child.total, 0)));
	const most = nodes.reduce((largest, node) => Math.max(largest, isChanged(node) ? Math.abs(changeOf(node)) : 0), 1e-9);
	return { methods, trees: [{ label: "All", top: longestFirst(top) }], isSamples: false, colourOf: (node, dark) => changeColour(node, most, dark), legend: changeLegend };
}

function figuresOf({ calls, self, totalNanos }) {
	return { calls, self: self ? self[0] : null, totalNanos };
}

function isChanged(node) {
	return ["slower", "faster", "new", "gone"].includes(node.verdict);
}

function changeOf(node) {
	return (node.after.self ?? 0) - (node.before.self ?? 0);
}

// changeColour is red for contexts that took longer, blue for those that took less time, stronger for larger changes, and grey
// for changes that chance can explain.
function changeColour(node, most, dark) {
	if (!isChanged(node)) return dark ? "oklch(0.4 0.004 80)" : "oklch(0.9 0.004 80)";
	const size = Math.sqrt(Math.min(1, Math.abs(changeOf(node)) / most));
	const lightness = dark ? 0.38 + 0.12 * size : 0.88 - 0.18 * size;
	return `oklch(${lightness.toFixed(3)} ${(0.05 + 0.12 * size).toFixed(3)} ${changeOf(node) > 0 ? 25 : 250})`;
}

function changeLegend(dark) {
	const swatch = (change, verdict, text) => {
		const box = make("i", "");
		box.style.background = changeColour({ verdict, before: { self: 0 }, after: { self: change } }, 1, dark);
		return make("span", "", box, text);
	};
	return [swatch(1, "slower", "took longer than before"), swatch(-1, "faster", "took less time"), swatch(0, "same", "within the variation, or not known"), make("span", "", "width: the larger of the times before and after")];
}

const verdicts = {
	slower: "Slower: chance cannot explain the change.", faster: "Faster: chance cannot explain the change.", new: "New: it was not called before.",
	gone: "Gone: it is not called any more.", calls: "Called more or less often, without a significant change of time.",
	same: "No significant change: chance can explain the difference.", untimed: "Its time is not known on one side.",
};

function fillTooltip(tooltip, node, tree, methods) {
	if (node.method < 0) {
		tooltip.replaceChildren(make("b", "", "All calls of the root"));
		return;
	}
	const time = (nanoseconds) => (nanoseconds === null ? "–" : nanos(nanoseconds));
	const list = make("dl", "");
	for (const [name, figures] of [["Before", node.before], ["After", node.after]]) {
		list.append(make("dt", "", name), make("dd", "", "self " + time(figures.self)), make("dd", "", `total ${nanos(figures.totalNanos)}, ${Number(figures.calls.toPrecision(3))} calls`));
	}
	if (node.change) {
		const [change, low, high] = node.change;
		list.append(make("dt", "", "Change"), make("dd", "", (change > 0 ? "+" : "") + nanos(change)), make("dd", "", `self; between ${nanos(low)} and ${nanos(high)}`));
	}
	const said = make("div", "said", make("p", "", verdicts[node.verdict] ?? ""), make("p", "", "All figures are per call of the root."));
	tooltip.replaceChildren(nameElement(methods[node.method]), make("span", "signature", methods[node.method].signature), list, said);
}

function spoken(node, method) {
	return `${method.full}, ${node.verdict}, self ${nanos(node.before.self ?? 0)} before, ${nanos(node.after.self ?? 0)} after`;
}
