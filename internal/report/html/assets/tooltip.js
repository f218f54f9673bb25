// What the page of a profile shows of a context.

const decodeResult = decodeProfile;

function factsOf(node, tree, method) {
	const whole = tree.total > 0 ? tree.total : 1;
	const facts = [
		["Calls", callText(node, method), node.threw > 0 ? `${count(node.threw)} threw` : ""],
		["Total", totalText(node), share(node.total / whole)],
		["Self", selfText(node), isTimed(node) ? `${within(node.self, selfError(node))} · ${share(node.self / whole)}` : ""],
		["Mean", meanText(node), isTimed(node) && node.calls > 0 ? `self ${mean(node.self / node.calls)}` : ""],
	];
	if (node.max > 0) facts.push(["Longest", nanos(node.max), ""]);
	for (const { what, time } of node.waits ?? []) facts.push(["Waits", nanos(time), what]);
	return facts;
}

function fillTooltip(tooltip, node, tree, methods) {
	if (node.method < 0) {
		tooltip.replaceChildren(make("b", "", tree.label), make("dl", "", make("dt", "", "Total"), make("dd", "", nanos(tree.total)), make("dd", "", "")));
		return;
	}
	const method = methods[node.method];
	const list = make("dl", "");
	for (const [name, figure, more] of factsOf(node, tree, method)) list.append(make("dt", "", name), make("dd", "", figure), make("dd", "", more));
	const said = make("div", "said", ...sentencesOf(node).map((sentence) => make("p", "", sentence)));
	if (method.lowerBound) said.append(make("p", "", "A lower bound: HotSpot may replace this method by an intrinsic, and calls from compiled code are then not counted."));
	tooltip.replaceChildren(nameElement(method), make("span", "signature", aboutMethod(method)), list, said);
}

// spoken describes a context in one line for screen readers.
function spoken(node, method) {
	return `${method.full}, ${callText(node, method)} calls, total ${totalText(node)}, self ${selfText(node)}`;
}
