// legendOf lists the categories of calls with their time, and the packages with the most self time in a tree.
function legendOf(tree, methods, palette) {
	const jdk = "the JDK.";
	const times = new Map();
	for (const node of tree.nodes) {
		if (node.method < 0) continue;
		const group = groupOf(methods[node.method]);
		const pkg = platform.test(group) ? jdk : group;
		times.set(pkg, (times.get(pkg) ?? 0) + Math.max(0, node.self));
	}
	const items = [...times].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([pkg, time]) => {
		const swatch = make("i", "");
		swatch.style.background = boxColour(palette.hueOf.get(pkg) ?? null, "", palette.dark);
		return make("span", "", swatch, pkg === "" ? "(no package)" : pkg.slice(0, -1), make("b", "", tree.extent > 0 ? share(time / tree.extent) : ""));
	});
	const categories = categoryTimes(tree, methods).map(([category, time]) => {
		const swatch = make("i", "");
		swatch.style.background = categoryColour(category, palette.dark);
		const item = make("span", "category", swatch, `category ${category}, with what it calls`, make("b", "", tree.extent > 0 ? share(time / tree.extent) : ""));
		return item;
	});
	if (times.size > items.length) items.push(make("span", "", `and ${plural(times.size - items.length, "package")} more`));
	if (tree.nodes.some((node) => node.method >= 0 && isUnsure(node))) items.push(make("span", "", make("i", "hatch"), "error above a fifth of self time"));
	if (tree.nodes.some((node) => node.sampled)) items.push(make("span", "", make("i", "hatch"), "by sampled stacks, without hooks"));
	if (tree.nodes.some((node) => node.handed)) items.push(make("span", "", make("i", "handed"), "on another thread, outside the time of its caller"));
	return [...categories, ...items];
}
