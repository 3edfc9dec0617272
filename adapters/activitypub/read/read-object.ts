// What an actor wrote or made, in the one shape the rest of the channel knows. Plain JSON: no context is ever read.
import type { ReadAttachment, ReadObject, ReadTag } from '../wire/activity.ts'
import {
  type Fields,
  firstIri,
  hrefOf,
  iriOf,
  irisOf,
  isFields,
  listOf,
  mediaTypeOf,
  textOf,
  timeOf,
  typeOf,
  wordedOf,
} from './values.ts'

export const publicCollection = 'https://www.w3.org/ns/activitystreams#Public'
const publicNames: ReadonlySet<string> = new Set(['as:Public', 'Public'])
const tagTypes: ReadonlySet<string> = new Set(['Mention', 'Hashtag', 'Emoji', 'Link'])

export function readObject(fields: Fields): ReadObject {
  const content = wordedOf(fields, 'content')
  return {
    id: iriOf(fields),
    type: typeOf(fields['type'] ?? fields['@type']) ?? '',
    attributedTo: firstIri(fields['attributedTo']),
    to: audienceOf(fields['to']),
    cc: audienceOf(fields['cc']),
    content: content.text,
    language: content.language,
    summary: wordedOf(fields, 'summary').text,
    isSensitive: fields['sensitive'] === true,
    name: wordedOf(fields, 'name').text,
    inReplyTo: firstIri(fields['inReplyTo']),
    context: firstIri(fields['context']),
    conversation: firstIri(fields['conversation'] ?? fields['ostatus:conversation']),
    tags: listOf(fields['tag']).flatMap(readTag),
    attachments: listOf(fields['attachment']).flatMap(readAttachment),
    options: [...listOf(fields['oneOf']), ...listOf(fields['anyOf'])].flatMap(optionOf),
    quote: quoteOf(fields),
    url: hrefOf(fields['url'], 'text/html'),
    published: timeOf(fields['published']),
    updated: timeOf(fields['updated']),
    audience: audienceOf(fields['audience']),
  }
}

/** The public audience has one name here, however it was abbreviated. */
export function audienceOf(value: unknown): readonly string[] {
  return [...new Set(irisOf(value).map((iri) => (publicNames.has(iri) ? publicCollection : iri)))]
}

function readTag(value: unknown): readonly ReadTag[] {
  if (!isFields(value)) return []
  const type = typeOf(value['type'])
  // Only these are in the set.
  return type !== undefined && tagTypes.has(type)
    ? [{ type: type as ReadTag['type'], href: hrefOf(value['href']), name: textOf(value['name']) }]
    : []
}

/** What has no address is nothing that could be opened. */
function readAttachment(value: unknown): readonly ReadAttachment[] {
  if (typeof value === 'string')
    return value === '' ? [] : [{ type: 'Link', url: value, mediaType: undefined, alt: '' }]
  if (!isFields(value)) return []
  const [first] = listOf(value['url'])
  const url = hrefOf(value['url']) ?? hrefOf(value['href'])
  if (url === undefined) return []
  const alt = wordedOf(value, 'name').text || wordedOf(value, 'summary').text
  return [{ type: typeOf(value['type']) ?? 'Document', url, mediaType: mediaTypeOf(value) ?? mediaTypeOf(first), alt }]
}

function optionOf(value: unknown): readonly string[] {
  const name = isFields(value) ? wordedOf(value, 'name').text : ''
  return name === '' ? [] : [name]
}

/** Servers agree that one can quote and not on the word for it. */
function quoteOf(fields: Fields): string | undefined {
  for (const name of ['quote', 'quoteUrl', 'quoteUri', '_misskey_quote']) {
    const iri = firstIri(fields[name])
    if (iri !== undefined) return iri
  }
  return undefined
}
