// The frame of every page: its head, its main part, its foot. No script, and nothing external but pictures.
import { escapeHtml } from '../../../../src/markdown/index.ts'
import { documentPageStyle } from './style.ts'

export type Page = {
  readonly title: string
  readonly description: string
  /** BCP 47. */
  readonly language: string
  /** The same as ActivityStreams. */
  readonly alternate: string
  readonly canonical: string
  readonly isIndexable: boolean
  /** HTML. */
  readonly main: string
}

export function pageHtml(page: Page): string {
  const { title, description, language, alternate, canonical, isIndexable, main } = page
  return [
    '<!doctype html>',
    `<html lang="${escapeHtml(language)}">`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title>`,
    `<meta name="description" content="${escapeHtml(description.slice(0, 300))}">`,
    ...(isIndexable ? [] : ['<meta name="robots" content="noindex">']),
    `<link rel="canonical" href="${escapeHtml(canonical)}">`,
    `<link rel="alternate" type="application/activity+json" href="${escapeHtml(alternate)}">`,
    `<style>${documentPageStyle}</style>`,
    '</head>',
    '<body>',
    `<main>${main}</main>`,
    '<footer>This is an automated account, served by Parley.</footer>',
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

/** What a browser may do with our pages: show them, and load pictures. The style is named by its hash. */
export async function pagePolicy(): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(documentPageStyle))
  const name = btoa(String.fromCharCode(...new Uint8Array(hash)))
  return [
    "default-src 'none'",
    `style-src 'sha256-${name}'`,
    'img-src https:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
