// The few words a browser sees during an install. Nothing in them comes from the request, and a page can load nothing.

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

/** In the page itself, which may load nothing; light or dark as the browser is. */
const installPageStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem}
h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:0;opacity:.8}`

export type InstallPage = { readonly status: number; readonly title: string; readonly words: string }

export function installPageResponse(
  { status, title, words }: InstallPage,
  more: Readonly<Record<string, string>> = {},
): Response {
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${installPageStyle}</style></head>
<body><h1>${escapeHtml(title)}</h1><p>${escapeHtml(words)}</p></body>
</html>
`
  return new Response(html, { status, headers: { ...headers, ...more } })
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)
}
