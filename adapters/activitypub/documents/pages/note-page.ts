// One post as a page. Its words are ours and were made safe when they were written; they are made so once more.
import type { AgentProfile, Json, JsonObject } from '../../../../src/contract/index.ts'
import { escapeHtml, htmlToText, safeHtml } from '../../../../src/markdown/index.ts'
import { pageHtml } from './page.ts'
import { bylineHtml, type PageContext } from './people.ts'

export function notePage(scene: PageContext, profile: AgentProfile, note: JsonObject): string {
  const id = String(note['id'] ?? '')
  const words = htmlToText(stringOrEmpty(note['content'])).slice(0, 300)
  return pageHtml({
    title: `${profile.label}: ${words.slice(0, 60).replace(/\s+/g, ' ')}`,
    description: words,
    language: noteLanguage(note),
    alternate: id,
    canonical: id,
    isIndexable: scene.settings.isIndexable,
    main: `<article class="card">${bylineHtml(scene, profile)}${notePageHtml(note)}</article>`,
  })
}

/** What was said, with its warning before it and its place and time below. */
export function notePageHtml(note: JsonObject): string {
  const summary = stringOrEmpty(note['summary'])
  const words = `<div class="words">${safeHtml(stringOrEmpty(note['content']))}</div>${filesHtml(note['attachment'])}`
  const shown =
    summary === ''
      ? words
      : `<details class="words"><summary>${escapeHtml(htmlToText(summary))}</summary>${words}</details>`
  return `${shown}${metaHtml(note)}`
}

function metaHtml(note: JsonObject): string {
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
