// Parses ActivityStreams activities and objects into the one shape the rest of the channel knows. Pure; whatever does not fit is
// as if it were not there.
import { type Fields, isPlainObject, type JsonObject } from '../../src/lib/index.ts'
import type { ReadActivity, ReadAttachment, ReadObject, ReadTag } from './wire/activity.ts'

export type UnreadableActivity = { readonly kind: 'fault'; readonly reason: 'no_type' | 'no_actor' }

/** Activities that are about another one. */
const wrapping: ReadonlySet<string> = new Set(['Undo', 'Accept', 'Reject', 'Announce'])
/** An undone announcement of a creation is three deep; no server goes further. */
const maxInner = 2

export function readActivity(json: Fields): ReadActivity | UnreadableActivity {
  return readActivityFields(json, maxInner)
}

export function isUnreadableActivity(read: ReadActivity | UnreadableActivity): read is UnreadableActivity {
  return 'kind' in read
}

function readActivityFields(fields: Fields, depth: number): ReadActivity | UnreadableActivity {
  const type = readType(fields['type'] ?? fields['@type'])
  if (type === undefined) return { kind: 'fault', reason: 'no_type' }
  const actors = toList(fields['actor'])
  const actor = readIri(actors[0])
  // Of two actors one would be judged and the other believed.
  if (actor === undefined || actors.length > 1) return { kind: 'fault', reason: 'no_actor' }
  const [object] = toList(fields['object'])
  return {
    id: readIri(fields),
    type,
    actor,
    to: readAudience(fields['to']),
    cc: readAudience(fields['cc']),
    object: isPlainObject(object) ? readNoteObject(object) : readIri(object),
    inner: wrapping.has(type) && isPlainObject(object) && depth > 0 ? readInnerActivity(object, depth - 1) : undefined,
    target: firstIri(fields['target']),
    published: readTimestamp(fields['published']),
    // It was parsed from JSON, so it is JSON.
    raw: fields as JsonObject,
  }
}

function readInnerActivity(object: Fields, depth: number): ReadActivity | undefined {
  const inner = readActivityFields(object, depth)
  return isUnreadableActivity(inner) ? undefined : inner
}

// Objects are plain JSON: no context is ever read.

export const publicCollection = 'https://www.w3.org/ns/activitystreams#Public'
const publicNames: ReadonlySet<string> = new Set(['as:Public', 'Public'])
const tagTypes: ReadonlySet<string> = new Set(['Mention', 'Hashtag', 'Emoji', 'Link'])

export function readNoteObject(fields: Fields): ReadObject {
  const content = readLanguageText(fields, 'content')
  return {
    id: readIri(fields),
    type: readType(fields['type'] ?? fields['@type']) ?? '',
    attributedTo: firstIri(fields['attributedTo']),
    to: readAudience(fields['to']),
    cc: readAudience(fields['cc']),
    content: content.text,
    language: content.language,
    summary: readLanguageText(fields, 'summary').text,
    isSensitive: fields['sensitive'] === true,
    name: readLanguageText(fields, 'name').text,
    inReplyTo: firstIri(fields['inReplyTo']),
    context: firstIri(fields['context']),
    conversation: firstIri(fields['conversation'] ?? fields['ostatus:conversation']),
    tags: toList(fields['tag']).flatMap(readTag),
    attachments: toList(fields['attachment']).flatMap(readAttachment),
    options: [...toList(fields['oneOf']), ...toList(fields['anyOf'])].flatMap(readPollOption),
    quote: readQuotedIri(fields),
    url: readHref(fields['url'], 'text/html'),
    published: readTimestamp(fields['published']),
    updated: readTimestamp(fields['updated']),
    audience: readAudience(fields['audience']),
  }
}

/** The public audience has one name here, however it was abbreviated. */
function readAudience(value: unknown): readonly string[] {
  return [...new Set(readIris(value).map((iri) => (publicNames.has(iri) ? publicCollection : iri)))]
}

function readTag(value: unknown): readonly ReadTag[] {
  if (!isPlainObject(value)) return []
  const type = readType(value['type'])
  // Only these are in the set.
  return type !== undefined && tagTypes.has(type)
    ? [{ type: type as ReadTag['type'], href: readHref(value['href']), name: readFirstText(value['name']) }]
    : []
}

