// Connects the parts of a page with a flame graph: the tree shown and its shape, the search, the tabs and the theme.

function start(result) {
	const { methods, trees: sources, isSamples, colourOf, legend } = decodeResult(result);
	const tooltip = byId("tooltip");
	const actions = [
		["Only its calls", "Show only the calls that lead to this method, and what it calls", (method) => add("only", method)],
		["Without it", "Leave this method out: its time becomes that of its callers", (method) => add("without", method)],
		["Callers and callees", "Show all callers of this method above, and all its callees below it", (method) => address.set({ tab: "flame", shape: "sandwich", method, zoom: "" })],
	];
	const menu = new Menu([...actions, ["Copy name", "Copy the name of this method", (method) => navigator.clipboard?.writeText(methods[method].full)]]);
	const openMenu = (node, x, y) => menu.open(node.method, x, y);
	const flame = new Flame("flame", methods, tooltip, (node) => address.set({ zoom: wayTo(node) }), openMenu);
	const above = new Flame("above", methods, tooltip, () => {}, openMenu);
	above.hasNoCrumbs = true;
	const views = [flame, above];
	const pickMethod = (method) => {
		panel.show(tree, method, methodsTab.sumOf(method));
		methodsTab.reveal(method);
	};
	let treeTab, methodsTab, panel;
	if (byId("view-tree")) {
		treeTab = new TreeTab(methods, isSamples, (node) => {
			address.set({ tab: "flame", shape: "callees", zoom: "" });
			flame.reveal(node);
			flame.frame.focus();
		});
		methodsTab = new MethodsTab(methods, isSamples, pickMethod);
		panel = new MethodPanel(methods, isSamples, actions, pickMethod, () => methodsTab.rows.draw());
		views.push(treeTab, methodsTab);
	}
	let tree = null;
	let shown = ""; // what the flame graph shows
	let searched = ""; // what was searched last
	let found = null; // in the tree, and in the flame graph
	let foundInFlame = null;
	let lastMatch = null;

	const drawLegend = () => byId("legend").replaceChildren(...(legend ? legend(flame.palette.dark) : legendOf(tree, methods, flame.palette)));
	const setTheme = wireTheme((isDark) => {
		const palette = makePalette(methods, isDark, colourOf);
		for (const view of views) view.paint(palette);
		if (tree) drawLegend();
	});
	// Paper is light.
	let theme = "";
	addEventListener("beforeprint", () => {
		theme = document.documentElement.dataset.theme;
		setTheme("light");
		flame.putOnPaper(true);
	});
	addEventListener("afterprint", () => {
		setTheme(theme);
		flame.putOnPaper(false);
	});

	// The tree: of all threads or of one, with or without methods.
	const trees = new Map();
	const treeOf = ({ thread, only, without }) => {
		const key = [thread, only, "", without].join();
		if (!trees.has(key)) {
			const { label, top } = sources[thread] ?? sources[0];
			let made = makeTree(top, label);
			if (without.length > 0) made = makeTree(withoutMethods(made, new Set(without)), label);
			if (only.length > 0) made = makeTree(onlyMethods(made, new Set(only)), label);
			if (trees.size > 20) trees.clear();
			trees.set(key, made);
		}
		return trees.get(key);
	};
	const showTree = (made) => {
		tree = made;
		for (const view of [treeTab, methodsTab]) view?.show(tree);
		drawLegend();
		if (panel?.method !== undefined) panel.show(tree, panel.method, methodsTab.sumOf(panel.method));
	};
	const showFlame = ({ shape, method, up }) => {
		const both = shape === "sandwich" ? around(tree, method) : null;
		above.frame.hidden = !both;
		if (both) {
			above.show(makeTree(both.callers, "Callers"), true);
			flame.show(makeTree(both.callees, "Callees"), false);
		} else if (shape === "callers") flame.show(makeTree(byCallers(tree), "Self time, by callers"), up);
		else flame.show(tree, up);
	};

	const apply = (state) => {
		const made = treeOf(state);
		const isOther = made !== tree;
		if (isOther) showTree(made);
		const wanted = [state.shape, state.method, state.up].join();
		if (isOther || wanted !== shown) showFlame(state);
		const searching = state.regex + state.search;
		if (isOther || wanted !== shown || searching !== searched) search(state);
		shown = wanted;
		searched = searching;
		const zoomed = nodeOn(flame.tree, state.zoom);
		if (zoomed !== flame.view.zoomed) flame.zoom(zoomed);
		picker.value = String(state.thread);
		for (const button of shapes) button.setAttribute("aria-pressed", String(button.dataset.shape === state.shape));
		flip.setAttribute("aria-pressed", String(state.up));
		flip.disabled = state.shape === "sandwich";
		drawFilters(state);
		openTab(state.tab);
	};
	const address = wireState(apply);

	const picker = byId("threads");
	sources.forEach(({ label }, i) => picker.append(new Option(label, String(i))));
	picker.parentElement.hidden = sources.length < 2;
	picker.addEventListener("change", () => address.set({ thread: Number(picker.value), zoom: "" }));

	const shapes = [...document.querySelectorAll("[data-shape]")];
	const hottest = () => sumMethods(tree, methods.length).reduce((most, sum) => (sum.self > most.self ? sum : most), { self: -1, method: -1 }).method;
	for (const button of shapes) {
		button.addEventListener("click", () => {
			const at = flame.marks.selected ?? flame.view.zoomed;
			const method = button.dataset.shape === "sandwich" ? (at.method >= 0 ? at.method : hottest()) : -1;
			address.set({ shape: button.dataset.shape, method, zoom: "" });
		});
	}
	const flip = byId("flip");
	flip.addEventListener("click", () => address.set({ up: !address.get().up }));

	// Methods that are left out, or alone shown.
	const add = (key, method) => address.set({ [key]: [...new Set([...address.get()[key], method])], zoom: "" });
	const drawFilters = (state) => {
		const chips = ["only", "without"].flatMap((key) => state[key].filter((method) => methods[method]).map((method) => {
			const chip = make("button", "chip", `${key} ${methods[method].brief} `, make("span", "", "×"));
			chip.type = "button";
			chip.title = "Remove: " + methods[method].full;
			chip.addEventListener("click", () => address.set({ [key]: state[key].filter((other) => other !== method), zoom: "" }));
			return chip;
		}));
		byId("filters").replaceChildren(...chips);
		byId("filters").hidden = chips.length === 0;
	};

	const input = byId("search");
	const regex = byId("regex");
	const output = byId("found");
	const search = (state) => {
		if (input.value.trim() !== state.search) input.value = state.search;
		regex.setAttribute("aria-pressed", String(state.regex));
		const matcher = makeMatcher(state.search, state.regex);
		const isWrong = matcher !== null && matcher.error !== undefined;
		found = matcher && !isWrong ? findMatches(tree, methods, matcher) : null;
		foundInFlame = found && flame.tree !== tree ? findMatches(flame.tree, methods, matcher) : found;
		lastMatch = null;
		output.classList.toggle("wrong", isWrong);
		output.textContent = isWrong ? "Not a regular expression" : found ? `${share(found.share)} of time in ${plural(found.methods, "method")}` : "";
		output.title = isWrong ? matcher.error : found ? `${plural(found.contexts, "context")}; nested matches count once` : "";
		for (const view of views) view.mark(view === flame ? foundInFlame : found);
	};
	input.addEventListener("input", () => address.set({ search: input.value.trim() }, true));
	input.addEventListener("keydown", (event) => {
		if (event.key === "Escape") {
			input.value = "";
			address.set({ search: "" }, true);
			input.blur();
		} else if (event.key === "Enter" && found) {
			const inTree = treeTab && !byId("view-tree").hidden;
			lastMatch = (inTree ? found : foundInFlame).next(lastMatch);
			if (lastMatch && inTree) treeTab.reveal(lastMatch);
			else if (lastMatch && !byId("view-flame").hidden) flame.reveal(lastMatch);
		} else return;
		event.preventDefault();
	});
	regex.addEventListener("click", () => {
		address.set({ regex: !address.get().regex }, true);
		input.focus();
	});
	document.addEventListener("keydown", (event) => {
		if (event.defaultPrevented || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
		if (event.key === "Escape" && !byId("view-flame").hidden) flame.reset();
		if (event.key !== "/") return;
		event.preventDefault();
		input.focus();
		input.select();
	});

	wireTabs((tab) => address.set({ tab }));
	apply(address.get());
}

const tabNames = ["flame", "tree", "methods", "measured"].filter((name) => byId("tab-" + name));

// openTab shows the view of a name, or the first view.
function openTab(wanted) {
	const name = tabNames.includes(wanted) ? wanted : tabNames[0];
	for (const other of tabNames) {
		byId("tab-" + other).setAttribute("aria-selected", String(other === name));
		byId("tab-" + other).tabIndex = other === name ? 0 : -1;
		byId("view-" + other).hidden = other !== name;
	}
	byId("tooltip").hidden = true;
}

function wireTabs(open) {
	tabNames.forEach((name, i) => {
		const tab = byId("tab-" + name);
		tab.addEventListener("click", () => open(name));
		tab.addEventListener("keydown", (event) => {
			const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			if (!step) return;
			const next = tabNames[(i + step + tabNames.length) % tabNames.length];
			open(next);
			byId("tab-" + next).focus();
		});
	});
}

withCarried(start);
