// The page is complete without this script, which shows tooltips, highlights a method in
// all its places, and switches between light and dark.

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

// fillTip fills the tooltip with a text whose first line is a name.
function fillTip(tooltip, text) {
	const [first, ...lines] = text.split("\n");
	tooltip.replaceChildren(make("b", "", first), ...lines.map((line) => make("p", "", line)));
}

let lit;

// light highlights a method in all its places.
function light(method) {
	if (method === lit) return;
	lit = method;
	for (const element of document.querySelectorAll("[data-method]")) {
		element.classList.toggle("lit", method !== undefined && method !== "-1" && element.dataset.method === method);
	}
}

startClimb();
