// What is written over the scene. The server of the page, or the recording in it, calls show(),
// curves() and history() of window.contactStack; a point of a curve is [time, value, value, ...].
(() => {
  if (window.contactStack) return;
  const STYLE = `
    #contact-stack { position: fixed; z-index: 5; top: 14px; left: 14px; width: 344px; padding: 10px 14px;
      box-sizing: border-box; pointer-events: none; border-radius: 6px; color: #222;
      background: rgba(255, 255, 255, 0.9); box-shadow: 0 0 14px rgba(0, 0, 0, 0.12);
      font: 13px/1.35 system-ui, "Segoe UI", Roboto, Ubuntu, "DejaVu Sans", sans-serif; }
    #contact-stack h1 { font-size: 17px; margin: 0; }
    #contact-stack h1 small { font-weight: normal; color: #666; font-size: 14px; display: block; }
    #contact-stack div { margin-top: 5px; }
    #contact-stack div:empty { display: none; }
    #contact-stack .forces { display: flex; gap: 22px; }
    #contact-stack .forces > * { margin: 0; }
    #contact-stack .number { font-size: 30px; font-weight: 600; line-height: 1.1; white-space: nowrap; }
    #contact-stack .behind { color: #fff; background: #c0392b; padding: 2px 6px; border-radius: 3px; }
    #contact-stack.lost > *:not(.behind) { filter: grayscale(1); opacity: 0.6; }
    #contact-stack canvas { width: 100%; display: block; margin-top: 5px; }
    #contact-stack .legend span { display: block; }
    #contact-stack .legend b { display: inline-block; width: 1.5em; text-align: center; }
    .mantine-Notifications-root { top: auto !important; bottom: 4em; }
    @media (max-width: 36em) {
      #contact-stack { top: 0; left: 0; width: 100%; border-radius: 0; padding: 6px 10px; font-size: 12px; }
      #contact-stack div { margin-top: 2px; }
      #contact-stack h1 { font-size: 14px; }
      #contact-stack h1 small { display: inline; }
      #contact-stack .number { font-size: 22px; }
      #contact-stack .legend span { display: inline-block; margin-right: 1em; }
    }`;
  const make = (parent, kind, name = "") => {
    const made = parent.appendChild(document.createElement(kind));
    made.className = name;
    return made;
  };
  make(document.head, "style").textContent = STYLE;
  const card = make(document.body, "section");
  card.id = "contact-stack";
  card.style.display = "none";
  const title = make(card, "h1");
  const [purpose, behind] = [make(card, "div"), make(card, "div", "behind")];
  const forces = make(card, "div", "forces");
  const [state, remedy, felt] = [make(card, "div"), make(card, "div"), make(card, "div")];
  const plots = [make(card, "canvas"), make(card, "canvas")];
  const legend = make(card, "div", "legend");

  let now = null, told = null, points = [], whole = false;
  let ahead = 0, quickest = Infinity, served = false, lost = false;

  // How far the clock of the server is ahead of the browser's [ms]; a file has no server.
  const compareClocks = async () => {
    const asked = Date.now();
    try {
      const answer = await fetch("clock", { cache: "no-store", signal: AbortSignal.timeout(20000) });
      if (!answer.ok) return;
      const theirs = Number(await answer.text());
      const took = Date.now() - asked;
      if (took < quickest) [quickest, ahead] = [took, theirs - asked - 0.5 * took];
      [served, lost] = [true, false];
    } catch {
      lost = served;
    }
  };

  const write = (place, lines) => {
    place.replaceChildren();
    for (const [text, color, name] of lines) {
      const line = make(place, "span", name);
      line.style.color = color;
      line.style.display = "block";
      line.textContent = text;
    }
  };

  const writeAll = () => {
    card.style.display = "";
    title.textContent = now.title + " ";
    make(title, "small").textContent = now.kind;
    document.title = `${now.title} - contact stack`;
    purpose.textContent = now.purpose;
    forces.replaceChildren();
    for (const lines of now.forces) write(make(forces, "div"), lines);
    write(state, [now.state]);
    write(remedy, now.remedy);
    write(felt, now.felt);
    legend.replaceChildren();
    for (const [sign, color, text] of now.legend) {
      const line = make(legend, "span"), mark = make(line, "b");
      [mark.textContent, mark.style.color] = [sign, color];
      line.append(text);
    }
    now.plots.forEach((plot, k) => draw(plots[k], plot));
    plots.forEach((canvas, k) => (canvas.style.display = k < now.plots.length ? "" : "none"));
  };

  const rounded = (value) => {
    const power = 10 ** Math.floor(Math.log10(value));
    return power * [1, 2, 5, 10].find((k) => k * power >= value);
  };

  const draw = (canvas, { title, curves, most }) => {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
    const height = matchMedia("(max-width: 36em)").matches ? 76 : 118;
    if (!width) return;
    [canvas.width, canvas.height] = [ratio * width, ratio * height];
    canvas.style.height = `${height}px`;
    const end = points.length ? points.at(-1)[0] : 0;
    const start = Math.max(points.length ? points[0][0] : 0, whole ? 0 : end - now.history);
    const values = curves.flatMap(({ column }) => points.map((point) => point[column] ?? 0));
    const top = rounded(1.05 * Math.max(1, Math.min(most ?? Infinity, Math.max(...values))));
    const [left, right, up, down] = [26, width - 4, 16, height - 14];
    const x = (time) => left + ((right - left) * (time - start)) / Math.max(end - start, 1e-9);
    const y = (value) => down - ((down - up) * Math.min(value, top)) / top;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const line = (places, color, dash = [], thick = 1) => {
      pen.beginPath();
      pen.setLineDash(dash);
      [pen.strokeStyle, pen.lineWidth] = [color, thick];
      for (const place of places) pen.lineTo(...place);
      pen.stroke();
    };
    const label = (text, align, place, color = "#555") => {
      [pen.font, pen.textAlign, pen.fillStyle] = ["11px sans-serif", align, color];
      pen.fillText(text, ...place);
    };
    line([[left, up], [left, down], [right, down]], "#999");
    label(String(top), "right", [left - 4, up + 8]);
    label("0", "right", [left - 4, down]);
    label(`${start.toFixed(0)} s`, "left", [left, height - 2]);
    label(`${end.toFixed(0)} s`, "right", [right, height - 2]);
    label(title, "left", [left, 11]);
    let beside = right;
    for (const { column, color, name, dash } of [...curves].reverse()) {
      const known = points.filter((point) => point[column] !== null);
      line(known.map((point) => [x(point[0]), y(point[column])]), color, dash, dash.length ? 1 : 1.7);
      label(name, "right", [beside, 11], color);
      beside -= pen.measureText(name).width + 9;
    }
    line([[x(now.time), up], [x(now.time), down]], "#222");
  };

  const look = () => {
    if (now === null) return;
    if (now !== told) writeAll();
    told = now;
    const late = now.sent === null ? 0 : 1e-3 * (Date.now() + ahead - now.sent);
    card.classList.toggle("lost", lost);
    behind.textContent = lost
      ? "Connection lost: the program has ended, or is out of reach. This is the last of it."
      : late > 1.0
        ? `This is how it was ${late.toFixed(1)} s ago: the link is slow, or nothing runs.`
        : "";
  };
  setInterval(look, 100);
  if (location.protocol.startsWith("http")) {
    compareClocks();
    setInterval(compareClocks, 3000);
  }

  window.contactStack = {
    show(state) {
      now = state;
      if (whole) return;
      if (points.length && state.point[0] < points.at(-1)[0]) points = [];
      if (!points.length || state.point[0] > points.at(-1)[0]) points.push(state.point);
      points = points.filter((point) => point[0] >= state.point[0] - state.history);
    },
    curves(all) {
      [points, whole] = [all, true];
    },
    history(earlier) {
      const first = points.length ? points[0][0] : Infinity;
      points = [...earlier.filter((point) => point[0] < first), ...points];
    },
  };
})();
