// Connects the parts: the transaction shown, the filter and the theme.

function startTrace(result) {
	const transactions = decodeTrace(result);
	const packages = new Map(); // to their self times
	const categories = new Set();
	for (const t of transactions) {
		eachCall(t, (call) => {
			packages.set(call.name.pkg, (packages.get(call.name.pkg) ?? 0) + call.selfNanos);
			if (call.category in categoryHues) categories.add(call.category);
		});
	}
	const hues = assignHues(packages.keys());
	const water = new Waterfall(byId("tooltip"));
	if (transactions.length === 0) {
		byId("water").replaceChildren(make("p", "nothing", "No transaction was seen."));
		byId("keys").hidden = true;
	}
	const pick = (t) => {
		list.select(t);
		water.show(t);
	};
	const list = new TransactionList(transactions, pick);

	wireTheme((isDark) => {
		water.paint(hues, isDark);
		const swatch = (colour, text) => {
			const box = make("i", "");
			box.style.background = colour;
			return make("span", "", box, text);
		};
		const longest = [...packages].sort((a, b) => b[1] - a[1]).slice(0, 12);
		const items = [...categories].map((category) => swatch(dotColour(categoryHues[category], isDark), "category " + category));
		items.push(...longest.map(([pkg]) => swatch(dotColour(hues.get(pkg) ?? null, isDark), pkg === "" ? "(no package)" : pkg.slice(0, -1))));
		items.push(make("span", "", "strong: self time, pale: calls below"));
		byId("legend").replaceChildren(...(transactions.length > 0 ? items : []));
	});

	const filter = byId("filter");
	filter.addEventListener("input", () => {
		list.query = filter.value;
		list.draw();
	});
	filter.addEventListener("keydown", (event) => {
		if (event.key !== "Escape") return;
		filter.value = list.query = "";
		list.draw();
		filter.blur();
	});
	addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || event.target === filter) return;
		if (event.key === "/") {
			event.preventDefault();
			filter.focus();
		}
		const by = { j: 1, k: -1 }[event.key];
		const next = by && list.step(by);
		if (next) pick(next);
	});
	if (list.shown.length > 0) pick(list.shown[0]); // the slowest
}

withCarried(startTrace);
