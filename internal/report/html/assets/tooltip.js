// The tooltip of a context in a profile.

// sentencesOf returns what qualifies the numbers of a node.
function sentencesOf(node) {
	const said = [];
	const kind = kindOf(node);
	if (node.handed) said.push("On another thread: the time is not included in that of the caller.");
	if (kind === "counted") said.push("Counted, not timed: the time is included in that of the caller.");
	if (kind === "unknown") said.push("No call was sampled: the self time is unknown" + (Number.isFinite(node.selfHigh) ? `, at most ${nanos(node.selfHigh)}.` : "."));
	if (kind === "sampled") said.push(`${count(node.timed)} of ${count(node.calls)} calls timed. Self, 95 % interval: ${nanos(node.selfLow)} to ${nanos(node.selfHigh)}.`);
	if (kind === "stacks") said.push(`Estimated from sampled stacks. Self, 95 % interval: ${nanos(node.selfLow)} to ${nanos(node.selfHigh)}.`);
	if (kind === "stacks" && node.calls === 0) said.push("It had no hook: calls were not counted.");
	else if (node.split) said.push(`Hooks measured this method together with callees without hooks; sampled stacks divide the time. Self, 95 % interval: ${nanos(node.selfLow)} to ${nanos(node.selfHigh)}.`);
	else if (kind === "exact") said.push(`Every call timed. Self lies between ${nanos(node.selfLow)} and ${nanos(node.selfHigh)}.`);
	if (isUnsure(node)) said.push("Uncertain: the error is above a fifth of the self time.");
	if (node.lost > 0) said.push(`Adjusted: ${nanos(node.lost)} that Sonde took are not in these times.`);
	if (node.running > 0) said.push(`${plural(node.running, "call")} had not ended.`);
	if (node.missed > 0) said.push(`Missed: ${plural(node.missed, "call")} continued before all callees had hooks.`);
	if (node.late) said.push("Late: its hook was installed after the root’s, so earlier calls are not counted.");
	return said;
}

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
	const native = method.native ? " · native, measured at its call sites" : "";
	tooltip.replaceChildren(nameElement(method), make("span", "signature", method.signature + native), list, said);
}

// spoken describes a context in one line for screen readers.
function spoken(node, method) {
	return `${method.full}, ${callText(node, method)} calls, total ${totalText(node)}, self ${selfText(node)}`;
}
