// carried returns the result that the page contains: as JSON, or compressed if it is long.
async function carried() {
	const element = byId("result");
	if (element.type === "application/json") return JSON.parse(element.textContent);
	const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

// withCarried calls a function with the result, and says so if it cannot be shown.
function withCarried(show) {
	carried().then(show).catch((problem) => {
		document.querySelector("main").prepend(make("p", "nothing", "This page cannot be shown: it needs a browser of 2023 or later, and must be complete. " + problem));
		throw problem;
	});
}
