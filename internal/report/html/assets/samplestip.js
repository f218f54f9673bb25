// What the page of hot spots shows of a context.

// decodeResult reads the tree of hot spots (docs/formats/hot.md).
function decodeResult({ tree: { methods: list, nodes } }) {
	const methods = list.map((method) => ({ ...nameOf(method.class ?? "", method.name), signature: signature(method.descriptor ?? ""), category: method.category }));
	for (const { method, kinds } of nodes) {
		// Code that is not of Java has the colour of its kind.
		if (method >= 0 && !list[method].class) methods[method].group ??= `${Object.keys(kinds ?? {})[0] ?? "unknown"}.`;
	}
	return { methods, trees: [{ label: "All threads", top: decodeTree(nodes) }], isSamples: true };
}

function fillTooltip(tooltip, node, tree, methods) {
	if (node.method < 0) {
		tooltip.replaceChildren(make("b", "", tree.label), make("dl", "", make("dt", "", "Total"), make("dd", "", "≈ " + nanos(tree.total)), make("dd", "", "")));
		return;
	}
	const method = methods[node.method];
	const list = make("dl", "");
	for (const [name, time] of [["Total", node.total], ["Self", node.self]]) {
		list.append(make("dt", "", name), make("dd", "", share(time / tree.total)), make("dd", "", "≈ " + nanos(time)));
	}
	const kinds = Object.entries(node.kinds ?? {}).sort((a, b) => b[1] - a[1]).map(([kind, part]) => `${kind} ${share(part)}`);
	tooltip.replaceChildren(nameElement(method), make("span", "signature", aboutMethod(method)), list, make("div", "said", make("p", "", kinds.join(", "))));
}

function spoken(node, method) {
	return `${method.full}, total about ${nanos(node.total)}, self about ${nanos(node.self)}`;
}
