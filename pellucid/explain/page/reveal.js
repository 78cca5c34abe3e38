// Opens the folded parts around what a link leads to.
const reveal = () => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!place) return;
  for (let part = place; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  place.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
