// What a person sees and can reach, asked of the page itself. Returns lists of complaints, empty where all is well.
() => {
  const shown = (element) => element.getClientRects().length > 0;
  const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha));
  };
  const luminance = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) { layers.push(numbers(getComputedStyle(at).backgroundColor)); }
    return layers.reverse().reduce((below, layer) => (layer.length ? over(layer, below) : below), [255, 255, 255]);
  };
  const pale = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(element) || ["SCRIPT", "STYLE", "OPTION"].includes(element.tagName)) { continue; }
    const style = getComputedStyle(element);
    const ink = over(numbers(element.closest("svg") ? style.fill : style.color), ground(element));
    const [high, low] = [luminance(ink), luminance(ground(element))].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < (large ? 3 : 4.5)) { pale.push(`${contrast.toFixed(2)} ${walker.currentNode.data.trim().slice(0, 40)}`); }
  }
  const crossing = [];
  const cut = [];
  for (const drawing of document.querySelectorAll("figure svg[role=img]")) {
    const frame = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([words, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) { cut.push(words); }
      for (const [others, other] of texts.slice(i + 1)) {
        const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (wide > 1 && high > 3) { crossing.push(`${words} | ${others}`); }
      }
    });
  }
  const silent = [...document.querySelectorAll("svg")].filter((svg) => !(svg.getAttribute("aria-label") || "").trim()
    && svg.getAttribute("aria-hidden") !== "true").map((svg) => svg.outerHTML.slice(0, 80));
  const labels = (control) => control.getAttribute("aria-label") || control.textContent || (control.labels || [])[0]?.textContent;
  const nameless = [...document.querySelectorAll("button, select, a, summary, [tabindex]")].filter((one) => !labels(one)?.trim())
    .map((one) => one.outerHTML.slice(0, 80));
  const columns = [...document.querySelectorAll("thead th")].filter(shown)
    .filter((head) => head.getBoundingClientRect().height > 130).map((head) => head.textContent);
  return { sideways: document.documentElement.scrollWidth - innerWidth, pale, crossing, cut, silent, nameless, columns };
}
