// The one style sheet of our pages: inline, without external resources, readable in light and dark and on small screens.

export const documentPageStyle = `
:root { color-scheme: light dark; --ink: #1c1b22; --soft: #5d5a6b; --paper: #f6f5f9; --card: #ffffff; --line: #e2dfea;
  --accent: #5b3fd6; --accent-ink: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #eceaf4; --soft: #a9a5bb; --paper: #131218; --card: #1d1b24; --line: #34313f; --accent: #a693ff;
    --accent-ink: #15131c; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.6 system-ui, sans-serif;
  overflow-wrap: anywhere; }
main, footer { max-width: 40rem; margin: 0 auto; padding: 0 1rem; }
main { padding-top: clamp(1rem, 6vw, 3.5rem); }
footer { padding-block: 1.5rem 3rem; color: var(--soft); font-size: 0.875rem; text-align: center; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: clamp(1.25rem, 4vw, 2rem);
  margin-bottom: 1rem; }
.who { display: flex; align-items: center; gap: 1rem; }
.face { flex: none; width: 4.5rem; height: 4.5rem; border-radius: 1.25rem; background: var(--accent); color: var(--accent-ink);
  display: grid; place-items: center; font-size: 2rem; font-weight: 650; object-fit: cover; }
.small .face { width: 3rem; height: 3rem; border-radius: 0.875rem; font-size: 1.375rem; }
h1 { font-size: 1.625rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1rem; margin: 2rem 0 0.75rem; color: var(--soft); font-weight: 600; }
.name { font-size: 1.0625rem; font-weight: 650; line-height: 1.6; }
.handle { color: var(--soft); margin: 0; font-size: 0.9375rem; }
.handle a, .name a { color: inherit; text-decoration: none; }
.handle a:hover, .name a:hover { text-decoration: underline; }
.badge { display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: 0 0.625rem; font-size: 0.8125rem;
  color: var(--soft); white-space: nowrap; font-weight: 400; }
a { color: var(--accent); text-underline-offset: 0.15em; }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 0.25rem; }
.hint { border-left: 4px solid var(--accent); padding: 0.25rem 0 0.25rem 1rem; margin: 1.25rem 0 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.375rem 1.25rem; margin: 1.25rem 0 0; font-size: 0.9375rem; }
dt { color: var(--soft); }
dd { margin: 0; }
.words p { margin: 0.75em 0; }
.words > :first-child { margin-top: 0; }
.words > :last-child { margin-bottom: 0; }
.who + * { margin-top: 1.125rem; }
summary + .words { margin-top: 0.75rem; }
.words pre { overflow-x: auto; background: var(--paper); border-radius: 0.5rem; padding: 0.75rem 1rem; font-size: 0.9rem; }
.words code { font-size: 0.92em; }
.words blockquote { margin: 0.75em 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft); }
.meta { color: var(--soft); font-size: 0.875rem; margin: 1rem 0 0; }
.meta a { color: inherit; }
figure { margin: 1rem 0 0; }
figure img { max-width: 100%; border-radius: 0.75rem; display: block; }
figcaption { color: var(--soft); font-size: 0.875rem; margin-top: 0.375rem; }
summary { cursor: pointer; font-weight: 600; }
`
