// The heading of a waterfall, and the tooltip of a call.

function drawTitle(t) {
	const title = make("h2", "", make("span", "number", "#" + t.number), nameElement(t.root.name), make("b", "", nanos(t.durationNanos)));
	const facts = [clockText(t.when), threadText(t.root), plural(t.calls, "call")];
	if (t.errors) facts.push(plural(t.errors, "exception"));
	if (t.parts.length > 0) facts.push(plural(t.parts.length, "part") + " on other threads");
	const line = make("p", "", ...facts.map((fact) => make("span", "", fact)));
	if (t.lost) line.append(make("span", "gap", `${plural(t.lost, "call")} only counted because the ring was full`));
	if (t.late) line.append(make("span", "gap", `${plural(t.late, "part")} ended long after the root`));
	const id = make("span", "", `trace ${t.traceId}${t.parentSpanId ? ", called by span " + t.parentSpanId : ""}`);
	line.append(id);
	byId("water-title").replaceChildren(title, line, make("div", "chips", ...chipsOf(t.tags), ...chipsOf(valuesOf({ calls: [t.root] }))));
}

function fillCallTooltip(tooltip, row, transaction) {
	const isOne = row.size === 1;
	const whole = Math.max(1, transaction.durationNanos);
	const facts = make("dl", "");
	const add = (name, figure, more) => facts.append(make("dt", "", name), make("dd", "", figure), make("dd", "", more ?? ""));
	const longest = row.longest > 0 ? `, longest ${nanos(row.longest)}` : "";
	if (!isOne) add("Calls", count(row.size), `mean ${nanos(row.duration / row.size)}${longest}`);
	add("Total", nanos(row.duration), share(row.duration / whole));
	add("Self", nanos(row.self), share(row.self / whole));
	add("Begins", nanos(row.start), isOne ? "" : "the first");
	add("Measured", nanos(row.measured), "including the cost of hooks");
	const said = sentencesOfCall(row).map((sentence) => make("p", "", sentence));
	const values = valuesOf(row);
	const list = make("dl", "values");
	for (const [name, text] of values) list.append(make("dt", "", name), make("dd", "", text));
	tooltip.replaceChildren(
		...[
			nameElement(row.name),
			make("span", "signature", signature(row.descriptor ?? "")),
			row.target ? make("p", "target", row.target) : null,
			facts,
			values.length > 0 ? list : null,
			said.length > 0 ? make("div", "said", ...said) : null,
		].filter(Boolean),
	);
}

function sentencesOfCall(row) {
	const said = [];
	const threads = new Set(row.calls.map(threadText));
	if (row.handed) said.push(`Handed over to ${threads.size === 1 ? [...threads][0] : plural(threads.size, "thread")}.`);
	if (row.conditional) said.push("Conditional: such calls are traced only where the condition or context holds.");
	if (row.threw) said.push(row.size === 1 ? "Ended with an exception." : `${plural(row.threw, "call")} ended with an exception.`);
	if (row.cut) said.push("Its end was not seen.");
	if (row.size > row.calls.length) said.push(`${plural(row.calls.length, "call")} drawn; the others are only summed up, because there were many.`);
	if (row.omitted) said.push(`${plural(row.omitted, "more call")} below were summed up because there were too many.`);
	const tags = Object.entries(row.calls[0]?.tags ?? {});
	if (tags.length > 0 && row.level > 0) said.push("Tags here: " + tags.map(([name, value]) => `${name}=${value}`).join(", "));
	return said;
}
