"use strict";
// Choosing a line shows the lines of the same origin in every stage, and what made it. Lines carry `data-o` (indices of
// statements) and `data-r` (an index of a set of rules); #facts has what those indices mean.
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const stages = [...document.querySelectorAll(".stage")];
  const panel = document.getElementById("panel");
  const lines = new Map(stages.map((s) => [s, [...s.querySelectorAll(".lines p")]]));
  const byOrigin = facts.statements.map(() => []);
  const originsOf = (p) => (p.dataset.o ? p.dataset.o.split(" ").map(Number) : []);
  let chosen = null, lit = [];

  for (const [stage, all] of lines) {
    all.forEach((p, k) => {
      p.setAttribute("role", "option");
      p.tabIndex = k ? -1 : 0;
      p.id = `${stage.id}-${k + 1}`;
      for (const o of originsOf(p)) byOrigin[o].push(p);
    });
  }
  for (const [, , line] of facts.diagnostics) if (line) lines.get(stages[0])[line - 1]?.classList.add("bad");

  const stageOf = (p) => p.closest(".stage");
  const scroller = (stage) => stage.querySelector(".lines");
  const isOpen = (stage) => !stage.classList.contains("folded");

  function fold(stage, folded) {
    stage.classList.toggle("folded", folded);
    stage.querySelector("h2 button").setAttribute("aria-expanded", String(!folded));
  }

  // ------------------------------------------------------------------------------------------------ choosing

  function choose(p, focus = true) {
    const stage = stageOf(p);
    for (const q of lit) { q.classList.remove("on", "at"); q.removeAttribute("aria-selected"); }
    for (const s of stages) s.classList.toggle("active", s === stage);
    if (!isOpen(stage)) fold(stage, false);
    const same = new Set([p]);
    for (const o of originsOf(p)) for (const q of byOrigin[o]) same.add(q);
    lit = [...same];
    for (const q of lit) q.classList.add("on");
    p.classList.add("at");
    p.setAttribute("aria-selected", "true");
    for (const q of lines.get(stage)) if (q.tabIndex === 0) q.tabIndex = -1;
    p.tabIndex = 0;
    chosen = p;
    show(scroller(stage), p);
    if (focus) {
      p.focus({ preventScroll: true });
      stage.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    const height = p.offsetTop - scroller(stage).scrollTop;
    for (const s of stages) {
      const first = lines.get(s).find((q) => same.has(q));
      if (s === stage || !first || !isOpen(s)) continue;
      scroller(s).scrollTop = first.offsetTop - height;
      for (const q of lines.get(s)) if (q.tabIndex === 0) q.tabIndex = -1;
      first.tabIndex = 0;
    }
    history.replaceState(null, "", `#${p.id}`);
    tell(p);
  }

  function show(box, p) {
    const margin = 3 * p.offsetHeight;
    if (p.offsetTop < box.scrollTop + margin) box.scrollTop = p.offsetTop - margin;
    const end = p.offsetTop + p.offsetHeight + margin;
    if (end > box.scrollTop + box.clientHeight) box.scrollTop = end - box.clientHeight;
  }

  function move(by) {
    const all = lines.get(stageOf(chosen));
    choose(all[Math.max(0, Math.min(all.length - 1, all.indexOf(chosen) + by))]);
  }

  function moveToNew(by) {
    const all = lines.get(stageOf(chosen));
    for (let k = all.indexOf(chosen) + by; k >= 0 && k < all.length; k += by)
      if (all[k].classList.contains("n")) return choose(all[k]);
  }

  // The same line in the next open stage: the first of the same origin, else the one that was chosen there.
  function cross(by) {
    let k = stages.indexOf(stageOf(chosen)) + by;
    while (stages[k] && !isOpen(stages[k])) k += by;
    if (!stages[k]) return false;
    const all = lines.get(stages[k]);
    const same = new Set(originsOf(chosen).flatMap((o) => byOrigin[o]));
    const next = all.find((q) => same.has(q)) || all.find((q) => q.tabIndex === 0) || all[0];
    if (next) choose(next);
    return Boolean(next);
  }

  // ------------------------------------------------------------------------------------------------ the panel

  function make(tag, text, ...children) {
    const [name, kind] = tag.split(".");
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (text) made.textContent = text;
    made.append(...children);
    return made;
  }

  function ruleItem(k) {
    const [name, place, , text] = facts.rules[k];
    const summary = make("summary", "", make("code", name), make("code", place));
    return text ? make("details", "", summary, make("pre", text)) : make("div", "", make("code", name));
  }

  function ruleList(indices) {
    const made = indices.filter((k) => facts.rules[k][2] !== "facts");
    const stated = indices.filter((k) => facts.rules[k][2] === "facts");
    const box = make("div.rules", "");
    for (const k of made) box.append(ruleItem(k));
    if (stated.length) {
      const count = `${stated.length} ${stated.length === 1 ? "rule" : "rules"} that state what these look at`;
      box.append(make("details.facts", "", make("summary", count), ...stated.map(ruleItem)));
    }
    return box;
  }

  // What stages asked about statements; one question of several stages is shown once.
  function asked(wanted, origins) {
    const found = new Map();
    for (const o of origins)
      for (const [stage, op, type, replaced, set] of facts.statements[o][4]) {
        const key = JSON.stringify([op, type, replaced, set]);
        if (!wanted.includes(stage)) continue;
        if (!found.has(key)) found.set(key, []);
        if (!found.get(key).includes(stage)) found.get(key).push(stage);
      }
    return [...found].map(([key, at]) => {
      const [op, type, replaced, set] = JSON.parse(key);
      const part = make("section.asked", "", make("h3", `${op}, asked by ${at.join(" and ")}`));
      if (type) part.append(make("code.term", `: ${type}`));
      for (const term of replaced) part.append(make("code.term", `⇒ ${term}`));
      part.append(ruleList(facts.sets[set]));
      return part;
    });
  }

  // The rules behind the .pto lines of statements, once where several lines have the same.
  function printed(origins) {
    const found = new Map();
    for (const p of origins.flatMap((o) => byOrigin[o])) {
      if (p.dataset.r === undefined) continue;
      const name = p.querySelector("b")?.textContent || p.textContent.trim();
      const names = found.get(p.dataset.r) || found.set(p.dataset.r, []).get(p.dataset.r);
      if (!names.includes(name)) names.push(name);
    }
    return [...found].map(([set, names]) => make("section.made", "", make("h3", names.join(", ")), ruleList(facts.sets[set])));
  }

  function tell(p) {
    const origins = originsOf(p), stage = stageOf(p);
    const left = make("div", "", make("section", "", make("h3", `line ${p.id.split("-")[1]}, ${title(stage)}`), make("code.text", p.textContent.trim())));
    if (stage !== stages[0] && origins.length) left.append(make("section.origins", "", make("h3", "comes from"), originList(origins)));
    for (const d of facts.diagnostics) if (stage === stages[0] && `${stage.id}-${d[2]}` === p.id) left.append(finding(d));
    const right = make("div", "");
    if (p.dataset.r) right.append(make("section.made", "", make("h3", "rules that made this line"), ruleList(facts.sets[p.dataset.r])));
    else if (stage.id === "source") right.append(...asked(stages.map((s) => s.id), origins), ...printed(origins));
    else if (stage.id !== "pto") right.append(...asked([stage.id], origins));
    if (!right.children.length) right.append(make("p.none", nothing(stage, origins)));
    panel.className = "";
    panel.replaceChildren(left, right);
    panel.scrollTop = 0;
  }

  function nothing(stage, origins) {
    if (!origins.length) return "This line comes from no statement of the source.";
    if (stage.id === "plan") return "The planner places tiles; it asks no rule about a statement.";
    return "No rule was asked for this line.";
  }

  const title = (stage) => stage.querySelector("h2 button").firstChild.textContent.trim();

  function originList(origins) {
    const list = make("ul", "");
    for (const o of origins) {
      const [line, column, , text] = facts.statements[o];
      const link = make("a", `${facts.file}:${line}:${column}`);
      link.href = `#source-${line}`;
      list.append(make("li.origin", "", link, " ", make("code", text)));
    }
    return list;
  }

  function finding([severity, code, line, column, message, help, rule]) {
    const item = make("section.finding", "");
    const where = make("a", line ? `${facts.file}:${line}:${column}` : facts.file);
    if (line) where.href = `#source-${line}`;
    item.append(where, " ", make(`span.${severity}`, `${severity}[${code}]`), " ", message);
    if (help) item.append(make("div", `help: ${help}`));
    if (rule) item.append(make("div.none", `rule: ${rule}`));
    return item;
  }

  function begin() {
    const left = make("div", "");
    if (facts.diagnostics.length) left.append(...facts.diagnostics.map(finding));
    else left.append(make("p.none", "Choose a line: click it, or press ↓."));
    panel.className = "alone";
    panel.replaceChildren(left);
  }

  // ------------------------------------------------------------------------------------------------ doing

  const toggles = {
    types: () => { press("types", !document.body.classList.toggle("short")); if (chosen) choose(chosen, false); },
    wrap: () => { press("wrap", document.body.classList.toggle("wrap")); if (chosen) choose(chosen, false); },
    same: () => {
      const open = document.getElementById("same").getAttribute("aria-pressed") !== "true";
      for (const s of stages) if (s.querySelector("small").textContent === "unchanged") fold(s, !open);
      press("same", open);
      if (chosen && isOpen(stageOf(chosen))) choose(chosen, false);
    },
    help: () => {
      const keys = document.getElementById("keys");
      keys.hidden = !keys.hidden;
      document.getElementById("help").setAttribute("aria-expanded", String(!keys.hidden));
    },
  };
  document.getElementById("same").hidden = stages.every(isOpen);
  const press = (id, on) => document.getElementById(id).setAttribute("aria-pressed", String(on));
  for (const id of Object.keys(toggles)) document.getElementById(id).addEventListener("click", toggles[id]);

  for (const s of stages) {
    s.querySelector("h2 button").addEventListener("click", () => fold(s, isOpen(s)));
    scroller(s).addEventListener("click", (event) => {
      const p = event.target.closest("p");
      if (p && getSelection().isCollapsed) choose(p);
    });
  }
  panel.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link) return;
    event.preventDefault();
    choose(document.getElementById(link.hash.slice(1)));
  });

  const far = 20;
  const keys = {
    ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
    PageDown: () => move(far), PageUp: () => move(-far), Home: () => move(-Infinity), End: () => move(Infinity),
    ArrowRight: () => cross(1), ArrowLeft: () => cross(-1), n: () => moveToNew(1), p: () => moveToNew(-1),
    Enter: () => (panel.querySelector(".rules summary") || panel.querySelector("a[href]") || panel).focus(),
    f: () => { const s = stageOf(chosen); if (cross(1) || cross(-1)) fold(s, true); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key;
    const anywhere = { t: toggles.types, w: toggles.wrap, u: toggles.same, "?": toggles.help }[key];
    if (anywhere) { event.preventDefault(); anywhere(); return; }
    if (key === "Escape" && chosen) { document.getElementById("keys").hidden = true; choose(chosen); return; }
    const inLines = event.target === document.body || event.target.closest(".lines");
    if (!inLines) return;
    if (key === "Tab") {
      if (chosen && event.target !== document.body && cross(event.shiftKey ? -1 : 1)) event.preventDefault();
      return;
    }
    if (!keys[key]) return;
    event.preventDefault();
    if (!chosen) { choose(event.target.closest("p") || lines.get(stages[0])[0]); return; }
    keys[key]();
  });
  document.addEventListener("focusin", (event) => {
    const p = event.target.closest?.(".lines p");
    if (p && p !== chosen) choose(p, false);
  });

  begin();
  const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (wanted && wanted.matches(".lines p")) choose(wanted);
})();
