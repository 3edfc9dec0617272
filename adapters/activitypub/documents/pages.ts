// HTML pages of agents and posts. No script, and nothing external but pictures.

import type { AgentProfile } from '../../../src/contract/index.ts'
import { encodeBase64, type Json, type JsonObject, sha256Bytes } from '../../../src/lib/index.ts'
import { escapeHtml, htmlToText, safeHtml } from '../../../src/markdown/index.ts'
import { profileFields, summaryHtml } from './actor-document.ts'
import type { DocumentDeps } from './document-deps.ts'

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

function pageHtml(page: Page): string {
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
export async function contentSecurityPolicy(): Promise<string> {
  const name = encodeBase64(await sha256Bytes(new TextEncoder().encode(documentPageStyle)))
  return [
    "default-src 'none'",
    `style-src 'sha256-${name}'`,
    'img-src https:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

// The style sheet is inline, without external resources, readable in light and dark and on small screens.

const documentPageStyle = `
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

// The author is shown the same on every page: picture, name and handle.

type PageContext = Pick<DocumentDeps, 'places' | 'settings'>

/** The first letter where there is no picture; the name stands beside it, so that it says nothing to a screen reader. */
function avatarHtml({ settings }: PageContext, { label, slug }: AgentProfile): string {
  if (settings.iconUrl !== undefined) return `<img class="face" src="${escapeHtml(settings.iconUrl)}" alt="">`
  // One letter as people see it, which may be several code points.
  const [first] = new Intl.Segmenter('en').segment(label.trim() || slug)
  return `<span class="face" aria-hidden="true">${escapeHtml((first?.segment ?? '').toUpperCase())}</span>`
}

function bylineHtml(context: PageContext, profile: AgentProfile): string {
  const { places } = context
  const href = escapeHtml(places.profile(profile.slug))
  return [
    '<header class="who small">',
    avatarHtml(context, profile),
    '<div>',
    `<h1 class="name"><a href="${href}">${escapeHtml(profile.label)}</a> <span class="badge">Automated</span></h1>`,
    `<p class="handle"><a href="${href}">${escapeHtml(places.handle(profile.slug))}</a></p>`,
    '</div>',
    '</header>',
  ].join('')
}

// The words of a post are ours and were made safe when they were written; they are made so once more.

export function notePage(context: PageContext, profile: AgentProfile, note: JsonObject): string {
  const id = String(note['id'] ?? '')
  const words = htmlToText(stringOrEmpty(note['content'])).slice(0, 300)
  return pageHtml({
    title: `${profile.label}: ${words.slice(0, 60).replace(/\s+/g, ' ')}`,
    description: words,
    language: noteLanguage(note),
    alternate: id,
    canonical: id,
    isIndexable: context.settings.isIndexable,
    main: `<article class="card">${bylineHtml(context, profile)}${notePageHtml(note)}</article>`,
  })
}

/** What was said, with its warning before it and its place and time below. */
function notePageHtml(note: JsonObject): string {
  const summary = stringOrEmpty(note['summary'])
  const words = `<div class="words">${safeHtml(stringOrEmpty(note['content']))}</div>${filesHtml(note['attachment'])}`
  const shown =
    summary === ''
      ? words
      : `<details class="words"><summary>${escapeHtml(htmlToText(summary))}</summary>${words}</details>`
  return `${shown}${noteMetaHtml(note)}`
}

function noteMetaHtml(note: JsonObject): string {
  const published = new Date(stringOrEmpty(note['published']))
  const isDated = !Number.isNaN(published.getTime())
  const when = isDated
    ? `<time datetime="${published.toISOString()}">${escapeHtml(dateFormat.format(published))} UTC</time>`
    : 'Post'
  const updated = note['updated'] === undefined ? '' : ' (edited)'
  const parent = httpsUrl(note['inReplyTo'])
  const answer =
    parent === undefined ? '' : ` · <a href="${escapeHtml(parent)}" rel="nofollow noopener">In reply to this post</a>`
  return `<p class="meta"><a href="${escapeHtml(stringOrEmpty(note['id']))}">${when}</a>${updated}${answer}</p>`
}

const dateFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

function filesHtml(value: Json | undefined): string {
  const files = Array.isArray(value) ? value : []
  return files.map((file: JsonObject) => fileHtml(file)).join('')
}

function fileHtml(file: JsonObject): string {
  const url = httpsUrl(file['url'])
  if (url === undefined) return ''
  const alt = escapeHtml(stringOrEmpty(file['name']))
  if (!stringOrEmpty(file['mediaType']).startsWith('image/'))
    return `<p class="meta"><a href="${escapeHtml(url)}" rel="nofollow noopener">${alt || 'Attachment'}</a></p>`
  const caption = alt === '' ? '' : `<figcaption>${alt}</figcaption>`
  return `<figure><img src="${escapeHtml(url)}" alt="${alt}" loading="lazy">${caption}</figure>`
}

function httpsUrl(value: Json | undefined): string | undefined {
  return typeof value === 'string' && URL.canParse(value) && new URL(value).protocol === 'https:' ? value : undefined
}

function stringOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function noteLanguage({ contentMap }: JsonObject): string {
  const [first] = typeof contentMap === 'object' && contentMap !== null ? Object.keys(contentMap) : []
  return first !== undefined && /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(first) ? first : 'en'
}

// The page of an agent: who it is, who answers for it, how to talk to it, and what it said last.

export function profilePage(context: PageContext, profile: AgentProfile, posts: readonly JsonObject[]): string {
  const { places, settings } = context
  const { slug, label, description } = profile
  const handle = places.handle(slug)
  return pageHtml({
    title: `${label} (${handle})`,
    description: description || label,
    language: 'en',
    alternate: places.actor(slug),
    canonical: places.profile(slug),
    isIndexable: settings.isIndexable,
    main: [
      '<section class="card">',
      `<header class="who">${avatarHtml(context, profile)}<div>`,
      `<h1>${escapeHtml(label)}</h1>`,
      `<p class="handle">${escapeHtml(handle)} <span class="badge">Automated</span></p>`,
      '</div></header>',
      `<div class="words">${summaryHtml(description || label)}</div>`,
      mentionHintHtml(handle),
      profileFieldsHtml(context),
      '</section>',
      postsHtml(posts),
    ].join(''),
  })
}

function mentionHintHtml(handle: string): string {
  return [
    '<p class="hint">To talk to it, mention ',
    `<strong>${escapeHtml(handle)}</strong> in a post from your own server.</p>`,
  ].join('')
}

function profileFieldsHtml({ settings }: PageContext): string {
  const fields = profileFields(settings).map(({ name, html }) => `<dt>${escapeHtml(name)}</dt><dd>${html}</dd>`)
  return fields.length === 0 ? '' : `<dl>${fields.join('')}</dl>`
}

function postsHtml(posts: readonly JsonObject[]): string {
  if (posts.length === 0) return ''
  const shown = posts.map((note) => `<article class="card">${notePageHtml(note)}</article>`)
  return `<h2>What it said last</h2>${shown.join('')}`
}
