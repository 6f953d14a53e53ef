"use strict";
(() => {
  const items = [...document.querySelectorAll("li[id]")];
  const folds = [...document.querySelectorAll("details")];
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const nothing = document.getElementById("nothing");
  const asOpened = new Map(folds.map((fold) => [fold, fold.open]));
  const own = (item) => [...item.children].flatMap((child) => (child.tagName === "DETAILS" ? [...child.children] : [child]));
  const texts = new Map(items.map((item) => [item,
    own(item).filter((part) => part.tagName !== "UL").map((part) => part.textContent).join(" ").toLowerCase()]));
  document.querySelector(".tools").hidden = false;
  document.getElementById("unfold").addEventListener("click", () => folds.forEach((fold) => { fold.open = true; }));
  document.getElementById("fold").addEventListener("click", () => folds.forEach((fold) => { fold.open = false; }));
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) {
      items.forEach((item) => { item.hidden = false; item.classList.remove("hit"); });
      folds.forEach((fold) => { fold.open = asOpened.get(fold); });
      found.textContent = "";
      nothing.hidden = true;
      return;
    }
    let count = 0;
    const kept = new Set();
    for (const item of items) {
      const hit = words.every((word) => texts.get(item).includes(word));
      item.classList.toggle("hit", hit);
      if (!hit) continue;
      count += 1;
      for (let above = item; above; above = above.parentElement.closest("li[id]")) kept.add(above);
    }
    for (const item of items) {
      item.hidden = !kept.has(item);
      const fold = item.querySelector(":scope > details");
      if (fold) fold.open = kept.has(item);
    }
    found.textContent = `${count} found`;
    nothing.hidden = count > 0;
  };
  search.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && document.activeElement === search) { search.value = ""; show(); }
  });
  const openTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let item = target; item; item = item.parentElement.closest("li[id]")) {
      const fold = item.querySelector(":scope > details");
      if (fold) fold.open = true;
    }
    if (target) target.scrollIntoView();
  };
  window.addEventListener("hashchange", openTarget);
  openTarget();
})();
