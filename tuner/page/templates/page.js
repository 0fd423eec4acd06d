"use strict";
(() => {
  const root = document.documentElement;
  const all = (query) => Array.from(document.querySelectorAll(query));
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* no storage for this page */ } };
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };

  all(".js").forEach((part) => { part.hidden = false; });

  const theme = document.getElementById("theme");
  const wear = (name) => { if (name === "auto") { delete root.dataset.theme; } else { root.dataset.theme = name; } };
  if (["light", "dark"].includes(kept("tuner-theme"))) { theme.value = kept("tuner-theme"); wear(theme.value); }
  theme.addEventListener("change", () => { wear(theme.value); keep("tuner-theme", theme.value); });

  const load = document.getElementById("load");
  const show = () => all("[data-load]").forEach((part) => {
    part.classList.toggle("off", load.value !== "" && part.dataset.load !== load.value);
  });
  if (load) {
    if (load.options.length > 7) { load.selectedIndex = 1; } // a page of everything would be too long to look at
    load.addEventListener("change", show);
    show();
  }

  const contents = document.getElementById("contents");
  const wide = matchMedia("(min-width: 70rem)");
  const unfold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();

  all("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
    const text = button.closest(".code").querySelector("pre");
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = button.dataset.copied;
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = button.dataset.selected;
    }
    setTimeout(() => { button.textContent = words; }, 2500);
  }));

  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const tell = (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (!mark) { hide(); return; }
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
    const above = at.top - tip.offsetHeight - 6;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 0 ? above : at.bottom + 6) + scrollY}px`;
  };
  document.addEventListener("pointerover", tell);
  document.addEventListener("pointerdown", tell);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { hide(); } });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));
})();
