// Connects the parts of a flame graph of samples: the tree, the search and the theme.

// decodeSamples reads the tree of hot spots (docs/formats/hot.md).
function decodeSamples({ methods: list, nodes }) {
	const methods = list.map((method) => ({ ...nameOf(method.class ?? "", method.name), signature: signature(method.descriptor ?? "") }));
	for (const { method, kinds } of nodes) {
		// Code that is not of Java has the colour of its kind.
		if (method >= 0 && !list[method].class) methods[method].group ??= `${Object.keys(kinds ?? {})[0] ?? "unknown"}.`;
	}
	return { methods, tree: makeTree(decodeTree(nodes), "All threads") };
}

function start() {
	const { methods, tree } = decodeSamples(JSON.parse(byId("result").textContent).tree);
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
