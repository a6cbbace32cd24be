// What JavaScript adds: progress comes by itself, a form is sent once, and what was typed and not sent is kept.
// Everything works without it.

const EVENTS = ["state", "case", "stage", "submission", "restarted", "done"];
const GATHER_MS = 250; // events of that long become one look at the page
const RECONNECT_MS = 3000;
const QUEUE_MS = 5000; // what moves a queue are the events of others

const main = () => document.getElementById("main");
const running = () => main().dataset.events !== undefined;

/** Shows the page's main part as the server has it now. */
async function refresh() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById("main");
  for (const old of main().querySelectorAll("details[id]")) {
    const same = fresh.querySelector(`#${old.id}`);
    if (same) same.open = old.open;
  }
  if (fresh.isEqualNode(main())) return; // what the reader has selected stays so
  const focused = main().contains(document.activeElement) ? document.activeElement.id : "";
  const said = main().dataset.announce;
  main().replaceWith(document.adoptNode(fresh));
  document.title = page.title;
  if (focused) (document.getElementById(focused) ?? main()).focus({ preventScroll: true });
  if (main().dataset.announce !== said) announce(main().dataset.announce);
}

/** Lets a screen reader say what has changed. */
function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** Follows a submission or a validation until it is done. */
function follow() {
  const source = new EventSource(main().dataset.events);
  let looking = false;
  let stale = false;

  async function look() {
    stale = true;
    if (looking) return;
    looking = true;
    while (stale && running()) {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      stale = false;
      await refresh().catch(() => {}); // the stream's own retry brings the next look
    }
    looking = false;
    if (running()) return;
    clearInterval(queue);
    source.close();
  }

  const queue = setInterval(() => { if (main().dataset.queued !== undefined) look(); }, QUEUE_MS);
  for (const name of EVENTS) source.addEventListener(name, look);
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) {
      clearInterval(queue);
      if (running()) setTimeout(() => running() && follow(), RECONNECT_MS);
    }
    look();
  });
}

/** A second click must not send the form twice; coming back to the page allows it again. */
function sendOnce(form) {
  const button = form.querySelector("button.main");
  form.addEventListener("submit", () => { button.disabled = true; });
  window.addEventListener("pageshow", () => { button.disabled = false; });
}

/** What was typed and not sent, by reader and drill: {from, text}. A browser may refuse to keep anything. */
const drafts = {
  get(key) {
    try { return JSON.parse(localStorage.getItem(`draft/${key}`)); } catch { return null; }
  },
  keep(key, draft) {
    try { localStorage.setItem(`draft/${key}`, JSON.stringify(draft)); } catch { /* then it is not kept */ }
  },
  drop(key) {
    try { localStorage.removeItem(`draft/${key}`); } catch { /* there is none */ }
  },
};

/** Keeps what is typed, and brings it back unless the browser has done so. ``from`` is the submission it began with. */
function keepDraft(source) {
  const { draft: key, from } = source.dataset;
  const notice = document.getElementById("draft"); // not there beside an error: the text is the newest then
  const given = source.defaultValue;
  source.addEventListener("input", () => {
    if (notice && source.value === given) drafts.drop(key);
    else drafts.keep(key, { from, text: source.value });
  });
  window.addEventListener("pageshow", () => {
    document.getElementById("file").value = ""; // it would be taken instead of the text, which is the newer one
    if (!notice) return;
    const draft = drafts.get(key);
    if (draft && source.value === given && (!from || draft.from === from)) put(source, draft.text);
    notice.hidden = source.value === given;
  });
  document.getElementById("start-again")?.addEventListener("click", () => {
    source.focus();
    source.select();
    if (!document.execCommand("insertText", false, given)) put(source, given); // the former can be undone
    notice.hidden = true;
  });
}

/** A file that is too large is told so here, where the server could only break off. */
function checkSize(file) {
  const told = document.getElementById("too-large");
  function check() {
    const large = [...file.files].some(({ size }) => size > file.dataset.limit);
    told.hidden = !large;
    file.setCustomValidity(large ? told.textContent : "");
  }
  file.addEventListener("change", check);
  window.addEventListener("pageshow", check);
}

function put(source, text) {
  source.value = text;
  source.dispatchEvent(new Event("input"));
}

/** What stands on its submission's page is no draft any more. */
function dropSent() {
  const key = main().dataset.draft;
  const lines = [...document.querySelectorAll("pre.source .line")].map((line) => line.textContent);
  if (drafts.get(key)?.text.trimEnd() === lines.join("").trimEnd()) drafts.drop(key);
}

/** Numbers beside the lines of the editor. */
function numberLines(source) {
  const numbers = document.createElement("div");
  numbers.className = "numbers";
  numbers.ariaHidden = "true";
  source.before(numbers);
  let shown = 0;
  function update() {
    const count = source.value.split("\n").length;
    if (count !== shown) numbers.textContent = Array.from({ length: count }, (_, index) => index + 1).join("\n");
    shown = count;
    numbers.scrollTop = source.scrollTop;
  }
  for (const name of ["input", "scroll"]) source.addEventListener(name, update);
  window.addEventListener("pageshow", update);
  update();
}

/** A note's link shows its line in the editor. */
function showLine(link, source) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const lines = source.value.split("\n");
    const before = lines.slice(0, Math.min(link.dataset.line, lines.length) - 1);
    const start = before.reduce((sum, line) => sum + line.length + 1, 0);
    source.focus({ preventScroll: true });
    source.setSelectionRange(start, start + lines[before.length].length);
    source.scrollTop = before.length * parseFloat(getComputedStyle(source).lineHeight) - source.clientHeight / 3;
    source.scrollIntoView({ block: "nearest" });
  });
}

const editor = document.querySelector("form.submit textarea");
if (editor) numberLines(editor);
if (editor?.dataset.draft) keepDraft(editor);
if (main().dataset.draft) dropSent();
document.querySelectorAll("input[data-limit]").forEach(checkSize);
for (const link of document.querySelectorAll("a[data-line]")) showLine(link, editor);
if (running()) follow();
document.querySelectorAll("form[data-once]").forEach(sendOnce);
