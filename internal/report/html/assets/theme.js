// The theme: the system's preference until the user chooses, then the choice, on all pages.
// A page opened from a file may have no storage; then the choice is not remembered.

function chosenTheme() {
	try {
		const name = localStorage.getItem("sonde-theme");
		return name === "dark" || name === "light" ? name : null;
	} catch {
		return null;
	}
}

// wireTheme sets the theme, calls paint(isDark) when it changes, and returns the function
// that changes it.
function wireTheme(paint) {
	const root = document.documentElement;
	const darkness = matchMedia("(prefers-color-scheme: dark)");
	const setTheme = (name) => {
		root.dataset.theme = name;
		paint(name === "dark");
	};
	const follow = () => setTheme(chosenTheme() ?? (darkness.matches ? "dark" : "light"));
	darkness.addEventListener("change", follow);
	byId("theme").addEventListener("click", () => {
		const name = root.dataset.theme === "dark" ? "light" : "dark";
		try {
			localStorage.setItem("sonde-theme", name);
		} catch {
			// Without storage the choice lasts as long as the page.
		}
		setTheme(name);
	});
	follow();
	return setTheme;
}
