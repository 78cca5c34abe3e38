// The page of a worked example comes alive: its form is filled, and what comes of it stands above.

const startWorkedPage = async () => {
  page.header = JSON.parse(found("payload").textContent);
  document.body.classList.add("alive");
  const ask = () => new URLSearchParams(location.hash.replace(/^#\??/, ""));
  const remember = (letters) => history.replaceState(null, "", letters ? `#?own=${letters}` : location.pathname + location.search);
  const draw = () => drawOwnForm(found("own-place"), { first: page.header.worked, carried: ask().get("own") ?? "", remember });
  addEventListener("hashchange", draw);
  await draw();
};

startWorkedPage();
