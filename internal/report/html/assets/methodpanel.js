// The panel next to the flat list, with the callers and callees of a method.

class MethodPanel {
	// actions: [[text, title, act(method)]]
	constructor(methods, isSamples, actions, onPick, onClose) {
		this.isSamples = isSamples;
		this.actions = actions;
		this.methods = methods;
		this.onPick = onPick;
		this.panel = byId("panel");
		this.onClose = onClose;
	}

	close() {
		this.panel.parentElement.classList.remove("open");
		this.method = undefined;
		this.onClose();
	}

	show(tree, method, sum) {
		if (!sum) {
			this.close();
			return;
		}
		this.method = method;
		const { callers, callees } = neighbours(tree, method);
		const close = make("button", "close", "×");
		close.type = "button";
		close.setAttribute("aria-label", "Close");
		close.addEventListener("click", () => this.close());
		const about = this.methods[method];
		this.panel.replaceChildren(
			make("div", "top", make("h2", "", nameElement(about)), close),
			make("p", "signature", about.signature + (about.native ? " · native" : "")),
			this.figures(sum, tree),
			make("div", "actions", ...this.actions.map(([text, title, act]) => this.action(text, title, () => act(method)))),
			make("h3", "", callers.length === 1 ? "1 caller" : count(callers.length) + " callers"),
			this.list(callers),
			make("h3", "", callees.length === 1 ? "1 callee" : count(callees.length) + " callees"),
			this.list(callees),
		);
		this.panel.parentElement.classList.add("open");
		this.panel.scrollTop = 0;
	}

	action(text, title, act) {
		const button = make("button", "", text);
		button.type = "button";
		button.title = title;
		button.addEventListener("click", act);
		return button;
	}

	figures(sum, tree) {
		const list = make("dl", "figures");
		const whole = tree.extent > 0 ? tree.extent : 1;
		const facts = this.isSamples ? [
			["Self", `${nanos(sum.self)} · ${share(sum.self / whole)}`],
			["Total", `${nanos(sum.total)} · ${share(sum.total / whole)}`],
			["Samples", count(sum.calls)],
		] : [
			["Self", !isTimed(sum) ? "–" : `${selfText(sum)} ${within(sum.self, selfError(sum))} · ${share(sum.self / whole)}`],
			["Total", `${totalText(sum)} · ${share(sum.total / whole)}`],
			["Calls", callsText(sum, this.methods[sum.method]) + (sum.threw > 0 ? ` · ${count(sum.threw)} threw` : "")],
			["Timed", { exact: "every call", sampled: `${count(sum.timed)} calls, at random`, counted: "none: its time is included in that of its callers", unknown: "none: its time is unknown", stacks: "by sampled stacks" }[kindOf(sum)]],
		];
		for (const [name, text] of facts) list.append(make("dt", "", name), make("dd", "", text));
		return list;
	}

	list(edges) {
		const longest = Math.max(...edges.map((edge) => edge.total), 1e-9);
		const list = make("ol", "");
		for (const edge of edges.slice(0, 100)) {
			const name = edge.method < 0 ? make("span", "name", "called as a root") : nameElement({ ...this.methods[edge.method], pkg: "" });
			if (edge.method >= 0) name.title = this.methods[edge.method].full;
			const bar = make("span", "bar");
			bar.style.width = `calc(${(100 * edge.total) / longest}% - 16px)`;
			const button = make("button", "", name, make("span", "", edge.total > 0 ? nanos(edge.total) : "–"), make("small", "", plural(edge.calls, this.isSamples ? "sample" : "call")), bar);
			button.type = "button";
			button.disabled = edge.method < 0;
			button.addEventListener("click", () => this.onPick(edge.method));
			list.append(make("li", "", button));
		}
		return list;
	}
}
