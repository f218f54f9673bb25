// The page of a climb stands by itself; the script shows more of what the pointer is
// on, marks it wherever else it stands, and switches between light and dark.

function startClimb() {
	wireTheme(() => {});
	const tooltip = byId("tooltip");
	document.addEventListener("pointermove", (event) => {
		const tipped = event.target.closest("[data-tip]");
		tooltip.hidden = !tipped;
		if (tipped) {
			fillTip(tooltip, tipped.dataset.tip);
			placeTooltip(tooltip, event.clientX, event.clientY);
		}
		light(event.target.closest("[data-method]")?.dataset.method);
	});
	document.addEventListener("pointerleave", () => {
		tooltip.hidden = true;
		light(undefined);
	});
}

// fillTip writes a text whose first line names what it is about.
function fillTip(tooltip, text) {
	const [first, ...lines] = text.split("\n");
	tooltip.replaceChildren(make("b", "", first), ...lines.map((line) => make("p", "", line)));
}

let lit;

// light marks a method in all places where it stands.
function light(method) {
	if (method === lit) return;
	lit = method;
	for (const element of document.querySelectorAll("[data-method]")) {
		element.classList.toggle("lit", method !== undefined && method !== "-1" && element.dataset.method === method);
	}
}

startClimb();
