// Connects the parts of a flame graph of samples: the tree, the search and the theme.

// decodeSamples links the nodes, which are listed callers before callees.
function decodeSamples(samples) {
	const methods = samples.methods.map((method) => ({ ...nameOf(method.class ?? "", method.name), signature: signature(method.descriptor ?? "") }));
	const nodes = samples.nodes.map(({ method, self, total, kinds }) => ({
		method, self, selfLow: self, selfHigh: self, total, totalLow: total, totalHigh: total, timed: 1, kinds: kinds ?? {}, children: [],
	}));
	samples.nodes.forEach(({ parent, method, kinds }, i) => {
		if (parent >= 0) nodes[parent].children.push(nodes[i]);
		// Code that is not of Java has the colour of its kind.
		if (method >= 0 && !samples.methods[method].class) methods[method].group ??= `${Object.keys(kinds ?? {})[0] ?? "unknown"}.`;
	});
	return { methods, tree: makeTree(nodes[0], "All threads") };
}

function start() {
	const { methods, tree } = decodeSamples(JSON.parse(byId("samples").textContent));
	const flame = new Flame(methods, byId("tooltip"));
	wireTheme((isDark) => {
		const palette = makePalette(methods, isDark);
		flame.paint(palette);
		drawLegend(tree, methods, palette);
	});

	const input = byId("search");
	const output = byId("found");
	let found = null;
	let last = null;
	const search = () => {
		const matcher = makeMatcher(input.value.trim(), false);
		found = matcher ? findMatches(tree, methods, matcher) : null;
		last = null;
		output.textContent = found ? `${share(found.share)} of time in ${plural(found.methods, "method")}` : "";
		flame.mark(found);
	};
	input.addEventListener("input", search);
	input.addEventListener("keydown", (event) => {
		if (event.key === "Escape") {
			input.value = "";
			search();
			input.blur();
		} else if (event.key === "Enter" && found) {
			last = found.next(last);
			if (last) flame.reveal(last);
		} else return;
		event.preventDefault();
	});
	document.addEventListener("keydown", (event) => {
		if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.tagName === "INPUT") return;
		event.preventDefault();
		input.focus();
		input.select();
	});
	flame.show(tree);
}

start();
