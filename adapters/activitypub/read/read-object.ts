// What an actor wrote or made, in the one shape the rest of the channel knows. Plain JSON: no context is ever read.
import type { ReadAttachment, ReadObject, ReadTag } from '../wire/activity.ts'
import {
  type Fields,
  firstIri,
  isPlainObject,
  readFirstText,
  readHref,
  readIri,
  readIris,
  readLanguageText,
  readMediaType,
  readTimestamp,
  readType,
  toList,
} from './values.ts'

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
export function readAudience(value: unknown): readonly string[] {
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
