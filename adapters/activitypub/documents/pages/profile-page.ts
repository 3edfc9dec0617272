// An agent as a page: who it is, who answers for it, how to talk to it, and what it said last.
import type { AgentProfile, JsonObject } from '../../../../src/contract/index.ts'
import { escapeHtml } from '../../../../src/markdown/index.ts'
import { profileFields, summaryHtml } from '../actor-document.ts'
import { notePageHtml } from './note-page.ts'
import { pageHtml } from './page.ts'
import { faceHtml, type PageContext } from './people.ts'

export function profilePage(scene: PageContext, profile: AgentProfile, posts: readonly JsonObject[]): string {
  const { places, settings } = scene
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
      `<header class="who">${faceHtml(scene, profile)}<div>`,
      `<h1>${escapeHtml(label)}</h1>`,
      `<p class="handle">${escapeHtml(handle)} <span class="badge">Automated</span></p>`,
      '</div></header>',
      `<div class="words">${summaryHtml(description || label)}</div>`,
      hintHtml(handle),
      fieldsHtml(scene),
      '</section>',
      postsHtml(posts),
    ].join(''),
  })
}

function hintHtml(handle: string): string {
  return [
    '<p class="hint">To talk to it, mention ',
    `<strong>${escapeHtml(handle)}</strong> in a post from your own server.</p>`,
  ].join('')
}

function fieldsHtml({ settings }: PageContext): string {
  const fields = profileFields(settings).map(({ name, html }) => `<dt>${escapeHtml(name)}</dt><dd>${html}</dd>`)
  return fields.length === 0 ? '' : `<dl>${fields.join('')}</dl>`
}

function postsHtml(posts: readonly JsonObject[]): string {
  if (posts.length === 0) return ''
  const shown = posts.map((note) => `<article class="card">${notePageHtml(note)}</article>`)
  return `<h2>What it said last</h2>${shown.join('')}`
}
