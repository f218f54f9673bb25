// The state of a page is in its address, so that a link leads to it and Back returns to the state before.

// usualState is the state of a page that was just opened. Methods are numbers; zoom is the way to a node.
const usualState = { tab: "flame", thread: 0, shape: "callees", method: -1, only: [], without: [], up: false, zoom: "", search: "", regex: false };

function readState(text) {
	if (text !== "" && !text.includes("=")) return { ...usualState, tab: text };
	const given = new URLSearchParams(text);
	const state = { ...usualState };
	for (const [key, usual] of Object.entries(usualState)) {
		const value = given.get(key);
		if (value === null) continue;
		if (Array.isArray(usual)) state[key] = value.split(".").map(Number);
		else if (typeof usual === "number") state[key] = Number(value);
		else state[key] = typeof usual === "boolean" ? value === "1" : value;
	}
	return state;
}

function writeState(state) {
	const written = new URLSearchParams();
	for (const [key, usual] of Object.entries(usualState)) {
		const value = state[key];
		if (String(value) === String(usual)) continue;
		written.set(key, Array.isArray(value) ? value.join(".") : typeof value === "boolean" ? "1" : String(value));
	}
	return written.toString();
}

// wireState calls apply(state) when the state changes, also by Back.
function wireState(apply) {
	let state = readState(location.hash.slice(1));
	addEventListener("popstate", () => {
		state = readState(location.hash.slice(1));
		apply(state);
	});
	return {
		get: () => state,
		// set changes the state. A small change, such as a letter of a search, is no step for Back.
		set: (change, isSmall = false) => {
			const before = writeState(state);
			state = { ...state, ...change };
			const after = writeState(state);
			if (after !== before) history[isSmall ? "replaceState" : "pushState"](null, "", "#" + after);
			apply(state);
		},
	};
}

// wayTo returns the way to a node, and nodeOn the node at its end, or the last on it that exists.
function wayTo(node) {
	return pathTo(node).slice(1).map((at) => at.parent.children.indexOf(at)).join(".");
}

function nodeOn(tree, way) {
	let node = tree.top;
	for (const place of way === "" ? [] : way.split(".")) node = node.children[place] ?? node;
	return node;
}
