// The pages behind a decision link. Small, readable without scripts, loading nothing: what a person is asked, until when, and two buttons.

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow, noarchive',
  'cache-control': 'no-store',
}

const style = `:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5b616a;--page:#f4f5f7;--card:#fff;--line:#dfe2e7;--yes:#17683a;--no:#9c2b25}
@media(prefers-color-scheme:dark){:root{--ink:#eceef1;--soft:#a4abb5;--page:#121417;--card:#1c1f24;--line:#333841;--yes:#2f9e5c;--no:#d9655d}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{width:100%;max-width:32rem;background:var(--card);border:1px solid var(--line);border-radius:16px;padding:2rem 2rem 1.75rem;box-shadow:0 1px 2px rgb(0 0 0/.05),0 12px 32px -12px rgb(0 0 0/.15)}
.from{margin:0 0 .35rem;color:var(--soft);font-size:.925rem}h1{margin:0 0 1.25rem;font-size:1.4rem;line-height:1.3;letter-spacing:-.01em;text-wrap:balance}
blockquote{margin:0 0 1.5rem;padding:1rem 1.15rem;border-radius:10px;background:var(--page);border:1px solid var(--line);font-size:1.125rem;overflow-wrap:anywhere;white-space:pre-wrap}
dl{display:grid;grid-template-columns:auto 1fr;gap:.35rem 1.25rem;margin:0 0 1.75rem;font-size:.925rem}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
form{display:grid;grid-template-columns:1fr 1fr;gap:.75rem;margin:0}button{font:inherit;font-weight:600;min-height:3rem;border-radius:10px;border:1.5px solid;cursor:pointer}
.yes{background:var(--yes);border-color:var(--yes);color:#fff}.no{background:transparent;border-color:var(--no);color:var(--no)}
@media(prefers-color-scheme:dark){.yes{color:#06140b}}
button:hover{filter:brightness(1.08)}button:focus-visible{outline:3px solid var(--ink);outline-offset:2px}
.note{margin:1.5rem 0 0;padding-top:1.1rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}.words{margin:0;color:var(--soft)}
@media(max-width:26rem){main{padding:1.5rem 1.25rem}form{grid-template-columns:1fr}}`

export type Question = {
  /** The agent that asks. */
  readonly by: string
  readonly summary: string
  /** Whose decision it is: the address the link was sent to. */
  readonly who: string
  readonly code: string
  readonly until: string
  readonly token: string
}

export function questionPage({ by, summary, who, code, until, token }: Question): Response {
  const asked = escapeHtml(summary === '' ? `Request ${code}` : summary)
  return renderDecisionPage(200, `${by} asks for your approval`, [
    `<p class="from">${escapeHtml(by)} asks for your approval</p>`,
    '<h1>May I do this?</h1>',
    `<blockquote>${asked}</blockquote>`,
    `<dl><dt>You decide as</dt><dd>${escapeHtml(who)}</dd><dt>Open until</dt><dd>${escapeHtml(until)}</dd><dt>Code</dt><dd>${escapeHtml(code)}</dd></dl>`,
    `<form method="post"><input type="hidden" name="token" value="${escapeHtml(token)}">`,
    '<button class="yes" name="decision" value="approve">Approve</button>',
    '<button class="no" name="decision" value="reject">Reject</button></form>',
    '<p class="note">The mail that brought you here has the details. Nothing happens until you press a button. The link works once and is for you alone: anyone who has it can decide for you.</p>',
  ])
}

export type PageMessage = { readonly status: number; readonly title: string; readonly words: string }

export function messagePage({ status, title, words }: PageMessage): Response {
  return renderDecisionPage(status, title, [
    `<h1>${escapeHtml(title)}</h1>`,
    `<p class="words">${escapeHtml(words)}</p>`,
  ])
}

function renderDecisionPage(status: number, title: string, body: readonly string[]): Response {
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main>
${body.join('\n')}
</main></body>
</html>
`
  return new Response(html, { status, headers: pageHeaders })
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)
}
