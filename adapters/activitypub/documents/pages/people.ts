// Who speaks: picture, name and handle, the same on every page.
import type { AgentProfile } from '../../../../src/contract/index.ts'
import { escapeHtml } from '../../../../src/markdown/index.ts'
import type { DocumentDeps } from '../settings.ts'

export type PageContext = Pick<DocumentDeps, 'places' | 'settings'>

/** The first letter where there is no picture; the name stands beside it, so that it says nothing to a screen reader. */
export function faceHtml({ settings }: PageContext, { label, slug }: AgentProfile): string {
  if (settings.iconUrl !== undefined) return `<img class="face" src="${escapeHtml(settings.iconUrl)}" alt="">`
  // One letter as people see it, which may be several code points.
  const [first] = new Intl.Segmenter('en').segment(label.trim() || slug)
  return `<span class="face" aria-hidden="true">${escapeHtml((first?.segment ?? '').toUpperCase())}</span>`
}

export function bylineHtml(scene: PageContext, profile: AgentProfile): string {
  const { places } = scene
  const href = escapeHtml(places.profile(profile.slug))
  return [
    '<header class="who small">',
    faceHtml(scene, profile),
    '<div>',
    `<h1 class="name"><a href="${href}">${escapeHtml(profile.label)}</a> <span class="badge">Automated</span></h1>`,
    `<p class="handle"><a href="${href}">${escapeHtml(places.handle(profile.slug))}</a></p>`,
    '</div>',
    '</header>',
  ].join('')
}
