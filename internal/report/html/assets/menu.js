// A menu of what can be done with a method.
class Menu {
	// actions: [[text, title, act(method)]]
	constructor(actions) {
		this.items = actions.map(([text, title, act]) => {
			const item = make("button", "", text);
			item.type = "button";
			item.title = title;
			item.setAttribute("role", "menuitem");
			item.addEventListener("click", () => {
				this.close();
				act(this.method);
			});
			return item;
		});
		this.host = make("div", "menu", ...this.items);
		this.host.setAttribute("role", "menu");
		this.host.hidden = true;
		document.body.append(this.host);
		this.host.addEventListener("keydown", (event) => this.key(event));
		document.addEventListener("pointerdown", (event) => {
			if (!this.host.contains(event.target)) this.close();
		});
	}

	open(method, x, y) {
		this.method = method;
		this.before = document.activeElement;
		placeTooltip(this.host, x - 14, y - 14);
		this.items[0].focus();
	}

	close() {
		if (this.host.hidden) return;
		this.host.hidden = true;
		this.before?.focus();
	}

	key(event) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step) this.items[(this.items.indexOf(document.activeElement) + step + this.items.length) % this.items.length].focus();
		else if (event.key === "Escape") this.close();
		else return;
		event.preventDefault();
		event.stopPropagation();
	}
}
