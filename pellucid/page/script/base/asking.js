// Ask the server that the page came from.

const NO_ANSWER = 5; // seconds, after which a server that did not answer is asked again
const LATER = [429, 503]; // the states of HTTP that end by themselves

export const KEY = "pellucid key"; // under which the browser keeps the reader's key for this server, until the tab is closed

/** Post a question and return the answer. If the server is busy or away, tell when it will be asked again, then ask
 *  again; `tell("")` says that it has answered. Other errors are thrown, with `status`. signal: gives up. */
export const ask = async (path, question, { signal = null, tell = () => {} } = {}) => {
  for (let isTold = false; ; isTold = true) {
    const answer = await fetch(path, { ...requestOf(question), signal }).catch((error) => {
      if (signal?.aborted) throw error;
      return null;
    });
    const content = (await answer?.json().catch(() => null)) ?? {};
    if (answer?.ok) {
      if (isTold) tell("");
      return content;
    }
    const reason = content.error ?? content.message ?? "The server does not answer.";
    if (answer && !LATER.includes(answer.status)) throw Object.assign(new Error(reason), { status: answer.status });
    const seconds = Number(answer?.headers.get("retry-after")) || NO_ANSWER;
    tell(`${reason} Asking again in ${seconds} s.`);
    await pause(seconds, signal);
  }
};

const requestOf = (question) => {
  const key = sessionStorage.getItem(KEY);
  const headers = { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
  return question ? { method: "POST", headers, body: JSON.stringify(question) } : { headers };
};

/** Wait for so many seconds; throw an error if the signal gives up before. */
export const pause = (seconds, signal) =>
  new Promise((done, fail) => {
    const timer = setTimeout(done, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      fail(signal.reason);
    });
  });
