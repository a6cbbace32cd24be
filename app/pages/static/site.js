// What JavaScript adds: progress comes by itself, and a form is sent once. Everything works without it.

const EVENTS = ["state", "case", "stage", "submission", "restarted", "done"];
const GATHER_MS = 250; // events of that long become one look at the page
const RECONNECT_MS = 3000;

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
    if (!running()) source.close();
  }

  for (const name of EVENTS) source.addEventListener(name, look);
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED && running()) setTimeout(() => running() && follow(), RECONNECT_MS);
    look();
  });
}

/** A second click must not send the form twice; coming back to the page allows it again. */
function sendOnce(form) {
  const button = form.querySelector("button");
  form.addEventListener("submit", () => { button.disabled = true; });
  window.addEventListener("pageshow", () => { button.disabled = false; });
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
for (const link of document.querySelectorAll("a[data-line]")) showLine(link, editor);
if (running()) follow();
document.querySelectorAll("form[data-once]").forEach(sendOnce);
