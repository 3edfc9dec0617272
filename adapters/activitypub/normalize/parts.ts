// Parts of a note, in reading order: its warning, its title, its words, what it offers to choose from, what it points to, its
// files. Nothing of it is fetched. Pure.
import { type KnownPart, textPart } from '../../../src/contract/index.ts'
import { checkTarget, cleanName } from '../../../src/lib/index.ts'
import { htmlToText } from '../../../src/markdown/index.ts'
import type { ReadAttachment, ReadObject } from '../wire/activity.ts'
import { type ActivityContext, noteMentions } from './activity-context.ts'

const maxAttachments = 40
const maxOptions = 50
const maxSummary = 5000
const maxAlt = 10_000
const maxAltInName = 250
/** Objects with a title, a summary that is one, and a page of their own. */
const titled: ReadonlySet<string> = new Set(['Article', 'Page', 'Video', 'Audio', 'Event', 'Image', 'Document'])

/** Empty: nothing was said. */
export function noteParts(
  context: Pick<ActivityContext, 'places'>,
  object: ReadObject,
  agent: string,
): readonly KnownPart[] {
  const isTitled = titled.has(object.type)
  const summary = htmlToText(object.summary, { maxLength: maxSummary }).trim()
  const text = htmlToText(object.content).trim()
  // A message that is nothing but the agent's name keeps it.
  const words = withoutLeadingMention(text, agentMentionForms(context, object, agent)).trim() || text
  const title = isTitled || hasTitle(object) ? cleanName(object.name) : ''
  const said = [
    ...(title === '' || title === words ? [] : [textPart(title)]),
    ...(isTitled && summary !== '' && summary !== words ? [textPart(summary)] : []),
    ...(words === '' ? [] : [textPart(words)]),
    ...(object.options.length === 0 ? [] : [textPart(pollOptionsText(object.options))]),
    ...(isTitled && isWebLink(object.url) ? [linkPart(object.url, title)] : []),
    ...(isWebLink(object.quote) ? [linkPart(object.quote, 'quoted post')] : []),
    ...object.attachments.slice(0, maxAttachments).flatMap(attachmentParts),
  ]
  // Behind a warning with nothing to warn of there is nothing.
  return said.length === 0 || isTitled || summary === '' ? said : [textPart(`[content warning] ${summary}`), ...said]
}

/** Topics of Discourse and pictures of some servers are notes with a name. A vote has a name and nothing else. */
function hasTitle({ type, name, content, attachments }: ReadObject): boolean {
  return type === 'Note' && name !== '' && (content !== '' || attachments.length > 0)
}

/** The warning as people wrote it, for the answer to carry on. */
export function contentWarning({ type, summary }: ReadObject): string | null {
  const text = titled.has(type) ? '' : htmlToText(summary, { maxLength: 500 }).replace(/\s+/g, ' ').trim()
  return text === '' ? null : text
}

/** How the agent may be called at the beginning: by its tag, by its handle, by its name alone. */
function agentMentionForms(
  { places }: Pick<ActivityContext, 'places'>,
  object: ReadObject,
  agent: string,
): readonly string[] {
  const own = new Set([places.actor(agent), places.profile(agent)])
  const tagged = noteMentions(object).flatMap(({ href, name }) => (own.has(href) && name.startsWith('@') ? [name] : []))
  const hosts = [places.handleHost, new URL(places.origin).host]
  const handles = [...tagged, ...hosts.map((host) => `@${agent}@${host}`), `@${agent}`]
  // Where the handle's host is not the page's, the reader of HTML says where the link goes.
  return handles.flatMap((handle) => [handle, ...[...own].map((url) => `${handle} (${url})`)])
}

function pollOptionsText(options: readonly string[]): string {
  const lines = options.slice(0, maxOptions).map((option) => `- ${cleanName(option)}`)
  return [...lines, ...(options.length > maxOptions ? ['- …'] : [])].join('\n')
}

function attachmentParts({ type, url, mediaType, alt }: ReadAttachment): readonly KnownPart[] {
  const words = htmlToText(alt, { maxLength: maxAlt }).trim()
  if (type === 'Link' && mediaType?.startsWith('text/html') !== false)
    return isWebLink(url) ? [linkPart(url, cleanName(words))] : []
  // No reader is to be led to an address inside a network.
  if (url.length > 4096 || !checkTarget(url, { pins: true, origins: [] }).ok) return []
  const name = words.length <= maxAltInName ? cleanName(words) : ''
  const described = name === '' && words !== '' ? [textPart(`[attachment: ${words}]`)] : []
  return [
    ...described,
    {
      kind: 'file',
      bytes_ref: { kind: 'url', url: new URL(url).href },
      ...(mediaType === undefined || !/^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? {} : { mime: mediaType.toLowerCase() }),
      ...(name === '' ? {} : { name }),
    },
  ]
}

function linkPart(url: string, title: string): KnownPart {
  return { kind: 'link', url: new URL(url).href, ...(title === '' ? {} : { title }) }
}

function isWebLink(url: string | undefined): url is string {
  return url !== undefined && url.length <= 4096 && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

// A note to an agent begins with its name, because that is how it gets there. To the agent that says nothing, so it is removed.
// Pure.

/** `names`: how this agent may be written, with what may stand behind each; the longest is taken. */
export function withoutLeadingMention(text: string, names: readonly string[]): string {
  const known = [...new Set(names.map((name) => name.toLowerCase()))].sort((one, other) => other.length - one.length)
  const kept: string[] = []
  let rest = text.trimStart()
  for (;;) {
    const own = known.find((name) => startsWithName(rest, name))
    if (own !== undefined) {
      rest = rest.slice(own.length).replace(/^[,:]?\s*/, '')
      continue
    }
    // Others may be named before it; they stay where they are.
    const other = /^@[^\s,:]{1,300}(?::\d{1,5})?[,:]?\s+/.exec(rest)?.[0]
    if (other === undefined || kept.length >= maxNamed) break
    kept.push(other)
    rest = rest.slice(other.length)
  }
  return rest === text.trimStart() ? text : `${kept.join('')}${rest}`
}

const maxNamed = 20

function startsWithName(text: string, name: string): boolean {
  if (text.slice(0, name.length).toLowerCase() !== name) return false
  const next = text.charAt(name.length)
  // `@demo@elsewhere.example` and `@demo-two` are other names.
  return next === '' || /[\s,:;!?.()]/.test(next)
}
