// Start the page of a worked example: fill its form, and show the results above it.

import { found } from "../base/elements.js";
import { page } from "../base/page.js";
import { showOwnForm } from "./own.js";

const startWorkedPage = async () => {
  page.header = JSON.parse(found("payload").textContent);
  document.body.classList.add("alive");
  const carried = () => new URLSearchParams(location.hash.replace(/^#\??/, "")).get("form") ?? "";
  const remember = (form) =>
    history.replaceState(null, "", form ? `#?form=${encodeURIComponent(form)}` : location.pathname + location.search);
  const show = () => showOwnForm(found("own-place"), { carried: carried(), remember });
  addEventListener("hashchange", show);
  await show();
};

startWorkedPage();
