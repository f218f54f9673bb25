// Connects the parts: the tree shown, the search, the tabs and the theme.

function start() {
	const profile = decodeProfile(JSON.parse(byId("result").textContent));
	const { methods } = profile;
	const tooltip = byId("tooltip");
	const flame = new Flame(methods, tooltip);
	const treeTab = new TreeTab(methods, (node) => {
		openTab("flame");
		flame.reveal(node);
		flame.frame.focus();
	});
	const pickMethod = (method) => {
		panel.show(tree, method, methodsTab.sumOf(method));
		methodsTab.reveal(method);
	};
	const methodsTab = new MethodsTab(methods, pickMethod);
	const panel = new MethodPanel(methods, pickMethod, () => methodsTab.rows.draw());
	const views = [flame, treeTab, methodsTab];
	let tree = null;
	let found = null;
	let lastMatch = null;

	const setTheme = wireTheme((isDark) => {
		const palette = makePalette(methods, isDark);
		for (const view of views) view.paint(palette);
		if (tree) drawLegend(tree, methods, palette);
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

	// Threads: all merged, or one.
	const picker = byId("threads");
	const trees = new Map();
	profile.trees.forEach(({ label }, i) => picker.append(new Option(label, String(i))));
	const showTree = (i) => {
		if (!trees.has(i)) trees.set(i, makeTree(profile.trees[i].top, profile.trees[i].label));
		tree = trees.get(i);
		for (const view of views) view.show(tree);
		drawLegend(tree, methods, flame.palette);
		if (panel.method !== undefined) panel.show(tree, panel.method, methodsTab.sumOf(panel.method));
		search();
	};
	picker.addEventListener("change", () => showTree(Number(picker.value)));

	// Search.
	const input = byId("search");
	const regex = byId("regex");
	const output = byId("found");
	const search = () => {
		const matcher = makeMatcher(input.value.trim(), regex.getAttribute("aria-pressed") === "true");
		const isWrong = matcher !== null && matcher.error !== undefined;
		found = matcher && !isWrong ? findMatches(tree, methods, matcher) : null;
		lastMatch = null;
		output.classList.toggle("wrong", isWrong);
		output.textContent = isWrong ? "Not a regular expression" : found ? `${share(found.share)} of time in ${plural(found.methods, "method")}` : "";
		output.title = isWrong ? matcher.error : found ? `${plural(found.contexts, "context")}; nested matches count once` : "";
		for (const view of views) view.mark(found);
	};
	input.addEventListener("input", search);
	input.addEventListener("keydown", (event) => {
		if (event.key === "Escape") {
			input.value = "";
			search();
			input.blur();
		} else if (event.key === "Enter" && found) {
			lastMatch = found.next(lastMatch);
			if (lastMatch && !byId("view-tree").hidden) treeTab.reveal(lastMatch);
			else if (lastMatch && !byId("view-flame").hidden) flame.reveal(lastMatch);
		} else return;
		event.preventDefault();
	});
	regex.addEventListener("click", () => {
		regex.setAttribute("aria-pressed", String(regex.getAttribute("aria-pressed") !== "true"));
		search();
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

	showTree(0);
	wireTabs();
	openTab(location.hash.slice(1));
}

const tabNames = ["flame", "tree", "methods", "measured"];

// openTab shows the view of a name, or the first view.
function openTab(wanted) {
	const name = tabNames.includes(wanted) ? wanted : tabNames[0];
	for (const other of tabNames) {
		byId("tab-" + other).setAttribute("aria-selected", String(other === name));
		byId("tab-" + other).tabIndex = other === name ? 0 : -1;
		byId("view-" + other).hidden = other !== name;
	}
	byId("tooltip").hidden = true;
	if (location.hash.slice(1) !== name && wanted) history.replaceState(null, "", "#" + name);
}

function wireTabs() {
	tabNames.forEach((name, i) => {
		const tab = byId("tab-" + name);
		tab.addEventListener("click", () => openTab(name));
		tab.addEventListener("keydown", (event) => {
			const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			if (!step) return;
			const next = tabNames[(i + step + tabNames.length) % tabNames.length];
			openTab(next);
			byId("tab-" + next).focus();
		});
	});
	addEventListener("hashchange", () => openTab(location.hash.slice(1)));
}

start();
