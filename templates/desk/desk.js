// Shows changes without a reload. Everything works without this script, too: the page then reloads every minute.
"use strict";
(() => {
  const page = () => document.getElementById("main");
  const live = document.getElementById("live");
  const say = (state, text) => { live.hidden = false; live.className = state; live.textContent = text; };
  let wanted = false, busy = false;

  // What a person has typed or opened stays when the parts of the page are replaced.
  const keep = (root) => {
    const values = new Map([...root.querySelectorAll("input[type=text]")].filter((it) => it.value).map((it) => [it.id, it.value]));
    const open = new Set([...root.querySelectorAll("details[open]")].map(nameOf));
    const at = document.activeElement;
    const focus = at && root.contains(at) ? [at.id, at.closest("article")?.id, at.value, at.selectionStart] : null;
    return () => {
      values.forEach((value, id) => { const it = document.getElementById(id); if (it) it.value = value; });
      root.querySelectorAll("details").forEach((it) => { if (open.has(nameOf(it))) it.open = true; });
      if (!focus) return;
      const [id, card, value, caret] = focus;
      const again = id ? document.getElementById(id) : card && value && document.querySelector(`#${card} button[value="${value}"]`);
      again?.focus({ preventScroll: true });
      if (id && caret !== null && caret !== undefined) again?.setSelectionRange?.(caret, caret);
    };
  };
  const nameOf = (details) => details.id || details.querySelector("summary b, summary")?.textContent || "";

  const refresh = async () => {
    if (busy) { wanted = true; return; }
    busy = true;
    try {
      // The address says what is shown, and which question was just answered.
      const answer = await fetch(`${location.pathname}${location.search}`, { cache: "no-store", credentials: "same-origin" });
      if (answer.redirected) { location.reload(); return; }
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const from = fresh.getElementById("main");
        if (from?.dataset.version) {
          const restore = keep(page());
          for (const old of document.querySelectorAll("[data-live]")) {
            const next = fresh.getElementById(old.id);
            if (next && old.innerHTML !== next.innerHTML) old.replaceWith(next);
          }
          page().dataset.version = from.dataset.version;
          document.title = fresh.title;
          restore();
        }
      }
    } catch { /* The event stream reports that the desk is away. */ }
    busy = false;
    if (wanted) { wanted = false; setTimeout(refresh, 1000); }
  };

  const events = new EventSource("/events");
  events.addEventListener("version", (event) => {
    say("on", "live");
    if (event.data !== page().dataset.version) refresh();
  });
  events.addEventListener("error", () => say("off", "reconnecting"));
})();
