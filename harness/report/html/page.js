"use strict";
(() => {
  const form = document.getElementById("filters");
  const answers = [...document.querySelectorAll(".answer")];
  const scenarios = [...document.querySelectorAll(".scenario")];
  const control = (name) => form.elements.namedItem(name);

  function wanted(answer) {
    const outcome = control("outcome").value;
    const property = control("property").value;
    const text = control("text").value.trim().toLowerCase();
    const scenario = answer.closest(".scenario").dataset.name;
    return (!outcome || answer.dataset.outcome === outcome)
      && (!property || answer.dataset.failed.split(" ").includes(property))
      && (!text || `${scenario} ${answer.dataset.name}`.toLowerCase().includes(text));
  }

  function filter() {
    let shown = 0, all = 0;
    for (const answer of answers) {
      answer.hidden = !wanted(answer);
      const count = Number(answer.dataset.count);
      all += count;
      shown += answer.hidden ? 0 : count;
    }
    for (const scenario of scenarios) {
      scenario.hidden = !scenario.querySelector(".answer:not([hidden])");
    }
    control("shown").textContent = `${shown} of ${all} answers shown`;
  }

  function follow() {
    let place = location.hash && document.getElementById(location.hash.slice(1));
    const target = place;
    for (; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
    if (target) target.scrollIntoView();
  }

  form.hidden = false;
  addEventListener("hashchange", follow);
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  control("open").addEventListener("click", () => {
    for (const answer of answers) answer.open = !answer.hidden;
  });
  filter();
  follow();
})();