/** What has no address is nothing that could be opened. */
function readAttachment(value: unknown): readonly ReadAttachment[] {
  if (typeof value === 'string')
    return value === '' ? [] : [{ type: 'Link', url: value, mediaType: undefined, alt: '' }]
  if (!isPlainObject(value)) return []
  const [first] = toList(value['url'])
  const url = readHref(value['url']) ?? readHref(value['href'])
  if (url === undefined) return []
  const alt = readLanguageText(value, 'name').text || readLanguageText(value, 'summary').text
  return [
    { type: readType(value['type']) ?? 'Document', url, mediaType: readMediaType(value) ?? readMediaType(first), alt },
  ]
}

function readPollOption(value: unknown): readonly string[] {
  const name = isPlainObject(value) ? readLanguageText(value, 'name').text : ''
  return name === '' ? [] : [name]
}

/** Servers agree that one can quote and not on the word for it. */
function readQuotedIri(fields: Fields): string | undefined {
  for (const name of ['quote', 'quoteUrl', 'quoteUri', '_misskey_quote']) {
    const iri = firstIri(fields[name])
    if (iri !== undefined) return iri
  }
  return undefined
}

// Servers write one value in many shapes: alone, in a list, as an object with an id, as a text for each language.

function toList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined || value === null ? [] : [value]
}

/** An address given as such, or by what it belongs to. */
function readIri(value: unknown): string | undefined {
  const iri = isPlainObject(value) ? (value['id'] ?? value['@id']) : value
  return typeof iri === 'string' && iri !== '' ? iri : undefined
}

function firstIri(value: unknown): string | undefined {
  return readIris(value)[0]
}

/** Each once, in their order. */
function readIris(value: unknown): readonly string[] {
  const found = new Set<string>()
  for (const item of toList(value)) {
    const iri = readIri(item)
    if (iri !== undefined) found.add(iri)
  }
  return [...found]
}

/** `as:Note` and the whole address of the word mean the word. */
function readType(value: unknown): string | undefined {
  const type = toList(value).find((item) => typeof item === 'string' && item !== '')
  return (typeof type === 'string' && type.replace(/^.*[#:/]/, '')) || undefined
}

function readFirstText(value: unknown): string {
  for (const item of toList(value)) {
    const text = isPlainObject(item) ? item['@value'] : item
    if (typeof text === 'string') return text
  }
  return ''
}

export type LanguageText = { readonly text: string; readonly language: string | undefined }

/** A text, or its languages where it has no form of its own. */
function readLanguageText(fields: Fields, name: string): LanguageText {
  const own = readFirstText(fields[name])
  const map = fields[`${name}Map`]
  const languages = isPlainObject(map) ? Object.entries(map).filter((entry) => typeof entry[1] === 'string') : []
  const said = own === '' ? languages[0] : languages.find(([, text]) => text === own)
  const language = said?.[0] ?? readLanguageTag(fields[name])
  return { text: own === '' ? readFirstText(said?.[1]) : own, language: language === 'und' ? undefined : language }
}

function readLanguageTag(value: unknown): string | undefined {
  const [first] = toList(value)
  const language = isPlainObject(first) ? first['@language'] : undefined
  return typeof language === 'string' ? language : undefined
}

/** A time as it was written, if it is one. */
function readTimestamp(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= 64 && Number.isFinite(Date.parse(value)) ? value : undefined
}

/** Where a link leads: plain, as a link object, or the first that fits among several. */
function readHref(value: unknown, mediaType?: string): string | undefined {
  const links = toList(value)
  const fitting = links.find((link) => isPlainObject(link) && readMediaType(link) === mediaType)
  for (const link of mediaType === undefined || fitting === undefined ? links : [fitting]) {
    const href = isPlainObject(link) ? (link['href'] ?? link['url']) : link
    if (typeof href === 'string' && href !== '') return href
  }
  return undefined
}

function readMediaType(value: unknown): string | undefined {
  const type = isPlainObject(value) ? value['mediaType'] : undefined
  return typeof type === 'string' && type !== '' ? type : undefined
}

// The media type of an activity: the one type, or JSON-LD with the profile of ActivityStreams.

const profile = 'https://www.w3.org/ns/activitystreams'

export function isActivityMediaType(header: string | undefined): boolean {
  const [type = '', ...params] = (header ?? '').slice(0, 512).split(';')
  const bare = type.trim().toLowerCase()
  if (bare === 'application/activity+json') return true
  return bare === 'application/ld+json' && params.some(isActivityStreamsProfile)
}

/** Profiles are a list with blanks between them. */
function isActivityStreamsProfile(param: string): boolean {
  const [name = '', value = ''] = param.split('=', 2)
  if (name.trim().toLowerCase() !== 'profile') return false
  return value.trim().replaceAll('"', '').split(' ').includes(profile)
}
